package server

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"iris-gateway/cloudstore"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/testenv"
)

// What is set about Google Cloud reaches its store.
func TestCloudConfig(t *testing.T) {
	t.Parallel()
	cfg := Config{
		Project: "demo-iris", Database: "d", Bucket: "b", MaxSockets: Number(7), Retention: Duration{D: time.Hour},
		MediaMaxBytes: Number(1000), MediaQuota: Number(5 << 30),
	}
	got := cloudConfig(cfg, newMetrics())
	if got.Project != "demo-iris" || got.Database != "d" || got.Bucket != "b" || got.MaxSockets != 7 || got.Retention != time.Hour ||
		got.Media != mediaLimits(cfg) || got.Count == nil {
		t.Errorf("%+v becomes %+v", cfg, got)
	}
}

// Google Cloud's store, with a bucket and without.
func TestCloudChecks(t *testing.T) {
	t.Parallel()
	for bucket, off := range map[string]bool{"": true, "b": false} {
		checks := storeChecks(Config{Database: "d", Bucket: bucket}, &cloudstore.Store{})
		names := []string{}
		for _, c := range checks {
			names = append(names, c.Name+": "+c.Note)
			if c.Do == nil {
				t.Errorf("%s is not looked at", c.Name)
			}
		}
		if !slices.Equal(names, []string{"store: Firestore, database d", "bucket: " + bucket}) || strings.Contains(checks[1].Off, "IRIS_BUCKET") != off {
			t.Errorf("bucket %q: %v, off: %q", bucket, names, checks[1].Off)
		}
	}
}

// Without a bucket there are no media, and the log says what to do.
func TestCloudMedia(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cfg := Config{MediaMaxBytes: Number(1)}
	st := &cloudstore.Store{}
	if got := openMedia(cfg, st, slog.New(slog.NewTextHandler(&out, nil))); got != nil || !strings.Contains(out.String(), "set IRIS_BUCKET") {
		t.Errorf("without a bucket media are in %T; logged %s", got, out.String())
	}
	st.Library = memstore.New().Library
	if got := openMedia(cfg, st, nil); got != handlers.MediaStore(st) {
		t.Errorf("with a bucket media are in %T", got)
	}
}

// FCM wakes devices in Google Cloud, and not from a test that has no endpoint for it.
func TestFCMIsOn(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key.json")
	const user = `{"type":"authorized_user","client_id":"a","client_secret":"b","refresh_token":"c"}`
	if err := os.WriteFile(key, []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", key)
	for name, tt := range map[string]struct {
		cfg Config
		on  bool
	}{
		"Google Cloud": {Config{Store: StoreFirestore, Push: PushFCM, Project: "demo-iris"}, true},
		"emulator":     {Config{Store: StoreFirestore, Push: PushFCM, Project: "demo-iris", Emulator: "127.0.0.1:1"}, false},
		"memory":       {Config{Store: StoreMemory, Push: PushFCM}, false},
		"off":          {Config{Store: StoreFirestore, Push: Off, Project: "demo-iris"}, false},
	} {
		w, err := openPush(context.Background(), tt.cfg, memstore.New(), newMetrics(), noop.Tracer{}, testenv.Logger(t, testenv.Gateways))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if on := w.pusher != nil; on != tt.on || on != (w.checks[0].Off == "") {
			t.Errorf("%s: push is on: %v, want %v; %q", name, on, tt.on, w.checks[0].Off)
		}
		w.close()
	}
}

// Which project devices are woken from: the one that is set. "" has Google Cloud
// asked which it is.
func TestFCMConfig(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[cloudstore.FCMConfig]Config{
		{Project: "p"}:                       {Project: "p"},
		{}:                                   {},
		{Project: "p", Endpoint: "http://h"}: {Project: "p", FCMEndpoint: "http://h"},
		{Project: "demo-iris", Endpoint: "http://h2"}: {FCMEndpoint: "http://h2"},
	} {
		if got := fcmConfig(cfg); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// What Firestore bills is counted, under the name that docs/operations.md tells.
func TestOperationsAreCounted(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	m.spent("read", "history", 3)
	m.spent("read", "history", 2)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "iris_firestore_operations_total" {
			if got := f.GetMetric()[0].GetCounter().GetValue(); got != 5 {
				t.Errorf("counted %v, want 5", got)
			}
			return
		}
	}
	t.Error("nothing is counted")
}
