package testenv

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Scan is what [ScanLogs] looked at.
type Scan struct {
	Tokens, Texts int // confided
	Logs          map[Kind]Count
	Own           int      // lines by the plugin among those of hermes
	Leaks         []string // lines that show a secret, each with its file
}

// Count is how much was looked through.
type Count struct{ Logs, Lines int }

func (c Count) plus(d Count) Count { return Count{c.Logs + d.Logs, c.Lines + d.Lines} }

// maxLeaks is how many are told of each log.
const maxLeaks = 3

// ScanLogs looks in all logs of a run for what the tests have confided: tokens in
// every line, texts in every line that is not hermes' own.
//
// It sees a secret anywhere in a line if some stretch of it is long enough: twelve
// characters with a space among them, 24 of a single word. A shorter one it sees
// where it is the whole value of an attribute, stands in quotes, or between colons
// ("iris: cannot open: a.png"), but not in an attribute that holds ids and the like.
// It does not see a short one in the middle of a sentence, a single letter, a number,
// a lower-case word between colons, what was encoded (base64, a hash), and what no
// test has confided.
func ScanLogs(dir string) (Scan, error) {
	s := Scan{Logs: map[Kind]Count{}}
	m, err := readSecrets(filepath.Join(dir, secretsFile))
	if err != nil {
		return s, err
	}
	for secret := range m.known {
		if secret.class == token {
			s.Tokens++
		} else {
			s.Texts++
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		kind, name, ok := strings.Cut(strings.TrimPrefix(path, dir+string(filepath.Separator)), string(filepath.Separator))
		switch {
		case !ok || kind == "":
			return nil // the secrets
		case name == lookedFile:
			return s.addLooked(Kind(kind), path)
		default:
			return s.scan(Kind(kind), path, m)
		}
	})
	return s, err
}

// readSecrets reads what all processes of the run have confided.
func readSecrets(path string) (*matcher, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	m := newMatcher()
	for line := range bytes.Lines(data) { // of a process that was killed the last one may be half
		for _, s := range secretsIn(line) {
			m.add(s)
		}
	}
	return m, nil
}

func (s *Scan) scan(kind Kind, path string, m *matcher) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	count := Count{Logs: 1}
	ours, leaks := kind != Hermes, 0
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			count.Lines++
		}
		if kind == Hermes || kind == Plugin {
			ours = byPlugin(line, ours)
		}
		if ours && kind == Hermes && len(line) > 0 {
			s.Own++
		}
		if secret := m.shown(line, ours); secret != "" && leaks < maxLeaks {
			leaks++
			s.Leaks = append(s.Leaks, fmt.Sprintf("%s/%s shows %q: %s", kind, filepath.Base(path), secret, bytes.TrimSpace(line)))
		}
		if err != nil { // the end
			s.Logs[kind] = s.Logs[kind].plus(count)
			return nil
		}
	}
}

// record is how a line of Python's logging begins that hermes formats, for its files
// or for its output, or plugin/tests/confide.py does; then comes the logger's name.
var record = regexp.MustCompile(`^(?:(?:\S+ \S+ )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?: \[[^]]*\])? ([\w.]+): |\S+ - ([\w.]+) - [A-Z]+)`)

// byPlugin tells whether a line was logged by the plugin; one that begins no record,
// as in a traceback, belongs to the one before.
func byPlugin(line []byte, before bool) bool {
	name := record.FindSubmatch(line)
	if name == nil {
		return before
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(name[1])+string(name[2]), "hermes_plugins."), ".")
	return first == "iris"
}

// lookedFile holds what tests have looked through themselves: a Count each line.
const lookedFile = "looked.jsonl"

// Looked tells the run of logs that a test has looked through itself, without
// writing them to files.
func Looked(kind Kind, c Count) error {
	if os.Getenv(EnvLogs) == "" {
		return nil
	}
	dir := filepath.Join(os.Getenv(EnvLogs), string(kind))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, lookedFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(c), f.Close())
}

func (s *Scan) addLooked(kind Kind, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(data) {
		var c Count
		if err := json.Unmarshal(line, &c); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		s.Logs[kind] = s.Logs[kind].plus(c)
	}
	return nil
}
