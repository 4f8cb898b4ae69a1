package turn_test

import (
	"testing"

	"iris-gateway/handlers/link"
)

// TestFooter: what stands around an answer is what its model calls told, unless
// the end of the turn knows better; and the reasoning that stood in front of its
// text, if nobody told any.
func TestFooter(t *testing.T) {
	t.Parallel()
	const told = `{"finish_reason":"stop","text":"One.","model":"acme/m1","usage":{"output":3},"reasoning":"hm"}`
	for _, c := range []struct{ name, model, end, footer string }{
		{"the end says nothing", told, `{"outcome":"completed"}`, `"reasoning":"hm","model":"m1","tokens":3}`},
		{
			"the end says all", told, `{"outcome":"completed","tokens":5,"reasoning":"so","runtime":{"model":"m2","context_pct":12.6}}`,
			`"reasoning":"so","model":"m2","tokens":5,"runtime":{"model":"m2","context_pct":13`,
		},
		{"the end says where, not who", told, `{"outcome":"completed","runtime":{"cwd":"/"}}`, `"reasoning":"hm","model":"m1","tokens":3,"runtime":{"cwd":"/"`},
		{"nobody says anything", `{"finish_reason":"stop","text":"One."}`, `{"outcome":"completed"}`, `"reasoning":"shown"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.start(link.SourceUser)
			h.event("edit", `{"message_id":"a","text":"💭 **Reasoning:**\n`+"```"+`\nshown\n`+"```"+`\n\nOne. ▉"}`,
				`~ message.start`, `~ message.update {"message_id":"a","text":"One."}`, typingOff, stopped)
			h.event("edit", `{"message_id":"a","text":"One.","final":true}`)
			h.event("model.end", c.model)
			h.event("turn.end", c.end, `* message.stop {"message_id":"a","final_text":"One.",`+c.footer, idle)
		})
	}
}
