package turn_test

import (
	"testing"

	"iris-gateway/handlers/link"
)

// TestDrop: a message that a person deletes while it is written gets no more
// frames, nor does another one get its text; the turn goes on.
func TestDrop(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.start(link.SourceUser)
	h.event("send", `{"message_id":"b","text":"Before ▉","streaming":true}`, `~ message.start {"message_id":"b"`, `~ message.update`, typingOff, stopped)
	h.event("send", `{"message_id":"a","text":"The sec ▉","streaming":true}`, `~ message.start {"message_id":"a"`, `~ message.update`)
	h.event("model.end", `{"finish_reason":"stop","text":"The secret","reasoning":"secret"}`)
	h.machine.Drop([]string{"a", "unknown"})
	h.event("send", `{"message_id":"a","text":"The sec ▉","streaming":true}`)
	h.event("edit", `{"message_id":"a","text":"The secret","final":true}`)
	h.event("answer", `{"text":"The secret"}`)
	h.event("turn.end", `{"outcome":"completed","reasoning":"secret"}`, `* message.stop {"message_id":"b","final_text":"Before"} push`, idle)

	h.eventOf("tn_2", "turn.start", `{"source":"user"}`, `* agent.busy {"reason":"processing"} busy="tn_2"`, typing)
	h.eventOf("tn_2", "edit", `{"message_id":"c","text":"The secret","final":true}`, `~ message.start {"message_id":"c"`, `~ message.update`, typingOff, stopped)
	h.machine.Drop([]string{"c"})
	h.eventOf("tn_2", "answer", `{"text":"The secret"}`)
	h.eventOf("tn_2", "turn.end", `{"outcome":"completed"}`, idle)
}
