package testenv_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"iris-gateway/testenv"
)

// What tests confide is found in whatever form a log shows it, and nothing else.
func TestScanLogs(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(testenv.EnvLogs, dir)
	testenv.Confide("0123456789abcdef0123-token", "a letter with \"quotes\" in the middle of it", "short", "approval-once-9", "approval-once-9 #slow")
	testenv.ConfideFrame([]byte(`{"type":"message.send","payload":{"text":"what somebody wrote\nand more","list":[{"host_token":"another-token-of-some-host"}],"name":"not a secret at all"}}`))
	testenv.ConfideFrame([]byte(`no JSON`))
	for i, tt := range []struct {
		line string
		leak bool
	}{
		{`{"message":"listening"}`, false},
		{`{"err":"bad token 0123456789abcdef0123-token"}`, true},
		{`msg="said a letter with \"quotes\" in the middle of it"`, true},
		{`{"text":"what somebody wrote\nand more"}`, true},
		{`token=another-token-of-some-host`, true},
		{`not a secret at all, short, approval-once-9 , no JSON`, false},
		{`0123456789abcdef0123-tok`, false},
	} {
		if _, err := io.WriteString(testenv.Log(t, fmt.Sprint("log", i)), tt.line+"\n"); err != nil {
			t.Fatal(err)
		}
		scan, err := testenv.ScanLogs(dir)
		if err != nil || scan.Files != i+1 || scan.Lines != i+1 || scan.Secrets != 4 {
			t.Errorf("%+v, %v", scan, err)
		}
		found := false
		for _, l := range scan.Leaks {
			found = found || strings.HasSuffix(l, tt.line)
		}
		if found != tt.leak {
			t.Errorf("%s: found %v, want %v", tt.line, found, tt.leak)
		}
	}
}
