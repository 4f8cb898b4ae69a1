package server_test

import (
	"slices"
	"strings"
	"testing"

	"iris-gateway/server"
)

// setting is a variable: what is said when it is missing, empty, or malformed.
// "" = nothing.
type setting struct {
	missing, empty string
	malformed      map[string]string // by value
}

const hunter = "hunter2-hunter2" // stands for a secret in a wrong place

var settings = map[string]setting{
	"PORT":                 {"", `PORT="": must be a whole number`, map[string]string{"http": `PORT="http": must be a whole number`, "65536": "PORT=65536: must be from 0 to 65535", "-1": "PORT=-1"}},
	"IRIS_ADDR":            {"", "", map[string]string{"everywhere": `IRIS_ADDR="everywhere": must be an address`, "127.0.0.1:80": "IRIS_ADDR"}},
	"IRIS_STORE":           {"", `IRIS_STORE="": must be firestore or memory`, map[string]string{"disk": `IRIS_STORE="disk": must be firestore or memory`}},
	"IRIS_PROJECT":         {"", "", map[string]string{"My Project": `IRIS_PROJECT="My Project": must be the id`, "projects/x": "IRIS_PROJECT"}},
	"IRIS_DATABASE":        {"", `IRIS_DATABASE="": leave it unset`, map[string]string{"a/b": `IRIS_DATABASE="a/b": must be the id`, "default)": "IRIS_DATABASE"}},
	"IRIS_BUCKET":          {"", "", map[string]string{"gs://b": `IRIS_BUCKET="gs://b": must be the name of a bucket, without gs://`}},
	"IRIS_MEDIA_MAX_BYTES": {"", `IRIS_MEDIA_MAX_BYTES=""`, map[string]string{"64M": `IRIS_MEDIA_MAX_BYTES="64M"`, "300000000": "IRIS_MEDIA_MAX_BYTES=300000000: must be from 0 to 268435456"}},
	"IRIS_MEDIA_QUOTA":     {"", `IRIS_MEDIA_QUOTA=""`, map[string]string{"5G": `IRIS_MEDIA_QUOTA="5G"`, "-1": "IRIS_MEDIA_QUOTA=-1"}},
	"IRIS_RETENTION":       {"", `IRIS_RETENTION="": must be a length of time`, map[string]string{"a year": `IRIS_RETENTION="a year": must be a length of time`, "-1h": "IRIS_RETENTION=-1h0m0s: must be at least 1h", "59m": "IRIS_RETENTION=59m0s: must be at least 1h"}},
	"IRIS_ADMIN_TOKEN":     {"IRIS_ADMIN_TOKEN: is required", "IRIS_ADMIN_TOKEN: is required", map[string]string{hunter: "IRIS_ADMIN_TOKEN: has 15 characters", goodToken + "\n": "IRIS_ADMIN_TOKEN: begins or ends with white space"}},
	"IRIS_PUBLIC_URL":      {"", "", urls("IRIS_PUBLIC_URL")},
	"IRIS_PUSH":            {"", `IRIS_PUSH="": must be fcm or off`, map[string]string{"apns": `IRIS_PUSH="apns": must be fcm or off`}},
	"IRIS_FCM_ENDPOINT":    {"", "", urls("IRIS_FCM_ENDPOINT")},
	"IRIS_PUSH_PREVIEW":    {"", "", map[string]string{"maybe": `IRIS_PUSH_PREVIEW="maybe": must be true or false`}},
	"IRIS_NTFY_URL":        {"", "", urls("IRIS_NTFY_URL")},
	"IRIS_LOG_ENTRIES":     {"", `IRIS_LOG_ENTRIES="": must be a whole number`, map[string]string{"many": `IRIS_LOG_ENTRIES="many"`, "1": "IRIS_LOG_ENTRIES=1: must be from 16"}},
	"IRIS_RATE_LIMITS":     {"", `IRIS_RATE_LIMITS="": must be on or off`, map[string]string{"no": `IRIS_RATE_LIMITS="no": must be on or off`}},
	"IRIS_MAX_SOCKETS":     {"", `IRIS_MAX_SOCKETS=""`, map[string]string{"0": "IRIS_MAX_SOCKETS=0: must be from 1", "1e3": `IRIS_MAX_SOCKETS="1e3"`}},
	"IRIS_LOG":             {"", `IRIS_LOG="": must be json or text`, map[string]string{"xml": `IRIS_LOG="xml": must be json or text`}},
	"IRIS_METRICS_ADDR":    {"", "", map[string]string{"9090": `IRIS_METRICS_ADDR="9090": must be host and port`, "localhost:http": "IRIS_METRICS_ADDR", "h:65536": "IRIS_METRICS_ADDR", "h:-1": "IRIS_METRICS_ADDR", "::1:9090": "IRIS_METRICS_ADDR"}},

	"OTEL_EXPORTER_OTLP_ENDPOINT": {"", "", urls("OTEL_EXPORTER_OTLP_ENDPOINT")},
	"OTEL_EXPORTER_OTLP_PROTOCOL": {"", "", map[string]string{"grpc": `OTEL_EXPORTER_OTLP_PROTOCOL="grpc": must be http/protobuf`}},
	"OTEL_EXPORTER_OTLP_HEADERS":  {"", "", map[string]string{hunter: "OTEL_EXPORTER_OTLP_HEADERS: header 1 is not like name=value", "a=b,key=%zz" + hunter: "OTEL_EXPORTER_OTLP_HEADERS: header 2", "a b=" + hunter: "OTEL_EXPORTER_OTLP_HEADERS: header 1"}},

	"K_SERVICE":               {"", "", nil}, // Cloud Run's own
	"FIRESTORE_EMULATOR_HOST": {"", "", map[string]string{"8080": `FIRESTORE_EMULATOR_HOST="8080": must be host and port`}},
}

func urls(name string) map[string]string {
	return map[string]string{
		"iris.example.org": name + `="iris.example.org": must be like https://`, "ftp://h": name + `="ftp://h"`,
		"https://": name + `="https://": must be like`, "https://[h": name + `="https://[h": must be like`, "http:/h": name,
		"https://u:" + hunter + "@h/": name + ": must not hold a user or password", "https://u:" + hunter + "@[h": name + ": must not hold",
		"https://h/?key=" + hunter: name + ": must end with the path",
	}
}

// fine is an environment that loads, and in which every setting matters.
func fine() map[string]string {
	return map[string]string{"IRIS_ADMIN_TOKEN": goodToken, "IRIS_PROJECT": "demo-iris", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
}

// Every setting, missing, empty and malformed, alone: one fault of its own, or none.
func TestEverySetting(t *testing.T) {
	for _, name := range variables() {
		s, ok := settings[name]
		if !ok && name != "GOOGLE_CLOUD_PROJECT" {
			t.Errorf("%s is not in the table", name)
		}
		env := fine()
		delete(env, name)
		checkLoad(t, env, s.missing)
		env[name] = ""
		checkLoad(t, env, s.empty)
		for value, want := range s.malformed {
			env[name] = value
			checkLoad(t, env, want)
		}
	}
}

// The most and the least that a setting takes.
func TestSettingsAtTheirBounds(t *testing.T) {
	for name, values := range map[string][]string{
		"PORT": {"0", "65535"}, "IRIS_ADDR": {"localhost", "::1", "0.0.0.0"}, "IRIS_METRICS_ADDR": {"localhost:0", "[::1]:65535"},
		"IRIS_MEDIA_MAX_BYTES": {"0", "268435456"}, "IRIS_MEDIA_QUOTA": {"0"}, "IRIS_RETENTION": {"1h", "0"},
		"IRIS_LOG_ENTRIES": {"16", "1048576"}, "IRIS_MAX_SOCKETS": {"1", "1048576"}, "IRIS_PUBLIC_URL": {"http://h", "https://h:1/path/"},
		"IRIS_PUSH_PREVIEW": {"true", "false"}, "IRIS_PROJECT": {"example.com:iris", "iris-1"}, "IRIS_BUCKET": {"abc", "a_b-c.d"},
		"IRIS_DATABASE": {"(default)", "iris-2"}, "OTEL_EXPORTER_OTLP_HEADERS": {"a=b", "a=b, c=d%20e", "a="},
		"IRIS_ADMIN_TOKEN": {goodToken[:32], "a token of several words, which is long"},
	} {
		for _, value := range values {
			env := fine()
			env[name] = value
			checkLoad(t, env, "")
		}
	}
}

// All of them malformed: all faults in one error.
func TestAllSettingsMalformed(t *testing.T) {
	env, want := fine(), []string{}
	for name, s := range settings {
		for value, fault := range s.malformed {
			if name != "IRIS_STORE" { // else Firestore's own would not matter
				env[name] = value
				want = append(want, fault)
			}
			break
		}
	}
	checkLoad(t, env, want...)
}

// A misspelt setting is told; what is none of the gateway's business is not.
func TestUnknownSettings(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "IRIS_RETENTON=8760h", "IRIS_URL=https://iris.example.org", "IRIS_TOKEN=" + hunter, "IRIS_BUCKETS="}
	for _, name := range variables() {
		environ = append(environ, name+"=x")
	}
	if got := server.Unknown(environ); !slices.Equal(got, []string{"IRIS_BUCKETS", "IRIS_RETENTON"}) {
		t.Errorf("unknown are %v", got)
	}
}

// checkLoad loads an environment and compares the lines of the error. No secret
// is shown.
func checkLoad(t *testing.T, env map[string]string, want ...string) {
	t.Helper()
	setenv(t, env)
	_, err := server.Load()
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	missing := map[string]bool{}
	for _, w := range want {
		if w != "" && (err == nil || !strings.Contains(err.Error(), w)) {
			missing[w] = true
		}
	}
	if len(want) == 1 && want[0] == "" {
		want = nil
	}
	if len(missing) > 0 || len(got) != len(want) {
		t.Errorf("%v: %d faults, want %d; without %v:\n%v", env, len(got), len(want), missing, err)
	}
	for _, secret := range []string{hunter, goodToken} {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows the secret %q:\n%v", secret, err)
		}
	}
}
