package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
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
// hundred that does not read: their p99 should not depend on it.
func BenchmarkStalledDevice(b *testing.B) {
	for _, stalled := range []bool{false, true} {
		b.Run(fmt.Sprintf("stalled=%v", stalled), func(b *testing.B) {
			in := start(b, memstore.New())
			g, hostToken := in.gateway()
			host, _ := in.host(hostToken, "e1", 0, 0, "")
			if stalled {
				in.stalledDevice(in.pair(g))
			}
			phones := make([]<-chan time.Time, 99)
			for i := range phones {
				p := in.device(in.pair(g), fmt.Sprint("d", i))
				p.next("status")
				phones[i] = p.drain("notification")
			}
			var delays []time.Duration
			seq := int64(0)
			for b.Loop() {
				seq++
				sent := time.Now()
				host.event(seq, "notice", "", `{"key":"k","text":"to all"}`)
				for _, times := range phones {
					delays = append(delays, (<-times).Sub(sent))
				}
			}
			slices.Sort(delays)
			b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// stalledDevice connects a device that never reads after its hello.
func (in *instance) stalledDevice(token string) {
	in.t.Helper()
	ws, _, err := websocket.Dial(in.t.Context(), in.url+"/ws", nil)
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
