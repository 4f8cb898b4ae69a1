package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
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

// However much the messages say, a page of them does not fill the device's queue,
// which would end the connection, each time anew: it is shorter, and the pages
// bring everything.
func TestHistoryOfLongMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	lane := iris.Lane{ChatID: lane}
	long := strings.Repeat("\x01", 60<<10) // six bytes each, in JSON
	const n = 120
	for part := range n / 10 {
		var changes []iris.Change
		for i := range 10 {
			changes = append(changes, iris.PutMessage{Message: iris.Message{
				ID: fmt.Sprintf("m%03d", part*10+i), Lane: lane, Role: iris.RoleUser, Text: long, Reasoning: "r",
			}})
		}
		w.append(changes)
	}
	before, want := "", n
	for more := true; more; {
		page := w.answered(w.ask("history", lane, fmt.Sprintf(`{"limit":200,"before_message_id":%q}`, before)), "history").payload()
		messages := page["messages"].([]any)
		if len(messages) == 0 || len(messages) > 9 {
			t.Fatalf("a page of %d messages", len(messages))
		}
		for i := len(messages) - 1; i >= 0; i-- {
			want--
			m := messages[i].(map[string]any)
			if m["message_id"] != fmt.Sprintf("m%03d", want) || m["text"] != long {
				t.Fatalf("%v, want message %d", m["message_id"], want)
			}
		}
		before, more = page["oldest_message_id"].(string), page["has_more"].(bool)
	}
	if want != 0 {
		t.Errorf("%d messages are missing", want)
	}
}
