package server_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"iris-gateway/server"
)

func TestLoggerUsesCloudLoggingNames(t *testing.T) {
	for project, trace := range map[string]string{"": "abc", "p1": "projects/p1/traces/abc"} {
		var out bytes.Buffer
		log := server.NewLogger(&out, server.Config{Log: server.LogJSON, Project: project}, slog.LevelInfo)
		log.With("trace", "abc", "span", "12").Warn("host away", "gateway", "g_1", slog.Group("inner", "trace", "x", "msg", "y"))
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		source, _ := line["logging.googleapis.com/sourceLocation"].(map[string]any)
		if file, _ := source["file"].(string); !strings.HasSuffix(file, "log_test.go") || line["time"] == nil {
			t.Errorf("logged %s", out.String())
		}
		delete(line, "logging.googleapis.com/sourceLocation")
		delete(line, "time")
		want := map[string]any{
			"severity": "WARNING", "message": "host away", "gateway": "g_1", "inner": map[string]any{"trace": "x", "msg": "y"},
			"logging.googleapis.com/trace": trace, "logging.googleapis.com/spanId": "12",
		}
		if !reflect.DeepEqual(line, want) {
			t.Errorf("logged %s, want %v", out.String(), want)
		}
	}
}

// The level that is asked for is the least that is logged, under Cloud Logging's
// names.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	for _, form := range []string{server.LogJSON, server.LogText} {
		var out bytes.Buffer
		log := server.NewLogger(&out, server.Config{Log: form}, slog.LevelWarn)
		log.Info("too little")
		log.Warn("enough")
		if strings.Contains(out.String(), "too little") || !strings.Contains(out.String(), "enough") {
			t.Errorf("%s: logged %s", form, out.String())
		}
	}
	var out bytes.Buffer
	log := server.NewLogger(&out, server.Config{Log: server.LogJSON}, slog.LevelDebug)
	log.Debug("")
	log.Info("")
	log.Warn("")
	log.Error("")
	var got []string
	for line := range strings.Lines(out.String()) {
		var fields struct{ Severity string }
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		got = append(got, fields.Severity)
	}
	if want := []string{"DEBUG", "INFO", "WARNING", "ERROR"}; !reflect.DeepEqual(got, want) {
		t.Errorf("severities %v, want %v", got, want)
	}
}
