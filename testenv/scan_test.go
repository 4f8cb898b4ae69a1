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
	testenv.Confide("0123456789abcdef0123-token", "tok")
	testenv.ConfideText("a letter with \"quotes\" in the middle of it", "approval-once-9", "approval-once-9 #slow", "wörd", "x", "send", "false", "16", "reset")
	testenv.ConfideFrame([]byte(`{"type":"message.send","payload":{"text":"what somebody wrote\nand more","list":[{"host_token":"another-token-of-some-host"}],
		"name":"not a secret at all","args":{"deep":["an argument"]}}} {"filename":"a.png"}`))
	testenv.ConfideFrame([]byte(`{"text":"📎 b.png could not be sent: there is no such file"}`))
	testenv.ConfideFrame([]byte(`no JSON`))
	for i, tt := range []struct {
		kind testenv.Kind
		line string
		leak bool
	}{
		{testenv.Gateways, `{"message":"listening"}`, false},
		{testenv.Gateways, `{"err":"bad token 0123456789abcdef0123-token"}`, true},
		{testenv.Gateways, `msg="said a letter with \"quotes\" in the middle of it"`, true},
		{testenv.Simulated, `{"text":"what somebody wrote\nand more"}`, true},
		{testenv.Gateways, `token=another-token-of-some-host`, true},
		{testenv.Gateways, `0123456789abcdef0123-tok`, false},

		// Short ones: as a whole value, in quotes, between colons; not in a sentence.
		{testenv.Gateways, `not a secret at all, tok approval-once-9, no JSON`, false},
		{testenv.Gateways, `{"message":"approval-once-9"}`, true},
		{testenv.Gateways, `{"deep":[{"why":"it says \"wörd\", hm"}]}`, true},
		{testenv.Gateways, `level=INFO msg=x err=tok`, true},
		{testenv.Gateways, `level=INFO msg=x err="open: a.png: no such file"`, true},
		{testenv.CommandLine, `level=INFO msg="bad \"an argument\"" x=y`, true},
		{testenv.CommandLine, `level=INFO msg='an argument'`, true},
		{testenv.CommandLine, `{"kind":"send","device":"approval-once-9","err":"x"}`, false},
		{testenv.Gateways, `level=INFO msg="iris: reset: no such thing" fresh=false turns=16`, false},
		{testenv.Gateways, `level=INFO msg="iris: it failed" why=reset`, true},
		{testenv.CommandLine, `kind=send device=approval-once-9 err=x`, false},
		{testenv.CommandLine, `device=approval-once-9 err="no device \"approval-once-9\""`, false},

		// hermes may show texts, the plugin in it may not, and no log shows tokens.
		{testenv.Hermes, `2026-01-02 03:04:05,678 INFO gateway.run: inbound 'approval-once-9 #slow' what somebody wrote`, false},
		{testenv.Hermes, `2026-01-02 03:04:05,678 INFO [s_1] hermes_plugins.iris.link: what somebody wrote`, true},
		{testenv.Hermes, `2026-01-02 03:04:05,678 INFO gateway.run: Bearer another-token-of-some-host`, true},
		{testenv.Hermes, `WARNING hermes_plugins.iris.upload: iris: a file could not be sent: a.png`, true},
		{testenv.Hermes, `03:04:05 - hermes_plugins.iris.link - INFO [s_1] - iris: what somebody wrote`, true},
		{testenv.Hermes, `03:04:05 - gateway.run - INFO - what somebody wrote`, false},
		{testenv.Hermes, `WARNING hermes_plugins.irisch.upload: iris: a file could not be sent: a.png`, false},
		{testenv.Plugin, `INFO iris.upload: a file could not be sent: there is no such file`, false},
		{testenv.Plugin, `DEBUG websockets.client: > TEXT 'what somebody wrote'`, false},
		{testenv.Plugin, "ERROR iris.inbox: iris: it failed\nTraceback:\n  ValueError: 'wörd'", true},
	} {
		if _, err := io.WriteString(testenv.Log(t, tt.kind, fmt.Sprint("log", i)), tt.line+"\n"); err != nil {
			t.Fatal(err)
		}
		scan, err := testenv.ScanLogs(dir)
		if err != nil || scan.Tokens != 3 || scan.Texts != 9 {
			t.Errorf("%+v, %v", scan, err)
		}
		found := false
		for _, l := range scan.Leaks {
			found = found || strings.Contains(l, fmt.Sprintf("/log%d-", i))
		}
		if found != tt.leak {
			t.Errorf("%s: found %v, want %v", tt.line, found, tt.leak)
		}
	}
}

// A person is told what was looked through.
func TestScanReport(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(testenv.EnvLogs, dir)
	testenv.Confide("one-token-that-nobody-else-has")
	log := testenv.Log(t, testenv.Hermes, "agent")
	for range 1234 {
		if _, err := io.WriteString(log, "2026-01-02 03:04:05,678 INFO gateway.run: up\n"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(log, "2026-01-02 03:04:05,678 INFO hermes_plugins.iris.link: up\n"); err != nil {
		t.Fatal(err)
	}
	testenv.Logger(t, testenv.Gateways).Debug("up")
	for range 2 {
		if err := testenv.Looked(testenv.Simulated, testenv.Count{Logs: 1000, Lines: 10}); err != nil {
			t.Fatal(err)
		}
	}
	scan, err := testenv.ScanLogs(dir)
	const want = "none of 1 token and 0 texts is in 1 line of gateways in 1 log; none of their own is in 20 lines of simulated gateways in 2,000 logs; " +
		"no token is in 1,235 lines of hermes in 1 log, and no text in the 1 of them by the plugin"
	if err != nil || scan.String() != want || len(scan.Leaks) > 0 {
		t.Errorf("%v says\n%v, want\n%s", err, scan, want)
	}
}
