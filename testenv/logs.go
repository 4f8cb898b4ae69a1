package testenv

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// EnvLogs is the folder in which cmd/testenv collects what gateways log in a
// whole test run. At its end it looks for what the tests have confided.
const EnvLogs = "IRIS_TEST_LOGS"

// secretsFile is in that folder; all other files are logs.
const secretsFile = "secrets"

// OpenLog opens a file of the run's logs for what a gateway writes. Without
// cmd/testenv what is written is lost.
func OpenLog(name string) (*os.File, error) {
	dir := os.Getenv(EnvLogs)
	if dir == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return openLog(dir, name)
}

func openLog(dir, name string) (*os.File, error) {
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.log", strings.ReplaceAll(name, "/", "-"), os.Getpid()))
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
}

// Log is OpenLog for one test, at whose end the file is closed. Without
// cmd/testenv it is one of the test's own.
func Log(t testing.TB, name string) *os.File {
	t.Helper()
	dir := os.Getenv(EnvLogs)
	if dir == "" {
		dir = t.TempDir()
	}
	f, err := openLog(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// A secret is looked for by a piece of it: no shorter, so that it is not met by
// chance, and no longer, because a log may cut it. A single word must be as long as
// a token: tests give short ones to devices as well, which logs may name.
const (
	shortestPiece = 12
	shortestWord  = 24
	longestPiece  = 40
)

// confided remembers what was written to the file of secrets, which other
// processes of the run write to as well.
var confided struct {
	sync.Mutex
	known map[string]bool
}

// Confide tells the run a token, or a text that somebody wrote: no log may show
// it. Texts that are too short to be told from others are left out.
func Confide(secrets ...string) {
	dir := os.Getenv(EnvLogs)
	if dir == "" {
		return
	}
	confided.Lock()
	defer confided.Unlock()
	if confided.known == nil {
		confided.known = map[string]bool{}
	}
	var lines strings.Builder
	for _, s := range secrets {
		if p := piece(s); p != "" && !confided.known[p] {
			confided.known[p] = true
			lines.WriteString(p + "\n")
		}
	}
	if lines.Len() == 0 {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, secretsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err) // the scan would find nothing and say that all is well
	}
	defer f.Close()
	if _, err := f.WriteString(lines.String()); err != nil {
		panic(err)
	}
}

// secretKeys are the fields of frames and of admin calls that hold what people
// or agents wrote, or a token.
var secretKeys = map[string]bool{
	"text": true, "final_text": true, "reasoning": true, "question": true, "caption": true, "output_tail": true,
	"token": true, "host_token": true, "fcm_token": true, "ntfy_topic": true,
}

// ConfideFrame confides the texts and tokens in a frame, or in any other JSON;
// what is none is left out.
func ConfideFrame(data []byte) {
	if os.Getenv(EnvLogs) == "" {
		return
	}
	var v any
	if json.Unmarshal(data, &v) == nil {
		confideIn(v)
	}
}

func confideIn(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			confideIn(x)
		}
	case map[string]any:
		for key, x := range v {
			if s, ok := x.(string); ok && secretKeys[key] {
				Confide(s)
			}
			confideIn(x)
		}
	}
}

// piece is the longest stretch of a secret that every form of log writes as it
// is, "" if it is too short.
func piece(secret string) string {
	longest := ""
	for _, p := range strings.FieldsFunc(secret, func(r rune) bool {
		return r > unicode.MaxASCII || r != ' ' && r != '-' && r != '_' && r != '.' && r != ',' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if len(p) > len(longest) {
			longest = p
		}
	}
	longest = strings.TrimSpace(longest)
	if len(longest) < shortestPiece || !strings.Contains(longest, " ") && len(longest) < shortestWord {
		return ""
	}
	return longest[:min(len(longest), longestPiece)]
}
