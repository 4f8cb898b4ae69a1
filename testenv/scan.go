package testenv

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Scan is what [ScanLogs] looked at.
type Scan struct {
	Files, Lines, Secrets int
	Leaks                 []string // lines that show a secret, each with its file
}

// maxLeaks is how many are told of.
const maxLeaks = 20

// ScanLogs looks in all logs of a run for what the tests have confided.
func ScanLogs(dir string) (Scan, error) {
	var s Scan
	secrets, err := readSecrets(filepath.Join(dir, secretsFile))
	if err != nil {
		return s, err
	}
	for _, bucket := range secrets {
		s.Secrets += len(bucket)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return s, err
	}
	for _, f := range files {
		if err := s.scan(f, secrets); err != nil {
			return s, err
		}
	}
	return s, nil
}

// head is how secrets are found: by their first bytes.
type head [shortestPiece]byte

// readSecrets returns all secrets by their head.
func readSecrets(path string) (map[head][]string, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	secrets, seen := map[head][]string{}, map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); !seen[line] && len(line) >= shortestPiece {
			seen[line] = true
			h := head([]byte(line))
			secrets[h] = append(secrets[h], line)
		}
	}
	return secrets, nil
}

func (s *Scan) scan(path string, secrets map[head][]string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s.Files++
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			s.Lines++
		}
		if secret := shown(line, secrets); secret != "" && len(s.Leaks) < maxLeaks {
			s.Leaks = append(s.Leaks, fmt.Sprintf("%s shows %q: %s", filepath.Base(path), secret, bytes.TrimSpace(line)))
		}
		if err != nil {
			return nil // the end
		}
	}
}

// shown returns the first secret that a line shows, "" for none.
func shown(line []byte, secrets map[head][]string) string {
	for i := 0; i+shortestPiece <= len(line); i++ {
		for _, secret := range secrets[head(line[i:])] {
			if bytes.HasPrefix(line[i:], []byte(secret)) {
				return secret
			}
		}
	}
	return ""
}
