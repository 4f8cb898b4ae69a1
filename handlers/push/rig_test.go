package push_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/push"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

const gatewayID = "g"

var lane = iris.Lane{ChatID: iris.DefaultChat}

// call is one push that a service got.
type call struct {
	to    string
	push  iris.Push
	after time.Duration // since the service was made
}

// service is a Sender that answers as it is told.
type service struct {
	began time.Time
	mu    sync.Mutex
	calls []call
	fails map[string][]error                         // by address, one after the other
	each  func(ctx context.Context, to string) error // asked before, nil for nobody
}

func newService() *service { return &service{began: time.Now(), fails: map[string][]error{}} }

func (s *service) Send(ctx context.Context, to string, p iris.Push) error {
	if s.each != nil {
		if err := s.each(ctx, to); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call{to, p, time.Since(s.began)})
	if next := s.fails[to]; len(next) > 0 {
		s.fails[to] = next[1:]
		return next[0]
	}
	return nil
}

// take returns the calls since the last take.
func (s *service) take() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// logbook keeps what was logged.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// rig is one instance with an open gateway, inside a bubble.
type rig struct {
	*testing.T
	store   *memstore.Store
	fcm     *service
	ntfy    *service
	log     *logbook
	pusher  *push.Pusher
	hub     *hub.Hub
	g       *hub.Gateway
	release func()
}

// newRig starts an instance over a store, which gets a gateway if it is new.
func newRig(t *testing.T, store *memstore.Store, change ...func(*push.Config)) *rig {
	t.Helper()
	if store == nil {
		store = memstore.New()
		if err := store.CreateGateway(t.Context(), iris.Gateway{ID: gatewayID, DefaultChat: iris.DefaultChat}, iris.Token{Hash: "host"}); err != nil {
			t.Fatal(err)
		}
	}
	r := &rig{T: t, store: store, fcm: newService(), log: &logbook{}}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(r.log, t.Output(), testenv.Log(t, testenv.Gateways, "push")), &slog.HandlerOptions{Level: slog.LevelDebug}))
	cfg := push.Config{Store: store, FCM: r.fcm, Preview: true, Log: log}
	for _, c := range change {
		c(&cfg)
	}
	if s, ok := cfg.Ntfy.(*service); ok {
		r.ntfy = s
	}
	r.pusher = push.New(cfg)
	r.pusher.Start(r.unregister)
	r.hub = hub.New(hub.Config{Store: store, LogEntries: 4096, Log: log, Notifier: r.pusher})
	return r
}

// open opens the gateway.
func (r *rig) open() *rig {
	r.Helper()
	var err error
	if r.g, r.release, err = r.hub.Open(r.Context(), gatewayID); err != nil {
		r.Fatal(err)
	}
	return r
}

// close ends the instance as a drain does.
func (r *rig) close() {
	if r.release != nil {
		r.release()
	}
	r.pusher.Drain(2500 * time.Millisecond)
	if err := r.hub.Close(context.Background()); err != nil {
		r.Errorf("close: %v", err)
	}
	r.pusher.Close()
}

// crash ends the instance without a drain.
func (r *rig) crash() {
	r.pusher.Close()
	r.release()
	_ = r.hub.Close(context.Background())
}

func (r *rig) unregister(_ context.Context, _, device, token string) error {
	none := ""
	r.commit(hub.Draft{
		Control: []iris.Control{{Kind: iris.PushRegistered, Device: device}},
		Changes: []iris.Change{iris.SetPush{Device: device, FCMToken: &none}},
	})
	return nil
}

// commit appends a draft and returns its cursor.
func (r *rig) commit(d hub.Draft) int64 {
	done := make(chan hub.Result, 1)
	_ = r.g.Do(func(a *hub.Actor) {
		a.Propose(hub.Proposal{
			Decide: func(*hub.State) (hub.Draft, error) { return d, nil },
			Done:   func(_ *hub.Actor, r hub.Result) { done <- r },
		})
	})
	res := <-done
	if res.Err != nil {
		r.Errorf("commit: %v", res.Err)
	}
	return res.Cursor
}

// frames appends frames of the lane, with notify.
func (r *rig) frames(payloads ...wire.Payload) int64 {
	d := hub.Draft{Notify: true}
	for _, p := range payloads {
		d.Add(lane, p)
		data, err := json.Marshal(p)
		if err != nil {
			r.Fatal(err)
		}
		testenv.ConfideFrame(data)
	}
	return r.commit(d)
}

// answer appends a final answer.
func (r *rig) answer(id, text string) int64 {
	return r.frames(wire.Message{MessageID: id, Role: iris.RoleAssistant, Text: text})
}

// device pairs a device with a registration: "" is none.
func (r *rig) device(id, fcm, topic string) {
	r.Helper()
	testenv.Confide(fcm, topic)
	t := iris.Token{Hash: "t-" + id, Kind: iris.TokenDevice, Gateway: gatewayID}
	if err := r.store.CreateToken(r.Context(), t); err != nil {
		r.Fatal(err)
	}
	if err := r.store.BindToken(r.Context(), t.Hash, iris.Device{ID: id}); err != nil {
		r.Fatal(err)
	}
	hash := func(s string) string {
		if s == "" {
			return ""
		}
		return iris.HashToken(s)
	}
	r.commit(hub.Draft{
		Control: []iris.Control{
			{Kind: iris.DeviceAttached, Device: id, Link: iris.Link{ID: "old"}}, {Kind: iris.DeviceDetached, Device: id, Link: iris.Link{ID: "old"}},
			{Kind: iris.PushRegistered, Device: id, Push: hash(fcm)}, {Kind: iris.PushTopic, Device: id, Push: hash(topic)},
		},
		Changes: []iris.Change{iris.SetPush{Device: id, FCMToken: &fcm, NtfyTopic: &topic}},
	})
}

// nothing is a look whether the actor is there.
func nothing(*hub.Actor) {}

// nowhere is a connection that takes everything.
type nowhere struct{}

func (nowhere) Write(context.Context, []byte) error       { return nil }
func (nowhere) WriteBinary(context.Context, []byte) error { return nil }
func (nowhere) Close(int, string)                         {}

// attach gives a device a living link; what it confirms is set by the result.
func (r *rig) attach(id string) *atomic.Int64 {
	r.Helper()
	confirmed := &atomic.Int64{}
	s := r.hub.NewSocket(r.Context(), nowhere{}, nil)
	r.Cleanup(func() { s.Close(1000, ""); s.Wait() })
	d := &hub.Device{ID: id, Link: iris.Link{ID: iris.NewID("l_"), At: time.Now()}, Socket: s, Received: confirmed.Load}
	done := make(chan error, 1)
	_ = r.g.Do(func(a *hub.Actor) {
		a.Attach(d, "", true, func(_ *hub.Actor, _ int64, err error) { done <- err })
	})
	if err := <-done; err != nil {
		r.Fatal(err)
	}
	return confirmed
}

func (r *rig) row(id string) iris.Device {
	r.Helper()
	d, err := r.store.Device(r.Context(), gatewayID, id)
	if err != nil {
		r.Fatal(err)
	}
	return d
}

// wait lets time pass.
func (r *rig) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// sent checks how many pushes went out since the last look, and returns them.
func (r *rig) sent(what string, want int) []call {
	r.Helper()
	synctest.Wait()
	calls := r.fcm.take()
	if len(calls) != want {
		r.Fatalf("%s: %d pushes, want %d: %.2000s", what, len(calls), want, fmt.Sprintf("%+v", calls))
	}
	return calls
}

// quiet fails if the log tells an address or a text.
func (r *rig) quiet(secrets ...string) {
	r.Helper()
	for _, s := range secrets {
		if strings.Contains(r.log.String(), s) {
			r.Errorf("the log tells %q", s)
		}
	}
}
