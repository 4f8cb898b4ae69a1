package handlers_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"iris-gateway/cloudstore"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// everywhere is all that a gateway keeps and says, to be searched for what was
// deleted.
type everywhere struct {
	testing.TB
	store store
	dump  func() string
	files func() []string // names of all objects
	logs  *syncBuffer
}

// inMemory keeps everything in the given store.
func inMemory(t testing.TB, s store) *everywhere {
	e := &everywhere{TB: t, store: s, dump: func() string { return dumpRows(t, s) }, logs: &syncBuffer{}}
	if mem, ok := s.(*memstore.Store); ok {
		e.files = mem.Objects
	}
	return e
}

// inFirestore keeps everything on emulators, and reads all documents and the
// names of all objects.
func inFirestore(t testing.TB) *everywhere {
	t.Helper()
	emu, bucket := testenv.Firestore(t), testenv.Bucket(t)
	s, err := cloudstore.Open(t.Context(), cloudstore.Config{
		Project: emu.Project, MaxSockets: 10, Bucket: bucket, Media: iris.MediaLimits{MaxBytes: 1 << 20, Quota: 1 << 30},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &everywhere{TB: t, store: s, logs: &syncBuffer{}, dump: func() string {
		return strings.Join(testenv.Documents(t, emu), "\n")
	}, files: func() []string { return testenv.Objects(t, bucket) }}
}

// logged makes an instance log everything to where it is searched.
func (e *everywhere) logged(cfg *handlers.Config) {
	cfg.Log = slog.New(slog.NewJSONHandler(io.MultiWriter(e.logs, testenv.Log(e, testenv.Gateways, "everywhere")), &slog.HandlerOptions{Level: slog.LevelDebug}))
	cfg.Hub = hub.New(hub.Config{Store: cfg.Store.(hub.Store), LogEntries: 1024, Log: cfg.Log})
}

// holds reports where a text is found.
func (e *everywhere) holds(text string) (where []string) {
	e.Helper()
	for line := range strings.Lines(e.dump()) {
		if strings.Contains(line, text) {
			where = append(where, "stored: "+line)
		}
	}
	for line := range strings.Lines(e.logs.String()) {
		if strings.Contains(line, text) {
			where = append(where, "logged: "+line)
		}
	}
	return where
}

// gone fails if a text is found anywhere.
func (e *everywhere) gone(text string) {
	e.Helper()
	for _, where := range e.holds(text) {
		e.Errorf("%s is still there: %.2000s", text, where)
	}
}

// unnamed fails if a document names an id: logs may.
func (e *everywhere) unnamed(id string) {
	e.Helper()
	for line := range strings.Lines(e.dump()) {
		if strings.Contains(line, id) {
			e.Errorf("%s is still named by %.2000s", id, line)
		}
	}
}

// there fails if a text is found nowhere: the search would prove nothing.
func (e *everywhere) there(text string) {
	e.Helper()
	if len(e.holds(text)) == 0 {
		e.Fatalf("%s is nowhere before it is deleted", text)
	}
}

// dumpRows reads all rows that a store gives.
func dumpRows(t testing.TB, s store) string {
	t.Helper()
	ctx := t.Context()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	put := func(v any, err error) {
		if err == nil {
			err = enc.Encode(v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	gateways, err := s.Gateways(ctx)
	put(gateways, err)
	for _, gw := range gateways {
		lanes, ids := map[iris.Lane]bool{}, map[string]bool{}
		for _, e := range logOf(t, s, gw.ID, 0) {
			put(e, nil)
			for _, l := range e.Lanes {
				lanes[l] = true
			}
			for _, id := range e.Messages {
				ids[id] = true
			}
		}
		channels, err := s.Channels(ctx, gw.ID)
		put(channels, err)
		put(s.Pickers(ctx, gw.ID))
		put(s.Lives(ctx, gw.ID))
		put(s.Devices(ctx, gw.ID))
		put(s.Deletions(ctx, gw.ID))
		for l := range lanes {
			messages, more, err := s.History(ctx, gw.ID, l, nil, 1_000_000)
			put(messages, err)
			if more {
				t.Fatalf("%v has more than a page of history: look at the others, too", l)
			}
		}
		for id := range ids {
			if m, err := s.Message(ctx, gw.ID, id); iris.ErrorCode(err) != iris.CodeNotFound {
				put(m, err)
			}
		}
	}
	return out.String()
}

// syncBuffer is a buffer that many write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
