package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/agent"
	"iris-gateway/cmd/iris/internal/archive"
	"iris-gateway/cmd/iris/internal/chat"
	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/gatewaytest"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

const patience = 30 * time.Second

// silent is a Progress that nobody looks at.
type silent struct{}

func (silent) Step(string, int, int) {}

// export writes an archive of the gateway.
func export(t *testing.T, g *gatewaytest.Gateway, c *admin.Client, dir string) error {
	t.Helper()
	_, err := archive.Write(t.Context(), c, admin.Gateway{GatewayID: g.ID, Name: "test"}, dir, silent{})
	return err
}

// lines reads a file of JSON lines.
func lines[T any](t *testing.T, dir, name string) (all []T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v in %s", name, err, line)
		}
		all = append(all, v)
	}
	return all
}

type message struct {
	ChatID   string `json:"chat_id"`
	ThreadID string `json:"thread_id"`
	Cursor   int64  `json:"cursor"`
	wire.Message
}

// upload gives the gateway a medium.
func upload(t *testing.T, g *gatewaytest.Gateway, key, name string, data []byte) iris.Media {
	t.Helper()
	u, err := g.Store.BeginUpload(t.Context(), g.ID, key, iris.Media{Kind: iris.MediaDocument, Filename: name, Size: int64(len(data))}, false)
	if err == nil {
		_, err = u.Write(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	m, err := u.Finish(t.Context(), hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// An export has every message that a device saw, with its text, in the order in
// which it saw them; every medium, byte by byte; and no secret.
func TestExportIsWhatDevicesSaw(t *testing.T) {
	g := gatewaytest.Start(t)
	serve(t, g)
	watched := watch(t, g)
	err := chat.Run(t.Context(), chat.Options{
		Device: config(g, "talker"), In: strings.NewReader("hello\nweather in Oslo\n/status\nwärmer? 🙂"), Out: io.Discard, Wait: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := watched()
	data := map[string][]byte{"empty.txt": {}, "photo.jpg": []byte("not really"), "big one.tar.gz": noise(9<<20 + 5), "../evil": noise(100)}
	for name, b := range data {
		upload(t, g, name, name, b)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := export(t, g, g.Admin, dir); err != nil {
		t.Fatal(err)
	}
	got := lines[message](t, dir, "messages.jsonl")
	if len(got) != len(seen) || len(got) < 7 {
		t.Fatalf("%d messages were exported, a device saw %d", len(got), len(seen))
	}
	byID := map[string]message{}
	for _, m := range got {
		byID[m.MessageID] = m
	}
	last := int64(0)
	for _, w := range seen {
		m := byID[w.MessageID]
		if m.Text != w.Text || m.Commentary != w.Commentary || m.ChatID != iris.DefaultChat || m.TS == 0 || m.Role == "" {
			t.Errorf("exported %+v, a device saw %+v", m, w)
		}
		if m.Cursor < last {
			t.Errorf("%s came before what has a smaller cursor", m.MessageID)
		}
		last = m.Cursor
	}
	if !slices.IsSortedFunc(got, func(a, b message) int { return int(a.Cursor - b.Cursor) }) {
		t.Error("the messages are not in the order of the log")
	}
	media := lines[struct {
		Filename, File, SHA256 string
	}](t, dir, "media.jsonl")
	if len(media) != len(data) {
		t.Errorf("%d media, want %d", len(media), len(data))
	}
	for _, m := range media {
		want := data[m.Filename]
		if m.Filename == "evil" {
			want = data["../evil"]
		}
		b, err := os.ReadFile(filepath.Join(dir, m.File))
		if err != nil || !bytes.Equal(b, want) || filepath.Dir(m.File) != "media" {
			t.Errorf("%s: %d bytes, %v; want %d", m.File, len(b), err, len(want))
		}
	}
	if channels := lines[struct{ Name, Kind string }](t, dir, "channels.jsonl"); len(channels) != 1 || channels[0].Name != "Default" || channels[0].Kind != "default" {
		t.Errorf("channels: %+v", channels)
	}
	if devices := lines[struct {
		DeviceID string `json:"device_id"`
	}](t, dir, "devices.jsonl"); len(devices) != 2 {
		t.Errorf("devices: %+v", devices)
	}
	noSecrets(t, g, dir)
	if err := export(t, g, g.Admin, dir); err == nil || !strings.Contains(err.Error(), "complete") {
		t.Errorf("again: %v", err)
	}
}

// noSecrets fails if the archive has a token, or the hash of one.
func noSecrets(t *testing.T, g *gatewaytest.Gateway, dir string) {
	t.Helper()
	devices, err := g.Store.Devices(t.Context(), g.ID)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{g.HostToken, iris.HashToken(g.HostToken)}
	for _, d := range devices {
		secrets = append(secrets, d.Token)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json*"))
	if err != nil || len(files) != 6 {
		t.Errorf("files %v, %v", files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds a secret", name)
			}
		}
	}
}

// Cut at each of its requests, and in the midst of bytes, an export that is run
// again and again ends with the same files as one that was never cut.
func TestExportGoesOn(t *testing.T) {
	g := gatewaytest.Start(t)
	for cursor := int64(2); cursor < 14; cursor++ {
		c := iris.Commit{Entry: iris.Entry{Cursor: cursor, Writer: "w", First: 1}}
		for i := range 100 {
			c.Changes = append(c.Changes, iris.CreateMessage{Message: iris.Message{
				ID: fmt.Sprint("m", cursor, "-", i), Lane: iris.Lane{ChatID: iris.DefaultChat}, Role: iris.RoleUser, Text: fmt.Sprint("text ", i), At: time.Now(),
			}})
		}
		if err := g.Store.Append(t.Context(), g.ID, c); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		upload(t, g, fmt.Sprint(i), "a.bin", noise(100_000+i))
	}
	whole, cut := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "cut")
	if err := export(t, g, g.Admin, whole); err != nil {
		t.Fatal(err)
	}
	c, err := admin.New("http://"+g.Addr, g.Token())
	if err != nil {
		t.Fatal(err)
	}
	breaking := &breaker{}
	c.HTTP.Transport = breaking
	tries := 0
	for breaking.after = 0; ; breaking.after++ {
		tries++
		breaking.left = 1 + breaking.after%3 // it gets a little further each time
		if err := export(t, g, c, cut); err == nil {
			break
		}
		if tries > 100 {
			t.Fatal("it does not get on")
		}
		half(t, filepath.Join(cut, "messages.jsonl"))
	}
	if tries < 6 {
		t.Errorf("cut %d times only", tries-1)
	}
	same(t, whole, cut)
	if n := len(lines[message](t, cut, "messages.jsonl")); n != 1200 {
		t.Errorf("%d messages, want 1200", n)
	}
}

// What is deleted between the page that names it and its bytes does not stop an
// export: it is not in it.
func TestExportMediumIsGone(t *testing.T) {
	g := gatewaytest.Start(t)
	first, second := upload(t, g, "u1", "a.txt", []byte("going")), upload(t, g, "u2", "b.txt", []byte("staying"))
	c, err := admin.New("http://"+g.Addr, g.Token())
	if err != nil {
		t.Fatal(err)
	}
	c.HTTP.Transport = deleter(func(r *http.Request) {
		if path.Base(r.URL.Path) == first.ID {
			if err := g.Store.DeleteMedia(r.Context(), g.ID, first.ID); err != nil {
				t.Error(err)
			}
		}
	})
	dir := filepath.Join(t.TempDir(), "export")
	if err := export(t, g, c, dir); err != nil {
		t.Fatal(err)
	}
	left := lines[struct {
		MediaID string `json:"media_id"`
	}](t, dir, "media.jsonl")
	if len(left) != 1 || left[0].MediaID != second.ID {
		t.Errorf("exported %v, want %s alone", left, second.ID)
	}
	if files, err := os.ReadDir(filepath.Join(dir, "media")); err != nil || len(files) != 1 {
		t.Errorf("files %v (%v)", files, err)
	}
}

// deleter does something before each request.
type deleter func(*http.Request)

// RoundTrip implements [http.RoundTripper].
func (d deleter) RoundTrip(r *http.Request) (*http.Response, error) {
	d(r)
	return http.DefaultTransport.RoundTrip(r)
}

// half adds what a program leaves that dies while it writes a page.
func half(t *testing.T, name string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		_, err = f.WriteString(`{"message_id":"ha`)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// breaker lets some requests through, and breaks the next one: at once, or after
// some of its answer.
type breaker struct {
	left, after int
}

var errBroken = errors.New("broken")

// RoundTrip implements [http.RoundTripper].
func (b *breaker) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.left--; b.left > 0 {
		return http.DefaultTransport.RoundTrip(r)
	}
	if b.after%2 == 0 {
		return nil, errBroken
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(resp.Body, 40_000), broken{}), resp.Body}
	}
	return resp, err
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// same fails unless two archives have the same files, but for when they were
// made.
func same(t *testing.T, a, b string) {
	t.Helper()
	tree := func(dir string) map[string]string {
		all := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			name, _ := filepath.Rel(dir, path)
			if name != "export.json" {
				all[name] = string(data)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	x, y := tree(a), tree(b)
	for name := range x {
		if x[name] != y[name] {
			t.Errorf("%s: %d bytes and %d bytes", name, len(x[name]), len(y[name]))
		}
	}
	if len(x) != len(y) || len(x) < 8 {
		t.Errorf("%d files and %d files", len(x), len(y))
	}
}

func TestExportLeavesOtherFoldersAlone(t *testing.T) {
	g := gatewaytest.Start(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "diary.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := export(t, g, g.Admin, dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("got %v", err)
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

// serve runs the built-in agent until the test ends.
func serve(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	attached := make(chan struct{}, 10)
	a := agent.New(agent.Config{
		URL: "ws://" + g.Addr + "/host", Token: g.HostToken, Log: testenv.Logger(t, testenv.CommandLine),
		Attached: func() { attached <- struct{}{} }, MinRetry: time.Millisecond, MaxRetry: 20 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-attached:
	case <-time.After(patience):
		t.Fatal("agent not attached")
	}
}

func config(g *gatewaytest.Gateway, id string) device.Config {
	return device.Config{
		URL: "ws://" + g.Addr + "/ws", Token: g.Pair(), DeviceID: id, DeviceName: id,
		MinRetry: time.Millisecond, MaxRetry: 20 * time.Millisecond,
	}
}

// watch collects the messages that a device sees, once they are whole, in its
// order. The returned function waits until it has as many as there are.
func watch(t *testing.T, g *gatewaytest.Gateway) func() []wire.Message {
	t.Helper()
	var mu sync.Mutex
	var seen []wire.Message
	ready := make(chan struct{}, 10)
	cfg := config(g, "watcher")
	cfg.Handle = func(e device.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case device.Synced:
			ready <- struct{}{}
		case device.Frame:
			switch e.Type {
			case "message":
				if m, err := device.Payload[wire.Message](e); err == nil {
					seen = append(seen, m)
				}
			case "message.stop":
				if m, err := device.Payload[wire.MessageStop](e); err == nil {
					seen = append(seen, wire.Message{MessageID: m.MessageID, Text: m.FinalText, Commentary: m.Commentary})
				}
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	d := device.New(cfg)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	select {
	case <-ready:
	case <-time.After(patience):
		t.Fatal("watcher not connected")
	}
	return func() []wire.Message {
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			mu.Lock()
			all := slices.Clone(seen)
			mu.Unlock()
			if n, err := g.Store.CountMessages(t.Context(), g.ID); err == nil && n == len(all) || time.Now().After(deadline) {
				return all
			}
		}
	}
}
