package handlers_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
)

// drain lets a device read on its own from now on; the returned channel gets
// the time of each frame of the kind.
func (p *peer) drain(kind string) <-chan time.Time {
	times := make(chan time.Time, 1<<16)
	go func() {
		for f := range p.frames {
			if f.is(kind) {
				times <- time.Now()
			}
		}
	}()
	return times
}

// BenchmarkEcho is a bare WebSocket round trip with this library on this
// machine: what the next one is to be compared with.
func BenchmarkEcho(b *testing.B) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		for {
			kind, data, err := ws.Read(context.Background())
			if err != nil || ws.Write(context.Background(), kind, data) != nil {
				return
			}
		}
	}))
	defer web.Close()
	p := dial(b, "echo", web.URL, "")
	for i := 0; b.Loop(); i++ {
		p.send(`{"type":"event","seq":0,"kind":"edit","body":{"message_id":"a1","text":"word %d"}}`, i)
		p.next("event")
	}
}

// BenchmarkEventToDevice is the way of a live event from the host to a device
// on the same instance: to be compared with BenchmarkEcho.
func BenchmarkEventToDevice(b *testing.B) {
	in := start(b, memstore.New())
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	phone := in.device(in.pair(g), "d1")
	phone.next("status")
	host.event(1, "turn.start", "tn1", `{"source":"user"}`)
	host.event(0, "send", "tn1", `{"message_id":"a1","text":"go","streaming":true}`)
	phone.next("message.update")
	for i := 0; b.Loop(); i++ {
		host.event(0, "edit", "tn1", fmt.Sprintf(`{"message_id":"a1","text":"word %d"}`, i))
		phone.next("message.update")
	}
}

// BenchmarkGroupCommit shows how many events of a host that wait go into one
// entry: proposals per commit grow with what waits.
func BenchmarkGroupCommit(b *testing.B) {
	for _, waiting := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			store := memstore.New()
			in := startWith(b, slowStore{store, 5 * time.Millisecond})
			g, hostToken := in.gateway()
			host, _ := in.host(hostToken, "e1", 0, 0, "")
			before, err := store.Head(b.Context(), g)
			if err != nil {
				b.Fatal(err)
			}
			seq := int64(0)
			for b.Loop() {
				for range waiting {
					seq++
					host.event(seq, "notice", "", fmt.Sprintf(`{"key":"k","text":"notice %d"}`, seq))
				}
				host.acked(seq)
			}
			after, err := store.Head(b.Context(), g)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(seq)/float64(after.Cursor-before.Cursor), "events/entry")
			b.ReportMetric(float64(seq)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkFanOut is one entry to many sockets, until the last has it.
func BenchmarkFanOut(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := start(b, memstore.New())
			g, hostToken := in.gateway()
			host, _ := in.host(hostToken, "e1", 0, 0, "")
			phones := make([]<-chan time.Time, n)
			for i := range phones {
				p := in.device(in.pair(g), fmt.Sprint("d", i))
				p.next("status")
				phones[i] = p.drain("notification")
			}
			seq := int64(0)
			for b.Loop() {
				seq++
				host.event(seq, "notice", "", `{"key":"k","text":"to all"}`)
				for _, times := range phones {
					<-times
				}
			}
		})
	}
}

// BenchmarkStalledDevice shows what the others notice of one device among a
// hundred that does not read: their p99 should not depend on it. Both gateways
// take turns, so that the ratio says little of what else the machine does.
func BenchmarkStalledDevice(b *testing.B) {
	in := start(b, memstore.New())
	calm, stalled := newCrowd(b, in, false), newCrowd(b, in, true)
	for b.Loop() {
		calm.tell("to all")
		stalled.tell("to all")
	}
	without, with := calm.p99(), stalled.p99()
	b.ReportMetric(float64(without.Microseconds()), "p99-without-µs")
	b.ReportMetric(float64(with.Microseconds()), "p99-with-µs")
	b.ReportMetric(float64(with)/float64(without), "ratio")
}

// crowd is a host and 99 devices that read, and perhaps one that does not.
type crowd struct {
	host   *peer
	seq    int64
	phones []<-chan time.Time
	delays []time.Duration // of all frames to all phones
}

func newCrowd(b *testing.B, in *instance, stalled bool) *crowd {
	g, hostToken := in.gateway()
	c := &crowd{phones: make([]<-chan time.Time, 99)}
	c.host, _ = in.host(hostToken, "e1", 0, 0, "")
	if stalled {
		in.stalledDevice(in.pair(g))
	}
	for i := range c.phones {
		p := in.device(in.pair(g), fmt.Sprint("d", i))
		p.next("status")
		c.phones[i] = p.drain("notification")
	}
	for range 12 { // 3 MiB: more than its connection holds, less than its queue
		c.tell(strings.Repeat("x", 256<<10))
	}
	c.delays = nil
	return c
}

// tell sends one notice and waits until all that read have it.
func (c *crowd) tell(text string) {
	c.seq++
	sent := time.Now()
	c.host.event(c.seq, "notice", "", fmt.Sprintf(`{"key":"k","text":%q}`, text))
	for _, times := range c.phones {
		c.delays = append(c.delays, (<-times).Sub(sent))
	}
}

func (c *crowd) p99() time.Duration {
	slices.Sort(c.delays)
	return c.delays[len(c.delays)*99/100]
}

// stalledDevice connects a device that never reads after its hello.
func (in *instance) stalledDevice(token string) {
	in.t.Helper()
	small := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		}
		return c, err
	}}
	ws, _, err := websocket.Dial(in.t.Context(), in.url+"/ws", &websocket.DialOptions{HTTPClient: &http.Client{Transport: small}})
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() { _ = ws.CloseNow() })
	hello := fmt.Appendf(nil, `{"type":"hello","payload":{"token":%q,"device_id":"stalled"}}`, token)
	if err := ws.Write(in.t.Context(), websocket.MessageText, hello); err != nil {
		in.t.Fatal(err)
	}
	if _, _, err := ws.Read(in.t.Context()); err != nil {
		in.t.Fatal(err)
	}
}

// BenchmarkIdleMemory reports what an idle socket and an idle gateway hold.
func BenchmarkIdleMemory(b *testing.B) {
	const n = 500
	b.Run("socket", func(b *testing.B) {
		for b.Loop() {
			in := start(b, memstore.New())
			g, _ := in.gateway()
			tokens := make([]string, n)
			for i := range tokens {
				tokens[i] = in.pair(g)
			}
			b.ReportMetric(held(func() { in.idle(tokens) })/n, "B/socket+client")
			in.stop()
		}
	})
	b.Run("gateway", func(b *testing.B) {
		for b.Loop() {
			in := start(b, memstore.New())
			tokens := make([]string, n)
			for i := range tokens {
				g, _ := in.gateway()
				tokens[i] = in.pair(g)
			}
			b.ReportMetric(held(func() { in.idle(tokens) })/n, "B/gateway+socket+client")
			in.stop()
		}
	})
}

// idle connects a device with each token.
func (in *instance) idle(tokens []string) {
	var wait sync.WaitGroup
	for i, token := range tokens {
		wait.Go(func() { in.device(token, fmt.Sprint("d", i)).next("status") })
	}
	wait.Wait()
}

// held returns how much more memory is in use after f than before.
func held(f func()) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return float64(after.HeapAlloc+after.StackInuse) - float64(before.HeapAlloc+before.StackInuse)
}
