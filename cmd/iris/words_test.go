package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/handlers/wire"
)

func TestAgo(t *testing.T) {
	t.Parallel()
	if got := ago(0); got != "never" {
		t.Errorf("ago(0) = %q", got)
	}
	for passed, want := range map[time.Duration]string{
		0: "now", 59 * time.Second: "now", 61 * time.Second: "1 min ago", 59*time.Minute + 30*time.Second: "59 min ago",
		61 * time.Minute: "1 h ago", 47*time.Hour + 30*time.Minute: "47 h ago", 49 * time.Hour: "2 days ago",
	} {
		if got := ago(time.Now().Add(-passed).UnixMilli()); got != want {
			t.Errorf("%v: %q, want %q", passed, got, want)
		}
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	now := time.Now().UnixMilli()
	for want, h := range map[string]admin.Host{
		"never seen": {}, "attached": {Attached: true, Seen: now}, "attached, version 1": {Attached: true, Version: "1"},
		"away, seen now": {Version: "1", Seen: now},
	} {
		if got := hostState(h); got != want {
			t.Errorf("%+v: %q, want %q", h, got, want)
		}
	}
	for want, d := range map[string]admin.Device{"attached": {Attached: true, Seen: now}, "seen now": {Seen: now}, "seen never": {}} {
		if got := deviceState(d); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
	for want, d := range map[string]admin.Device{"none": {Push: "none"}, "fcm, sent now": {Push: "fcm", PushOutcome: "sent", PushAt: now}} {
		if got := pushState(d); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
}

// What a QR code holds, and what is none.
func TestParsePairURL(t *testing.T) {
	t.Parallel()
	socket, token, err := parsePairURL("iris://pair?url=wss%3A%2F%2Firis.example.org%2Fws&token=abc")
	if socket != "wss://iris.example.org/ws" || token != "abc" || err != nil {
		t.Errorf("%q, %q, %v", socket, token, err)
	}
	if _, _, err := parsePairURL("iris://pair?url=ws%3A%2F%2F127.0.0.1%3A1%2Fws&token=abc"); err != nil {
		t.Error(err)
	}
	for url, want := range map[string]string{
		"https://iris.example.org":                     "no pairing",
		"iris://push?url=wss%3A%2F%2Fh%2Fws&token=abc": "no pairing",
		"http://pair?url=wss%3A%2F%2Fh%2Fws&token=abc": "no pairing",
		"iris://pair?url=wss%3A%2F%2Fh%2Fws":           "damaged",
		"iris://pair?token=abc":                        "damaged",
		"iris://pair?url=https%3A%2F%2Fh&token=abc":    "damaged",
		"iris://pair?url=wss%3A%2Fws&token=abc":        "damaged",
		"iris://pair?url=wss%3A%2F%2F%5Bh&token=abc":   "damaged",
	} {
		if _, _, err := parsePairURL(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

// How a chat has ended, and whether its pairing is no good.
func TestChatError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err     error
		want    string
		refused bool
	}{
		{&device.CloseError{Code: wire.CloseAuth, Message: "revoked"}, "does not know this terminal (revoked): pair it again", true},
		{&device.CloseError{Code: wire.CloseSuperseded}, "connected somewhere else", false},
		{&device.CloseError{Code: 4400, Message: "too old"}, "ended the connection for good: too old", false},
		{errors.New("something else"), "something else", false},
	} {
		if got := chatError(tt.err); !strings.Contains(got.Error(), tt.want) || isRefused(tt.err) != tt.refused {
			t.Errorf("%v: %v, refused %v; want %q, %v", tt.err, got, isRefused(tt.err), tt.want, tt.refused)
		}
	}
	if err := chatError(nil); err != nil {
		t.Errorf("without an error: %v", err)
	}
}

// Nobody else reaches what was not started for phones.
func TestListenOn(t *testing.T) {
	t.Parallel()
	for want, flags := range map[string][]devFlags{"127.0.0.1": {{}, {port: 80}}, "0.0.0.0": {{lan: true}, {addr: "192.168.1.5"}}} {
		for _, f := range flags {
			if got := f.listenOn(); got != want {
				t.Errorf("%+v listens on %s, want %s", f, got, want)
			}
		}
	}
}

func TestIsHost(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"192.168.1.5": true, "fd00::1": true, "my-machine.local": true, "a": true,
		"": false, "192.168.1.5:80": false, "http://h": false, "h/": false, "a b": false, "-h": false,
	} {
		if got := isHost(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}
