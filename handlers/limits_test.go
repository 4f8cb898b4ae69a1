package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
)

func limited(cfg *handlers.Config) { cfg.RateLimits = true }

// 20 JSON frames a second with bursts of 100, over all connections of the
// device; what is too much is refused with its id, and the connection stays.
func TestFrameLimit(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New(), limited)
	g, _ := in.gateway()
	token := in.pair(g)
	phone, other := in.device(token, "d1"), in.device(in.pair(g), "d2")
	phone.next("status")
	other.next("status")
	const sent = 400
	for i := range sent {
		phone.send(`{"type":"ping","id":%d,"payload":{"ts":%d}}`, i, i)
	}
	pongs, refused := 0, 0
	for i := range sent {
		f := phone.until("answer", func(frame) bool { return true })
		if f["id"] != float64(i) {
			t.Fatalf("answer %d = %v", i, f)
		}
		if f.is("pong") {
			pongs++
			continue
		}
		refused++
		if after, _ := f.payload()["retry_after"].(float64); f.text("code") != "rate_limited" || after <= 0 || after > 1 {
			t.Fatalf("error = %v, want rate_limited with retry_after", f)
		}
	}
	if pongs < 100 || refused < 100 {
		t.Errorf("%d answered, %d refused, want a burst of 100", pongs, refused)
	}
	other.send(`{"type":"ping","id":1}`)
	if f := other.next("pong"); f["id"] != 1.0 {
		t.Errorf("the other device: %v", f)
	}
	// A new connection does not begin anew.
	again := in.device(token, "d1")
	again.next("status")
	for range 100 {
		again.send(`{"type":"ping","id":1}`)
	}
	again.next("error")
}

func TestMessageLimit(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New(), limited)
	g, _ := in.gateway()
	phone := in.device(in.pair(g), "d1")
	phone.next("status")
	for i := range 31 {
		phone.send(`{"type":"message.send","id":%d,"payload":{"text":"x"}}`, i)
	}
	f := phone.next("error")
	if after := f.payload()["retry_after"].(float64); f.text("code") != "rate_limited" || after <= 0 || after > 2.1 || !strings.Contains(f.text("message"), "30 messages") {
		t.Errorf("error = %v", f)
	}
	phone.send(`{"type":"ping","id":99}`)
	phone.next("pong")
}

// 20 connections a minute of a device; others of the same address come in.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New(), limited)
	g, _ := in.gateway()
	token := in.pair(g)
	for range 20 {
		p := in.device(token, "d1")
		p.next("status")
		p.drop()
	}
	p := in.device(token, "d1")
	if f := p.next("error"); f.text("code") != "rate_limited" || f.payload()["retry_after"] == nil {
		t.Errorf("error = %v", f)
	}
	if code := p.closeCode(); code != 4429 {
		t.Errorf("close code %d, want 4429", code)
	}
	in.device(in.pair(g), "d2").next("status")
}

// 10 failed hellos a minute of an address; with a good token one comes in all
// the same. Behind a proxy that can be trusted the last hop counts, which a
// client cannot forge; elsewhere the header says nothing.
func TestFailedHellos(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{true, false} {
		t.Run(fmt.Sprint("trusted ", trusted), func(t *testing.T) {
			t.Parallel()
			in := startWith(t, memstore.New(), limited, func(cfg *handlers.Config) { cfg.TrustForwarded = trusted })
			g, _ := in.gateway()
			fail := func(from string) websocket.StatusCode {
				t.Helper()
				ws, _, err := websocket.Dial(t.Context(), in.url+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"X-Forwarded-For": {from}}})
				if err != nil {
					t.Fatal(err)
				}
				defer ws.CloseNow()
				if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"hello","payload":{"token":"no","device_id":"d"}}`)); err != nil {
					t.Fatal(err)
				}
				for {
					if _, _, err := ws.Read(t.Context()); err != nil {
						return websocket.CloseStatus(err)
					}
				}
			}
			for i := range 10 {
				if code := fail(fmt.Sprintf("10.0.0.%d, 203.0.113.7", i)); code != 4401 {
					t.Fatalf("close code %d for failure %d, want 4401", code, i)
				}
			}
			if code := fail("1.2.3.4, 203.0.113.7"); code != 4429 {
				t.Errorf("close code %d for the eleventh, want 4429", code)
			}
			want := websocket.StatusCode(4429)
			if trusted {
				want = 4401
			}
			for _, from := range []string{"203.0.113.8", "2001:db8:1:2::3", "2001:db8:1:3::3"} {
				if code := fail(from); code != want {
					t.Errorf("close code %d from %s, want %d", code, from, want)
				}
			}
			in.device(in.pair(g), "d1").next("status")
		})
	}
}

// IPv6 addresses are counted by their network.
func TestFailedHellosIPv6(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New(), limited, func(cfg *handlers.Config) { cfg.TrustForwarded = true })
	var last websocket.StatusCode
	for i := range 11 {
		ws, _, err := websocket.Dial(t.Context(), in.url+"/host", &websocket.DialOptions{
			HTTPHeader: http.Header{"X-Forwarded-For": {fmt.Sprintf("2001:db8:1:2::%d", i)}}})
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, _, err := ws.Read(t.Context()); err != nil {
				last = websocket.CloseStatus(err)
				break
			}
		}
	}
	if last != 4429 {
		t.Errorf("the eleventh of one network ends with %d, want 4429", last)
	}
}

// Commit: "An item above 700 KiB is refused where it comes in, never queued: it
// would block everything behind it." It is dropped, a person is told, and what
// comes behind it goes on, with the next connection at the latest.
func TestItemTooLargeForTheLog(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	_, hostToken, phone, host := attached(in, in)
	host.event(1, "notice", "", fmt.Sprintf(`{"key":"k","text":%q}`, strings.Repeat("x", 800<<10)))
	f := phone.next("notification")
	if text := f.text("body"); !strings.Contains(text, "at most 716800 fit into an entry") {
		t.Errorf("notification of %d bytes, %.200q", len(text), text)
	}
	if code := host.closeCode(); code != 1001 {
		t.Errorf("close code %d, want 1001: connect again", code)
	}
	host, ack := in.host(hostToken, "e1", 2, 0, "")
	if ack["acked"] != 1.0 {
		t.Errorf("hello.ack = %v, want acked 1: what was dropped does not come again", ack)
	}
	host.event(2, "notice", "", `{"key":"k","text":"behind it"}`)
	if f := phone.next("notification"); f.text("body") != "behind it" {
		t.Errorf("notification = %v", f)
	}
	host.acked(2)
}

// The end of a turn is lost with an answer that is too large: the lane is not
// busy for ever.
func TestTurnEndTooLargeForTheLog(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	_, hostToken, phone, host := attached(in, in)
	host.event(1, "turn.start", "tn1", turnStart)
	host.event(0, "send", "tn1", `{"message_id":"a1","text":"x ▉","streaming":true}`)
	host.event(2, "edit", "tn1", fmt.Sprintf(`{"message_id":"a1","text":%q,"final":true}`, strings.Repeat("x", 800<<10)))
	host.event(3, "turn.end", "tn1", `{"outcome":"completed"}`)
	if code := host.closeCode(); code != 1001 {
		t.Errorf("close code %d, want 1001: connect again", code)
	}
	in.host(hostToken, "e1", 3, 0, "")
	phone.next("agent.idle")
}
