package erase_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/erase"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	gateway = "g"
	secret  = "xyzzysecret"
)

var lane = iris.Lane{ChatID: iris.DefaultChat}

// instance is a hub that has the gateway open.
type instance struct {
	*hub.Gateway
	t       *testing.T
	release func()
	close   func()
}

// open opens the gateway on a new instance; with a nil store it carries no
// deletions out.
func open(t *testing.T, store *memstore.Store, eraser erase.Store) *instance {
	t.Helper()
	return openWith(t, store, eraser, nil)
}

func openWith(t *testing.T, store *memstore.Store, eraser erase.Store, media erase.Media) *instance {
	t.Helper()
	h := hub.New(hub.Config{Store: store, LogEntries: 64, Log: testenv.Logger(t, testenv.Gateways)})
	ctx, cancel := context.WithCancel(t.Context())
	if eraser != nil {
		h.OnDeletions(erase.New(ctx, eraser, media, testenv.Logger(t, testenv.Gateways)).Pending)
	}
	g, release, err := h.Open(t.Context(), gateway)
	if err != nil {
		t.Fatal(err)
	}
	return &instance{g, t, release, func() {
		cancel()
		release()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}}
}

// append appends a draft.
func (in *instance) append(draft hub.Draft) {
	in.t.Helper()
	done := make(chan error, 1)
	err := in.Do(func(a *hub.Actor) {
		a.Propose(hub.Proposal{
			Decide: func(*hub.State) (hub.Draft, error) { return draft, nil },
			Done:   func(_ *hub.Actor, r hub.Result) { done <- r.Err },
		})
	})
	if err == nil {
		err = <-done
	}
	if err != nil {
		in.t.Fatal(err)
	}
}

// begin says something and begins its deletion.
func (in *instance) begin() {
	in.t.Helper()
	m := iris.Message{ID: "m1", Lane: lane, Role: iris.RoleUser, Text: secret}
	said := hub.Draft{Messages: []string{m.ID}, Changes: []iris.Change{iris.CreateMessage{Message: m}}}
	said.Add(lane, wire.Message{MessageID: m.ID, Role: m.Role, Text: m.Text})
	in.append(said)
	d := iris.Deletion{ID: "del_1", Lane: lane, Messages: []string{m.ID}}
	in.append(hub.Draft{
		Messages: d.Messages, Control: []iris.Control{{Kind: iris.DeletionBegun, Deletion: &d}},
		Changes: []iris.Change{iris.BeginDeletion{Deletion: d}, iris.PutMessage{Message: m.Tombstone()}},
	})
}

func newStore(t *testing.T) *memstore.Store {
	t.Helper()
	s := memstore.New()
	if err := s.CreateGateway(t.Context(), iris.Gateway{ID: gateway, DefaultChat: iris.DefaultChat}, iris.Token{Hash: "h"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// state says whether the deletion is under way, whether the log has the text, and
// how often it tells of the deletion.
func state(t *testing.T, s *memstore.Store) string {
	t.Helper()
	pending, err := s.Deletions(t.Context(), gateway)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := s.Entries(t.Context(), gateway, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint(entries)
	return fmt.Sprintf("pending %d, text %v, told %d", len(pending), strings.Contains(all, secret), strings.Count(all, "message.deleted"))
}

const (
	begun = "pending 1, text true, told 0"
	ended = "pending 0, text false, told 1"
)

func expect(t *testing.T, s *memstore.Store, want string) {
	t.Helper()
	synctest.Wait()
	if got := state(t, s); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// An instance that begins a deletion dies. Another one that has the gateway open
// gives it a while, and then brings it to its end; several of them tell of it once.
func TestTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		dead := open(t, s, nil)
		for range 3 {
			defer open(t, s, s).close()
		}
		dead.begin()
		dead.close()
		time.Sleep(10 * time.Second)
		expect(t, s, begun)
		time.Sleep(20 * time.Second)
		expect(t, s, ended)
	})
}

// The next opener does not wait.
func TestFinishedByOpener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		dead := open(t, s, nil)
		dead.begin()
		dead.close()
		expect(t, s, begun)
		defer open(t, s, s).close()
		expect(t, s, ended)
	})
}

// away is a store whose log cannot be rewritten until it is back.
type away struct {
	*memstore.Store
	back time.Time
}

func (s away) Scrub(ctx context.Context, g string, t iris.Touching, edit func(iris.Entry) (iris.Entry, bool)) error {
	if time.Now().Before(s.back) {
		return fmt.Errorf("unavailable")
	}
	return s.Store.Scrub(ctx, g, t, edit)
}

// What fails is tried again, while the gateway is held open, though nobody uses it
// any more.
func TestTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		dead := open(t, s, nil)
		dead.begin()
		dead.close()
		in := open(t, s, away{s, time.Now().Add(time.Minute)})
		synctest.Wait()
		in.release()
		time.Sleep(50 * time.Second)
		expect(t, s, begun)
		time.Sleep(50 * time.Second)
		expect(t, s, ended)
		in.close()
	})
}

// A job that fails for ever does not hold its gateway for ever.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		dead := open(t, s, nil)
		dead.begin()
		dead.close()
		in := open(t, s, away{s, time.Now().Add(24 * time.Hour)})
		synctest.Wait()
		in.release()
		time.Sleep(time.Hour)
		if err := in.Call(t.Context(), func(*hub.Actor) {}); err == nil {
			t.Error("the gateway is still open")
		}
		expect(t, s, begun)
		in.close()
	})
}

// heard is the connection of a device that keeps what it is sent.
type heard struct{ frames chan string }

func (h heard) Write(_ context.Context, frame []byte) error       { h.frames <- string(frame); return nil }
func (h heard) WriteBinary(_ context.Context, frame []byte) error { return nil }
func (h heard) Close(int, string)                                 {}

// A gateway that closes may be opened anew before it has ended: what the older one
// still hears of a deletion takes nobody's answer who waits on the newer one.
func TestOpenedAnewWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		quiet := testenv.Logger(t, testenv.Gateways)
		ctx, cancel := context.WithCancel(t.Context())
		e := erase.New(ctx, away{s, time.Now().Add(time.Hour)}, nil, quiet)
		h := hub.New(hub.Config{Store: s, LogEntries: 64, Log: quiet})
		opened := func(h *hub.Hub) *hub.Gateway {
			g, release, err := h.Open(t.Context(), gateway)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				cancel()
				release()
				_ = h.Close(context.Background())
			})
			return g
		}
		older, newer := opened(hub.New(hub.Config{Store: s, LogEntries: 64, Log: quiet})), opened(h)
		begins := open(t, s, nil)
		defer begins.close()
		begins.begin()
		synctest.Wait()

		c := heard{make(chan string, 8)}
		w := &erase.Waiter{
			Device: &hub.Device{ID: "d1", Socket: h.NewSocket(ctx, c, nil)}, ID: wire.RequestID(`"w"`),
			Answer: wire.Encode(lane, wire.MessageDeleted{MessageIDs: []string{"m1"}}),
		}
		call := func(g *hub.Gateway, f func(a *hub.Actor)) {
			if err := g.Call(ctx, f); err != nil {
				t.Fatal(err)
			}
		}
		call(newer, func(a *hub.Actor) { e.Wait(a, w, "del_1") })
		call(older, func(a *hub.Actor) { e.Pending(a, false) })
		begins.append(hub.Draft{
			Control: []iris.Control{{Kind: iris.DeletionEnded, Deletion: &iris.Deletion{ID: "del_1"}}},
			Changes: []iris.Change{iris.EndDeletion{ID: "del_1"}},
		})
		synctest.Wait()
		call(newer, func(a *hub.Actor) { e.Pending(a, false) })
		synctest.Wait()
		if len(c.frames) != 1 || !strings.Contains(<-c.frames, `"id":"w"`) {
			t.Error("who waited has no answer")
		}
	})
}
