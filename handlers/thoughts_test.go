package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"iris-gateway/cloudstore/memstore"
)

// An agent may think more than fits into an entry: its answer comes all the same.
func TestAnswerAfterMuchReasoning(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, hostToken := in.gateway()
	phone := in.device(in.pair(g), "d1")
	phone.next("status")
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	host.event(1, "turn.start", "tn1", `{"source":"user"}`)
	const calls = 20
	var all []string
	for n := range calls {
		thought := fmt.Sprintf("thought %d %s", n, strings.Repeat("x", 45<<10))
		all = append(all, thought)
		finish := "tool_calls"
		if n == calls-1 {
			finish = "stop"
			host.event(0, "send", "tn1", `{"message_id":"a1","text":"forty","streaming":true}`)
		}
		host.event(int64(2+n), "model.end", "tn1", fmt.Sprintf(`{"finish_reason":%q,"text":"","reasoning":%q}`, finish, thought))
	}
	host.event(2+calls, "answer", "tn1", `{"text":"forty-two"}`)
	host.event(3+calls, "edit", "tn1", `{"message_id":"a1","text":"forty-two","final":true}`)
	host.event(4+calls, "turn.end", "tn1", fmt.Sprintf(`{"outcome":"completed","reasoning":%q}`, strings.Join(all, "\n\n")))
	stop := phone.next("message.stop")
	if text := stop.text("final_text"); text != "forty-two" {
		t.Errorf("the answer is %q", text)
	}
	reasoning := stop.text("reasoning")
	if len(reasoning) > 200<<10 || !strings.HasPrefix(reasoning, "thought 0 ") || !strings.Contains(reasoning, "thought 19 ") {
		t.Errorf("of the reasoning %d bytes have come, its end %.40q", len(reasoning), reasoning[max(0, len(reasoning)-40):])
	}
	phone.next("agent.idle")
}
