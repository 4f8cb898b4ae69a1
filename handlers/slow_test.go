package handlers_test

import (
	"fmt"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
)

// A device that does not keep up is cut, keeps nobody waiting, and gets
// everything by sync.
func TestSlowDeviceResumes(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New())
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	token := in.pair(g)
	slow, _, err := websocket.Dial(t.Context(), in.url+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.CloseNow()
	hello := fmt.Appendf(nil, `{"type":"hello","payload":{"token":%q,"device_id":"slow"}}`, token)
	if err := slow.Write(t.Context(), websocket.MessageText, hello); err != nil {
		t.Fatal(err)
	}
	if _, _, err := slow.Read(t.Context()); err != nil { // hello.ack; then it stops reading
		t.Fatal(err)
	}
	quick := in.device(in.pair(g), "quick")
	quick.next("status")

	const notices = 40 // of 256 KiB: more than the queue and the kernel hold
	big := make([]byte, 256<<10)
	for i := range big {
		big[i] = 'x'
	}
	for i := range int64(notices) {
		host.event(i+1, "notice", "", fmt.Sprintf(`{"key":"n%d","text":"%s"}`, i, big))
		quick.next("notification")
	}
	slow.SetReadLimit(-1)
	for {
		if _, _, err = slow.Read(t.Context()); err != nil {
			break
		}
	}
	if code := websocket.CloseStatus(err); code != 1013 && code != -1 {
		t.Errorf("slow device closed with %d, want 1013 or a cut", code)
	}

	again := in.device(token, "slow")
	cursor := again.next("hello.ack").payload()["sync_cursor"].(float64)
	again.send(`{"type":"sync","id":1,"payload":{"cursor":%v}}`, cursor)
	next := 0
	done := again.until("sync.done", func(f frame) bool {
		if f.is("notification") {
			if want := fmt.Sprintf("n%d", next); f.text("title") == want {
				next++
			}
		}
		return f.is("sync.done")
	})
	if next != notices || done.payload()["complete"] != true {
		t.Errorf("sync brought notices up to %d of %d in order, sync.done = %v", next, notices, done)
	}
}
