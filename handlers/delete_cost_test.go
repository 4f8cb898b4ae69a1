package handlers_test

import (
	"fmt"
	"testing"

	"iris-gateway/cloudstore"
	"iris-gateway/iris"
)

// What a deletion costs depends on what is deleted, not on how much there is
// beside it: a message in a full log and a long history, and a channel by its size.
func TestOperationsOfADeletion(t *testing.T) {
	t.Parallel()
	store, spent := counting(t)
	w := newWorld(t, store)
	channel := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, `{"name":"c"}`).text("chat_id")}
	var last string
	for i := range 80 { // the log keeps 64
		last = w.ask("message.send", iris.Lane{}, fmt.Sprintf(`{"text":"message %d"}`, i)).text("message_id")
		if i%8 == 0 {
			w.ask("message.send", channel, `{"text":"in the channel"}`)
		}
	}
	cost := func(kind string, l iris.Lane, payload string, reads, writes int) {
		t.Helper()
		w.collect(w.phone)
		spent.take()
		if f := w.ask(kind, l, payload); f.is("error") {
			t.Fatalf("answered with %v", f)
		}
		named, sum := spent.take()
		// The guard and the devices' cursors come as they come.
		own := sum[cloudstore.Write] - named["write devices"] - named["write guard"]
		if sum[cloudstore.Read] > reads || own > writes {
			t.Errorf("%s: %d reads, %d writes of its own, at most %d and %d are right: %v", kind, sum[cloudstore.Read], own, reads, writes, named)
		}
		t.Logf("%s: %v", kind, named)
	}
	// Reads: the message's row, the deletion, the live documents, two entries that name
	// the message. Writes: two entries, tombstone, deletion, scrub of one entry.
	cost("message.delete", iris.Lane{}, messageIDs(last), 5, 5)
	cost("message.delete", iris.Lane{}, messageIDs(last), 1, 0) // again
	// Ten messages and the end of them, the directory, and the entries of the lane
	// that the log still has.
	cost("channel.delete", channel, `{}`, 30, 27)
}
