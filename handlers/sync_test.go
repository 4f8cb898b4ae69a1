package handlers_test

import (
	"fmt"
	"testing"

	"iris-gateway/cloudstore/memstore"
)

// Each sync is answered, and however many come, live frames flow afterwards.
func TestSyncsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, _ := in.gateway()
	phone := in.device(in.pair(g), "d1")
	phone.next("status")
	for round := range 20 {
		for i := range 3 {
			phone.send(`{"type":"sync","id":"%d-%d","payload":{"cursor":0}}`, round, i)
		}
		for i := range 3 {
			f := phone.next("sync.done")
			if f["id"] != fmt.Sprintf("%d-%d", round, i) || f.payload()["complete"] != true {
				t.Fatalf("sync.done = %v, want the answer to %d-%d", f, round, i)
			}
		}
		phone.send(`{"type":"message.send","payload":{"text":"no id: comes live"}}`)
		phone.next("message")
	}
}

// A cursor that the log no longer holds, or never held, is said to be incomplete.
func TestSyncIsHonest(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New()) // keeps 64 entries
	_, _, phone, host := attached(in, in)
	for i := range int64(100) {
		host.event(i+1, "notice", "", `{"key":"k","text":"fills the log"}`)
		phone.next("notification")
	}
	for cursor, complete := range map[int]bool{0: false, 5: false, 99: true, 1000: false} {
		phone.send(`{"type":"sync","id":%d,"payload":{"cursor":%d}}`, cursor, cursor)
		done := phone.next("sync.done")
		if done["id"] != float64(cursor) || done.payload()["complete"] != complete {
			t.Errorf("sync from %d: %v, want complete %v", cursor, done, complete)
		}
		if c := done.payload()["cursor"].(float64); c < 100 || c > 110 {
			t.Errorf("sync.done from %d has cursor %v", cursor, c)
		}
	}
	phone.send(`{"type":"sync","id":"all","payload":{"cursor":90}}`)
	last := 90.0
	phone.until("sync.done", func(f frame) bool {
		if c, ok := f["cursor"].(float64); ok {
			if c < last {
				t.Errorf("replayed cursor %v after %v", c, last)
			}
			last = c
		}
		return f.is("sync.done")
	})
}
