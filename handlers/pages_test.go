package handlers_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// weighing notes how many bytes the largest page of entries had that it gave, and
// how many pages there were.
type weighing struct {
	*memstore.Store
	most, pages atomic.Int64
}

func (s *weighing) Entries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error) {
	page, err := s.Store.Entries(ctx, g, after, limit)
	var size int64
	for _, e := range page {
		size += int64(len(strings.Join(e.Frames, "")) + len(strings.Join(e.Inbound, "")))
	}
	s.pages.Add(1)
	for most := s.most.Load(); size > most && !s.most.CompareAndSwap(most, size); most = s.most.Load() {
	}
	return page, err
}

// A log of large entries is replayed to a device, and its inbound brought to the
// host, without ever holding more of it than a page; a short page is not taken for
// the end.
func TestReplayHoldsAPage(t *testing.T) {
	t.Parallel()
	const entries = 20
	s := &weighing{Store: memstore.New()}
	in := startWith(t, s)
	g, hostToken := in.gateway()
	for n := range entries {
		cursor := int64(n + 2) // the gateway's row came with the first
		frame := wire.Encode(iris.Lane{ChatID: lane}, wire.Notification{Kind: "generic", Title: fmt.Sprint("n", n), Body: strings.Repeat("b", 400<<10)})
		item := fmt.Sprintf(`{"type":"inbound","kind":"message","chat_id":%q,"body":{"message_id":"m%d","text":%q}}`, lane, n, strings.Repeat("i", 200<<10))
		e := iris.Entry{Cursor: cursor, Writer: "elsewhere", First: 1, LastInbound: cursor, Frames: []string{frame}, Inbound: []string{item}}
		if err := s.Append(t.Context(), g, iris.Commit{Entry: e, Guard: cursor - 1}); err != nil {
			t.Fatal(err)
		}
	}
	phone := in.device(in.pair(g), "d1")
	phone.send(`{"type":"sync","id":1,"payload":{"cursor":0}}`)
	for n := range entries {
		if title := phone.next("notification").text("title"); title != fmt.Sprint("n", n) {
			t.Fatalf("%s came, want n%d", title, n)
		}
	}
	if done := phone.next("sync.done"); done.payload()["complete"] != true {
		t.Errorf("the replay is not complete: %v", done)
	}
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	for n := range entries {
		if body := host.next("inbound")["body"].(map[string]any); body["message_id"] != fmt.Sprint("m", n) {
			t.Fatalf("%v came, want m%d", body["message_id"], n)
		}
	}
	if most, pages := s.most.Load(), s.pages.Load(); most > 3<<20 || pages > entries {
		t.Errorf("%d pages, the largest of %d bytes; all entries have %d", pages, most, entries*600<<10)
	}
}
