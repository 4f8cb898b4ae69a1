package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"iris-gateway/server"
)

const goodToken = "0123456789abcdef0123456789abcdef"

// variables are all that Load reads: a test begins without any of them.
var variables = []string{
	"PORT", "IRIS_ADDR", "IRIS_STORE", "IRIS_PROJECT", "GOOGLE_CLOUD_PROJECT", "IRIS_DATABASE",
	"IRIS_ADMIN_TOKEN", "IRIS_PUBLIC_URL", "IRIS_PUSH", "IRIS_LOG_ENTRIES", "IRIS_RATE_LIMITS",
	"IRIS_MAX_SOCKETS", "IRIS_LOG", "K_SERVICE", "FIRESTORE_EMULATOR_HOST",
	"IRIS_FCM_ENDPOINT", "IRIS_PUSH_PREVIEW", "IRIS_NTFY_URL",
	"IRIS_BUCKET", "IRIS_MEDIA_MAX_BYTES", "IRIS_MEDIA_QUOTA", "IRIS_RETENTION",
}

func setenv(t *testing.T, env map[string]string) {
	t.Helper()
	for _, name := range variables {
		t.Setenv(name, "") // so that it is put back at the end
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
}

func TestLoadDefaults(t *testing.T) {
	setenv(t, map[string]string{"IRIS_ADMIN_TOKEN": goodToken, "GOOGLE_CLOUD_PROJECT": "from-google"})
	got, err := server.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := server.Config{
		Port: server.Number(8080), Addr: "0.0.0.0", Store: "firestore", Project: "from-google", Database: "(default)",
		AdminToken: goodToken, Push: "fcm", PushPreview: "true", LogEntries: server.Number(2048), RateLimits: "on",
		MaxSockets: server.Number(1000), Log: "json",
		MediaMaxBytes: server.Number(64 << 20), MediaQuota: server.Number(5 << 30),
	}
	if got != want {
		t.Errorf("Load() = %+v, want %+v", got, want)
	}
}

func TestLoadFaults(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		want []string // lines of the error, in any order; none: it loads
	}{
		{"nothing set", nil, []string{"IRIS_ADMIN_TOKEN: is required"}},
		{"token too short", map[string]string{"IRIS_ADMIN_TOKEN": "swordfish"}, []string{"IRIS_ADMIN_TOKEN: has 9 characters"}},
		{"token with a newline", map[string]string{"IRIS_ADMIN_TOKEN": goodToken + "\n"}, []string{"IRIS_ADMIN_TOKEN: begins or ends with white space"}},
		{"free port", map[string]string{"IRIS_ADMIN_TOKEN": goodToken, "PORT": "0"}, nil},
		{"empty number", map[string]string{"IRIS_ADMIN_TOKEN": goodToken, "PORT": ""}, []string{`PORT="": must be a whole number`}},
		{"memory needs no project", map[string]string{"IRIS_ADMIN_TOKEN": goodToken, "IRIS_STORE": "memory", "FIRESTORE_EMULATOR_HOST": "x:1"}, nil},
		{"emulator needs a project", map[string]string{"IRIS_ADMIN_TOKEN": goodToken, "FIRESTORE_EMULATOR_HOST": "x:1"}, []string{"IRIS_PROJECT: must be given"}},
		{"public url without scheme", map[string]string{"IRIS_ADMIN_TOKEN": goodToken, "IRIS_PUBLIC_URL": "iris.example.org"}, []string{`IRIS_PUBLIC_URL="iris.example.org": must be like https://`}},
		{"push off", map[string]string{"IRIS_ADMIN_TOKEN": goodToken, "IRIS_PUSH": "off"}, nil},
		{"retention of a year", map[string]string{"IRIS_ADMIN_TOKEN": goodToken, "IRIS_STORE": "memory", "IRIS_RETENTION": "8760h"}, nil},
		{"retention of a moment", map[string]string{"IRIS_ADMIN_TOKEN": goodToken, "IRIS_RETENTION": "-1h"}, []string{"IRIS_RETENTION=-1h0m0s: must be at least 1h"}},
		{"all at once", map[string]string{
			"PORT": "http", "IRIS_STORE": "disk", "IRIS_LOG_ENTRIES": "1", "IRIS_MAX_SOCKETS": "many",
			"IRIS_RATE_LIMITS": "no", "IRIS_LOG": "xml", "IRIS_PUSH": "apns", "IRIS_PUBLIC_URL": "https://u:hunter2@h/",
			"IRIS_ADMIN_TOKEN": "swordfish", "IRIS_PUSH_PREVIEW": "maybe", "IRIS_FCM_ENDPOINT": "fcm", "IRIS_NTFY_URL": "https://u:hunter2@ntfy.sh",
			"IRIS_MEDIA_MAX_BYTES": "268435457", "IRIS_MEDIA_QUOTA": "lots", "IRIS_RETENTION": "a year",
		}, []string{
			`PORT="http"`, `IRIS_STORE="disk": must be firestore or memory`, `IRIS_LOG_ENTRIES=1: must be from 16`, `IRIS_MAX_SOCKETS="many"`,
			`IRIS_RATE_LIMITS="no"`, `IRIS_LOG="xml"`, `IRIS_PUSH="apns"`, `IRIS_PUBLIC_URL: must not hold a user or password`,
			`IRIS_ADMIN_TOKEN: has 9 characters`, `IRIS_PUSH_PREVIEW="maybe": must be true or false`, `IRIS_FCM_ENDPOINT="fcm"`, `IRIS_NTFY_URL: must not hold`,
			`IRIS_MEDIA_MAX_BYTES=268435457: must be from 0 to 268435456`, `IRIS_MEDIA_QUOTA="lots"`, `IRIS_RETENTION="a year": must be a length of time`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			setenv(t, tt.env)
			_, err := server.Load()
			if len(tt.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tt.want) {
				t.Errorf("%d faults, want %d:\n%v", len(lines), len(tt.want), err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in:\n%v", want, err)
				}
			}
			for _, secret := range []string{"swordfish", "hunter2", goodToken} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows the secret %q", secret)
				}
			}
		})
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	cfg := server.Config{AdminToken: goodToken}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+"\n", cfg.AdminToken)
	}
	fmt.Fprintf(&out, "%v %+v %#v\n", cfg, cfg, cfg)
	if err := json.NewEncoder(&out).Encode(cfg); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{server.LogJSON, server.LogText} {
		server.NewLogger(&out, server.Config{Log: form}, slog.LevelInfo).Info("x", "token", cfg.AdminToken, "config", cfg)
	}
	shown := out.String()
	if strings.Contains(shown, goodToken) || strings.Contains(shown, fmt.Sprintf("%x", goodToken)) {
		t.Errorf("the token is shown:\n%s", shown)
	}
}
