package handlers_test

import (
	"fmt"
	"testing"

	"iris-gateway/cloudstore/memstore"
)

// Messages sent at once come back in the order in which they were sent, page
// by page.
func TestHistoryKeepsTheOrder(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, _ := in.gateway()
	phone := in.device(in.pair(g), "d1")
	phone.next("status")
	const n = 50
	for i := range n {
		phone.send(`{"type":"message.send","id":%d,"payload":{"text":"message %d"}}`, i, i)
	}
	for range n {
		phone.next("message")
	}
	before, want := "", n
	for want > 0 {
		phone.send(`{"type":"history","id":"h","payload":{"limit":20,"before_message_id":%q}}`, before)
		page := phone.next("history").payload()
		messages := page["messages"].([]any)
		for i := len(messages) - 1; i >= 0; i-- {
			want--
			if text := messages[i].(map[string]any)["text"]; text != fmt.Sprintf("message %d", want) {
				t.Fatalf("%v, want message %d", text, want)
			}
		}
		before = page["oldest_message_id"].(string)
		if more := page["has_more"]; more != (want > 0) {
			t.Fatalf("has_more %v with %d messages left", more, want)
		}
	}
}
