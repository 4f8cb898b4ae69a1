package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// dying is an instance's way to the store. The instance dies with its n-th
// write, which lands or does not; nothing of it lands after.
type dying struct {
	*memstore.Store
	lands bool

	mu    sync.Mutex
	armed bool // writes count from now on
	left  int
	dead  chan struct{} // closed when it has died
}

var errDead = errors.New("the instance is dead")

// write does a write, unless the instance is dead or dies before it.
func (m *dying) write(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.armed {
		return do()
	}
	if m.left--; m.left > 0 {
		return do()
	}
	var err error
	if m.left == 0 {
		if m.lands {
			err = do()
		}
		close(m.dead)
	}
	return errors.Join(errDead, err)
}

func (m *dying) Append(ctx context.Context, g string, c iris.Commit) error {
	var refused error
	err := m.write(func() error { refused = m.Store.Append(ctx, g, c); return refused })
	if errors.Is(err, errDead) {
		return fmt.Errorf("%w: %w", iris.ErrNoAnswer, errDead)
	}
	return refused
}

func (m *dying) Scrub(ctx context.Context, g string, t iris.Touching, edit func(iris.Entry) (iris.Entry, bool)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return m.Store.Scrub(ctx, g, t, func(e iris.Entry) (iris.Entry, bool) {
		edited, changed := edit(e)
		if !changed {
			return e, false
		}
		lands := false
		if err := m.write(func() error { lands = true; return nil }); err != nil {
			cancel(err)
		}
		return edited, lands
	})
}

func (m *dying) EditLive(ctx context.Context, g, turn string, edit func(iris.Live) (iris.Live, bool)) error {
	return m.write(func() error { return m.Store.EditLive(ctx, g, turn, edit) })
}

func (m *dying) DropLive(ctx context.Context, g, turn string) error {
	return m.write(func() error { return m.Store.DropLive(ctx, g, turn) })
}

// arm lets the instance die with its n-th write from now on; 0 = not any more.
func (m *dying) arm(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.armed, m.left = n > 0, n
}

// doomedWorld is a gateway with something to delete, whose instance can die.
type doomedWorld struct {
	*world
	*everywhere
	dying   *dying
	request string
	lane    iris.Lane
	payload string
	resend  string // of a message that is deleted
	token   string // of the device that asks
	cursor  int64
}

const doomedSecret = "xyzzysecret"

func newDoomed(t *testing.T, request string, lands bool) *doomedWorld {
	t.Helper()
	m := &dying{Store: memstore.New(), lands: lands, dead: make(chan struct{})}
	e := inMemory(t, m.Store)
	w := &world{T: t, in: startWith(t, m, e.logged), store: m.Store, seen: map[string]bool{}, vars: map[string]string{}}
	w.g, _ = w.in.gateway()
	d := &doomedWorld{world: w, everywhere: e, dying: m, request: request, token: w.in.pair(w.g)}
	w.phone = w.in.device(d.token, "phone")
	w.phone.next("status")
	switch request {
	case "message.delete":
		d.resend = fmt.Sprintf(`{"text":"%s","auto_thread":true,"client_id":"c"}`, doomedSecret)
		m := w.ask("message.send", iris.Lane{}, d.resend)
		d.lane = iris.Lane{ChatID: lane, ThreadID: m["thread_id"].(string)}
		d.payload = messageIDs(m.text("message_id"), "being written")
		w.ask("message.send", d.lane, fmt.Sprintf(`{"text":"why","reply_to":%q}`, m.text("message_id")))
		w.live(d.lane, liveData("being written"))
	case "channel.delete":
		made := w.ask("channel.create", iris.Lane{}, fmt.Sprintf(`{"name":"%s"}`, doomedSecret))
		d.lane = iris.Lane{ChatID: made.text("chat_id")}
		thread := w.ask("channel.create", d.lane, fmt.Sprintf(`{"name":"%s","kind":"thread"}`, doomedSecret)).text("thread_id")
		d.resend = fmt.Sprintf(`{"text":"%s","client_id":"c"}`, doomedSecret)
		w.ask("message.send", d.lane, d.resend)
		in := iris.Lane{ChatID: d.lane.ChatID, ThreadID: thread}
		w.ask("message.send", in, fmt.Sprintf(`{"text":"%s"}`, doomedSecret))
		frame := wire.Encode(in, wire.PickerClarify{PickerID: "p", Question: doomedSecret})
		w.append([]iris.Change{iris.PutPicker{Picker: iris.Picker{ID: "p", Lane: in, Frame: frame}}}, frame)
		w.phone.next("picker.clarify")
		w.live(in, liveData("being written"))
		d.payload = `{}`
	}
	d.there(doomedSecret)
	d.cursor = w.head()
	return d
}

// liveData is the data of a live document with a message.
func liveData(message string) string {
	return fmt.Sprintf(`{"turn":"tn","messages":[{"message_id":%q,"text":"%s"}]}`, message, doomedSecret)
}

func (w *world) live(l iris.Lane, data string) {
	w.Helper()
	leaveLive(w.T, w.store, w.g, iris.Live{Turn: "tn", Lane: l, Data: data})
}

// leaveLive makes a live document as if the instance did that has the host.
func leaveLive(t *testing.T, s store, g string, l iris.Live) {
	t.Helper()
	gw, err := s.Gateway(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	l.Writer = gw.Host.Link.Instance
	if err := s.CreateLive(t.Context(), g, l); err != nil {
		t.Fatal(err)
	}
}

// ended waits until nothing is left to do, and looks at all that must be so.
func (d *doomedWorld) ended() {
	t := d.world.T
	t.Helper()
	waitFor(t, "the end of the deletion", func() bool {
		left, err := d.world.store.Deletions(t.Context(), d.g)
		return err == nil && len(left) == 0
	})
	d.gone(doomedSecret)
	d.once(strings.Replace(d.request, ".delete", ".deleted", 1), 1)
	told := 0
	for _, e := range d.dense() {
		for _, item := range e.Inbound {
			if strings.HasPrefix(item, `{"kind":"delete"`) || strings.HasPrefix(item, `{"kind":"lane.delete"`) {
				told++
			}
		}
	}
	if told != 1 {
		t.Errorf("the host is told %d times", told)
	}
}

// "Deleting while the gateway is killed at each step": the instance that began
// dies with each of its writes, landed or not. The next one that opens the
// gateway, or has it open and is asked again, brings it to its end: gone,
// broadcast once, no hole in the log, and a late resend is answered.
func TestDeleteKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"message.delete", "channel.delete"} {
		for _, lands := range []bool{false, true} {
			for _, open := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/lands=%v/open=%v", request, lands, open), func(t *testing.T) {
					t.Parallel()
					steps := 0
					for n := 1; killAt(t, request, lands, open, n); n++ {
						steps = n
					}
					if least := 5; steps < least {
						t.Errorf("died at %d steps, there must be %d at least", steps, least)
					}
					t.Logf("%d steps", steps)
				})
			}
		}
	}
}

// killAt reports whether the instance had an n-th write to die with.
func killAt(t *testing.T, request string, lands, open bool, n int) (died bool) {
	t.Helper()
	d := newDoomed(t, request, lands)
	var next *instance
	var witness *peer
	if open {
		next = startWith(t, d.world.store, d.everywhere.logged)
		witness = next.device(next.pair(d.g), "witness")
		witness.next("status")
	}
	d.dying.arm(n)
	d.phone.send(`{"type":%q,"id":"d","chat_id":%q,"thread_id":%q,"payload":%s}`, request, d.lane.ChatID, d.lane.ThreadID, d.payload)
	answered := make(chan frame, 1)
	go func() {
		for f := range d.phone.frames {
			if f["id"] == "d" {
				answered <- f
				return
			}
		}
	}()
	select {
	case f := <-answered:
		if f.is("error") {
			t.Fatalf("step %d: answered with %v", n, f)
		}
		d.dying.arm(0)
		d.ended()
		return false
	case <-d.dying.dead:
	}
	d.in.kill()
	if !open {
		next = startWith(t, d.world.store, d.everywhere.logged)
	}
	phone := next.device(d.token, "phone")
	phone.next("status")
	begun := n > 1 || lands
	if open || !begun { // it asks again, since it got no answer
		f := ask(phone, request, d.lane, d.payload)
		if !f.is(strings.Replace(request, ".delete", ".deleted", 1)) && (request == "message.delete" || f.text("code") != "not_found") {
			t.Errorf("step %d: asked again, answered with %v", n, f)
		}
	}
	d.ended()
	if f := ask(phone, "message.send", resendLane(d), d.resend); !f.is("message.deleted") {
		t.Errorf("step %d: a late resend is answered with %v", n, f)
	}
	d.gone(doomedSecret)
	d.synced(phone, witness, request)
	if t.Failed() {
		t.Fatalf("died with write %d (landed: %v, open elsewhere: %v)", n, lands, open)
	}
	return true
}

func resendLane(d *doomedWorld) iris.Lane {
	if d.request == "channel.delete" {
		return d.lane
	}
	return iris.Lane{}
}

// synced fails unless a device that comes back, and one that was there, hear of
// the deletion once by the log.
func (d *doomedWorld) synced(phone, witness *peer, request string) {
	t := d.world.T
	t.Helper()
	kind := strings.Replace(request, ".delete", ".deleted", 1)
	phone.send(`{"type":"sync","id":"s","payload":{"cursor":%d}}`, d.cursor)
	var heard []frame
	phone.until("sync.done", func(f frame) bool {
		if f.is(kind) && f["cursor"] != nil {
			heard = append(heard, f)
		}
		return f["id"] == "s"
	})
	if len(heard) != 1 {
		t.Errorf("the phone hears %v of it", heard)
	}
	if witness == nil {
		return
	}
	witness.send(`{"type":"ping","id":"p","payload":{}}`)
	n := 0
	witness.until("pong", func(f frame) bool {
		if f.is(kind) {
			n++
		}
		return f["id"] == "p"
	})
	if n != 1 {
		t.Errorf("the witness hears of it %d times", n)
	}
}

// gated lets a commit wait.
type gated struct {
	*memstore.Store
	mu      sync.Mutex
	match   func(iris.Commit) bool
	arrived chan struct{}
	gate    chan struct{}
}

func (s *gated) Append(ctx context.Context, g string, c iris.Commit) error {
	s.mu.Lock()
	wait := s.match != nil && s.match(c)
	if wait {
		s.match = nil
		close(s.arrived)
	}
	s.mu.Unlock()
	if wait {
		<-s.gate
	}
	return s.Store.Append(ctx, g, c)
}

// The end of a turn is on its way into the log when another instance deletes its
// message, or the lane: it lands behind, without what is gone, and the lane does
// not stay busy.
func TestDeleteOvertakesHost(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"message.delete", "channel.delete"} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			s := &gated{Store: memstore.New(), arrived: make(chan struct{}), gate: make(chan struct{})}
			e := inMemory(t, s)
			w := newWorld(t, s, e.logged)
			there := startWith(t, s.Store, e.logged)
			phone := there.device(there.pair(w.g), "there")
			phone.next("status")
			l := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, `{"name":"c"}`).text("chat_id")}
			phone.next("channel.created")
			w.tell(l, "turn.start", "tn", `{"source":"user"}`)
			w.tell(l, "edit", "tn", fmt.Sprintf(`{"message_id":"a1","text":"%s","final":true}`, doomedSecret))
			s.mu.Lock()
			s.match = func(c iris.Commit) bool { return slices.Contains(c.Entry.Messages, "a1") }
			s.mu.Unlock()
			w.seq++
			w.host.send(`{"type":"event","seq":%d,"at":5,"kind":"turn.end","chat_id":%q,"turn":"tn","body":{"outcome":"completed"}}`, w.seq, l.ChatID)
			<-s.arrived
			if f := ask(phone, request, l, messageIDs("a1")); f.is("error") {
				t.Fatalf("answered with %v", f)
			}
			close(s.gate)
			w.host.acked(w.seq)
			if request == "message.delete" {
				phone.next("agent.idle")
			}
			e.gone(doomedSecret)
			w.once("message.stop", 0)
			channels, err := s.Channels(t.Context(), w.g)
			for _, c := range channels {
				if err != nil || c.Busy != "" {
					t.Errorf("%+v is busy, %v", c, err)
				}
			}
		})
	}
}
