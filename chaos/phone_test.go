package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// phone is a simulated device. It connects anywhere, leaves without a word,
// sends each of its letters until it is answered, and keeps all that it gets.
type phone struct {
	t         testing.TB
	id, token string
	instances []*instance
	rng       *rand.Rand
	readers   sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something came
	letters []*letter
	visits  []*visit
	stale   []*socket
	cursor  *int64 // last sync.done
	refused int    // answers that were errors
	again   int    // letters that were sent more than once
}

// letter is a message that a person wrote.
type letter struct {
	id, text string // id is the client_id
	tries    int
	answered bool
}

func newPhone(t testing.TB, id, token string, instances []*instance, rng *rand.Rand) *phone {
	return &phone{t: t, id: id, token: token, instances: instances, rng: rng, changed: make(chan struct{})}
}

// between draws a duration.
func between(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)+1))
}

// run lives until calm is closed and every letter is answered, or ctx ends.
func (p *phone) run(ctx context.Context, calm <-chan struct{}) {
	for ctx.Err() == nil && (!closed(calm) || len(p.waiting()) > 0) {
		p.stay(ctx, calm)
		wait(ctx.Done(), between(p.rng, 10*time.Millisecond, 300*time.Millisecond))
	}
	p.mu.Lock()
	stale := p.stale
	p.mu.Unlock()
	for _, s := range stale {
		_ = s.CloseNow()
	}
	p.readers.Wait()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// stay is one visit: hello, sync, some letters, and a way to leave.
func (p *phone) stay(ctx context.Context, calm <-chan struct{}) {
	s, v := p.enter(ctx)
	if s == nil {
		return
	}
	patience := between(p.rng, 500*time.Millisecond, 4*time.Second)
	ok := p.await(ctx, v, patience, func() bool { return v.acked })
	if ok && p.rng.IntN(8) == 0 { // one that comes late, or never
		ok = wait(ctx.Done(), between(p.rng, 0, 3*time.Second))
	}
	for i := 0; ok && i <= p.rng.IntN(6)/5; i++ { // some ask twice
		ok = p.sync(s, v, p.rng.IntN(4) > 0)
	}
	until := time.Now().Add(between(p.rng, 100*time.Millisecond, 5*time.Second))
	for ok && ctx.Err() == nil && (closed(calm) || time.Now().Before(until)) {
		letters := p.next(!closed(calm))
		if len(letters) == 0 {
			break
		}
		for _, l := range letters {
			ok = ok && p.write(s, v, l)
		}
		ok = ok && p.await(ctx, v, patience, func() bool { return !slices.ContainsFunc(letters, (*letter).waits) }) &&
			wait(ctx.Done(), between(p.rng, 0, 300*time.Millisecond))
	}
	p.leave(s)
}

// enter connects to some instance and says hello. It returns nil if there is
// nobody.
func (p *phone) enter(ctx context.Context) (*socket, *visit) {
	in := p.instances[p.rng.IntN(len(p.instances))]
	s, err := dial(ctx, in, "/ws", "")
	if err != nil {
		return nil, nil
	}
	p.mu.Lock()
	v := &visit{phone: p.id, n: len(p.visits), instance: in.name, syncs: map[string]*int64{}}
	p.visits = append(p.visits, v)
	p.mu.Unlock()
	p.readers.Go(func() { p.read(s, v) })
	hello := fmt.Sprintf(`{"v":1,"type":"hello","id":"h","payload":{"token":%q,"device_id":%q,"device_name":"Phone"}}`, p.token, p.id)
	if s.send([]byte(hello)) != nil {
		_ = s.CloseNow()
		return nil, nil
	}
	return s, v
}

// leave ends a visit in one of the ways that phones have.
func (p *phone) leave(s *socket) {
	switch p.rng.IntN(4) {
	case 0:
		s.vanish()
	case 1: // it forgets the connection, which lives on beside the next one
		p.mu.Lock()
		p.stale = append(p.stale, s)
		p.mu.Unlock()
	case 2:
		_ = s.Close(websocket.StatusNormalClosure, "")
	default:
		_ = s.CloseNow()
	}
}

// sync asks for what was missed: since the last sync, or since what the
// gateway knows.
func (p *phone) sync(s *socket, v *visit, known bool) bool {
	p.mu.Lock()
	id := fmt.Sprint("s", len(v.syncs))
	payload := "{}"
	if v.syncs[id] = nil; known && p.cursor != nil {
		v.syncs[id] = p.cursor
		payload = fmt.Sprintf(`{"cursor":%d}`, *p.cursor)
	}
	p.mu.Unlock()
	return s.send(fmt.Appendf(nil, `{"v":1,"type":"sync","id":%q,"payload":%s}`, id, payload)) == nil
}

// waits reports whether the letter has no answer.
func (l *letter) waits() bool { return !l.answered }

// waiting returns the letters that have no answer.
func (p *phone) waiting() []*letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*letter
	for _, l := range p.letters {
		if l.waits() {
			all = append(all, l)
		}
	}
	return all
}

// next returns what to send: the letters without an answer, and if fresh is
// allowed some new ones, or an old one once more.
func (p *phone) next(fresh bool) []*letter {
	letters := p.waiting()
	if len(letters) > 0 || !fresh {
		return letters
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.letters); n > 0 && p.rng.IntN(8) == 0 {
		l := p.letters[p.rng.IntN(n)]
		l.answered = false
		return append(letters, l)
	}
	for range 1 + p.rng.IntN(3)*p.rng.IntN(3) {
		letters = append(letters, p.newLetter(len(p.letters)))
	}
	return letters
}

// newLetter writes one. The caller holds the mutex.
func (p *phone) newLetter(n int) *letter {
	l := &letter{id: fmt.Sprintf("c%d", n), text: fmt.Sprintf("letter %d of %s %s", n, p.id, strings.Repeat("x", p.rng.IntN(400)))}
	p.letters = append(p.letters, l)
	return l
}

func (p *phone) write(s *socket, v *visit, l *letter) bool {
	p.mu.Lock()
	if l.tries++; l.tries > 1 {
		p.again++
	}
	p.mu.Unlock()
	return s.send(fmt.Appendf(nil, `{"v":1,"type":"message.send","id":%q,"payload":{"text":%q,"client_id":%q}}`, l.id, l.text, l.id)) == nil
}

// await waits until cond, which is called under the mutex, holds. It gives up
// when the connection or ctx ends, or after d.
func (p *phone) await(ctx context.Context, v *visit, d time.Duration, cond func() bool) bool {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	for {
		p.mu.Lock()
		ok, ended, changed := cond(), v.ended != nil, p.changed
		p.mu.Unlock()
		if ok || ended {
			return ok
		}
		select {
		case <-changed:
		case <-timeout.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// read takes frames until the connection ends.
func (p *phone) read(s *socket, v *visit) {
	for {
		kind, data, err := s.Read(context.Background())
		p.mu.Lock()
		if err != nil {
			v.ended = err
		} else if kind == websocket.MessageBinary {
			v.bytes = append(v.bytes, data...)
		} else if f, bad := parseFrame(data); bad != nil {
			p.t.Errorf("%s got a frame that is no JSON: %v: %s", p.id, bad, data)
		} else {
			v.frames = append(v.frames, f)
			p.take(v, f)
		}
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			_ = s.CloseNow()
			return
		}
	}
}

// take notes what a frame means for the phone.
func (p *phone) take(v *visit, f frame) {
	switch f.Type {
	case "hello.ack":
		ack, err := decode[wire.HelloAck](f)
		if err != nil {
			p.t.Errorf("%s: hello.ack: %v", p.id, err)
		}
		v.acked, v.base = true, ack.SyncCursor
	case "sync.done":
		done, _ := f.syncDone()
		v.done++
		if p.cursor == nil || *p.cursor < done.Cursor {
			p.cursor = &done.Cursor
		}
	case "message":
		p.answered(f)
	case "error":
		p.takeError(v, f)
	}
}

// answered notes the answer to a letter, which must be the original.
func (p *phone) answered(f frame) {
	for _, l := range p.letters {
		if f.ID != l.id {
			continue
		}
		l.answered = true
		m, err := decode[wire.Message](f)
		if want := iris.ClientMessageID(p.id, l.id); err != nil || m.MessageID != want || m.Text != l.text || m.Role != iris.RoleUser {
			p.t.Errorf("%s: letter %s was answered by %s, want message %s with its text", p.id, l.id, f.Text, want)
		}
	}
}

// takeError judges an error: a gateway in trouble may say so, nothing else.
func (p *phone) takeError(v *visit, f frame) {
	p.refused++
	e, err := decode[wire.Error](f)
	if err != nil || e.Code != iris.CodeInternal {
		p.t.Errorf("%s, visit %d to %s: error %s", p.id, v.n, v.instance, f.Payload)
	}
}

// finish connects once more, syncs at least up to head, and leaves properly.
func (p *phone) finish(ctx context.Context, head int64) error {
	defer p.readers.Wait()
	for ctx.Err() == nil {
		s, v := p.enter(ctx)
		if s == nil {
			wait(ctx.Done(), 50*time.Millisecond)
			continue
		}
		ok := p.await(ctx, v, 10*time.Second, func() bool { return v.acked }) && p.sync(s, v, true) &&
			p.await(ctx, v, 10*time.Second, func() bool { return v.done > 0 && *p.cursor >= head })
		_ = s.Close(websocket.StatusNormalClosure, "")
		if ok {
			return nil
		}
	}
	return fmt.Errorf("%s could not sync to %d", p.id, head)
}
