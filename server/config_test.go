package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"

	"iris-gateway/server"
)

const goodToken = "0123456789abcdef0123456789abcdef"

// variables are all that Load reads: a test begins without any of them.
func variables() []string {
	names := []string{"GOOGLE_CLOUD_PROJECT"}
	for f := range reflect.TypeFor[server.Config]().Fields() {
		names = append(names, f.Tag.Get("envconfig"))
	}
	return names
}

func setenv(t *testing.T, env map[string]string) {
	t.Helper()
	for _, name := range variables() {
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

// What one setting means to another.
func TestLoadTogether(t *testing.T) {
	for name, tt := range map[string]struct{ env, want string }{
		"free port":                 {"PORT=0", ""},
		"memory needs no project":   {"IRIS_STORE=memory FIRESTORE_EMULATOR_HOST=x:1", ""},
		"memory needs no database":  {"IRIS_STORE=memory IRIS_DATABASE=", ""},
		"emulator needs a project":  {"FIRESTORE_EMULATOR_HOST=x:1", "IRIS_PROJECT: must be given"},
		"no endpoint, any protocol": {"OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_HEADERS=x", ""},
		"push off":                  {"IRIS_PUSH=off", ""},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"IRIS_ADMIN_TOKEN": goodToken}
			for _, pair := range strings.Fields(tt.env) {
				key, value, _ := strings.Cut(pair, "=")
				env[key] = value
			}
			checkLoad(t, env, tt.want)
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
	if strings.Count(shown, "[redacted]") < strings.Count(shown, "\n") { // each way of showing it, each in a line
		t.Errorf("something is shown as nothing:\n%s", shown)
	}
	if strings.Contains(shown, goodToken) || strings.Contains(shown, fmt.Sprintf("%x", goodToken)) {
		t.Errorf("the token is shown:\n%s", shown)
	}
}
