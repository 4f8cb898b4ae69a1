package simtest

import (
	"fmt"

	"iris-gateway/handlers/link"
)

// script is a turn of the host: a beat, a tool, a streamed answer.
type script struct {
	h     *host
	id    string
	stage int
	open  []link.TurnMessage // whose end is still to come
	tools []link.TurnTool
	end   *event // turn.end

	beat    []link.TurnMessage
	beatEnd *event // model.end of the beat: until it is acknowledged the beat is named
}

// turn is what hello says of the turn.
func (s *script) turn() link.Turn {
	var messages []link.TurnMessage
	if s.beatEnd != nil && !s.beatEnd.acked {
		messages = append(messages, s.beat...)
	}
	return link.Turn{
		Turn: s.id, ChatID: "android:default", StartedAt: 1, Source: link.SourceUser,
		Messages: append(messages, s.open...), Tools: append([]link.TurnTool{}, s.tools...), Prompts: []string{},
	}
}

// step lets the host do the next thing of its turn, or begin one.
func (h *host) step() {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if h.run == nil {
		h.turns++
		h.run = &script{h: h, id: fmt.Sprintf("tn%d", h.turns)}
	}
	h.run.advance()
}

// finish brings the turn that runs to its end.
func (h *host) finish() {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	for h.run != nil {
		h.run.advance()
	}
}

func (s *script) advance() {
	h, beat, call, answer := s.h, s.id+"-beat", s.id+"-call", s.id+"-answer"
	whole := secret + "This is the answer of " + s.id
	s.stage++
	switch s.stage {
	case 1:
		h.emit(link.KindTurnStart, s.id, link.TurnStart{Source: link.SourceUser}, "", "")
	case 2:
		s.text(beat, secret+"I look")
		h.show(link.KindSend, s.id, link.Send{MessageID: beat, Text: secret + "I look ▉", Streaming: true})
	case 3:
		s.text(beat, secret+"I look it up.")
		h.show(link.KindEdit, s.id, link.Edit{MessageID: beat, Text: secret + "I look it up. ▉", Began: 2})
	case 4:
		s.beat, s.open = s.open, nil
		s.beatEnd = h.emit(link.KindModelEnd, s.id, link.ModelEnd{FinishReason: "tool_calls", Text: secret + "I look it up.", Model: "m"}, "", "")
		e := h.emit(link.KindEdit, s.id, link.Edit{MessageID: beat, Text: secret + "I look it up.", Final: true, Began: 2},
			"message.stop", fmt.Sprintf(`"message_id":%q`, beat))
		e.anywhere = true // a machine that began after model.end does not know that it is a beat
	case 5:
		s.tools = []link.TurnTool{{Call: call, Index: 1, Name: call, Args: map[string]any{}}}
		h.show(link.KindToolStart, s.id, link.ToolStart{Call: call, Index: 1, Name: call})
	case 6:
		s.tools = nil
		h.emit(link.KindToolEnd, s.id, link.ToolEnd{Call: call, Index: 1, Name: call, OK: true, Duration: 1}, "tool.end", fmt.Sprintf(`"name":%q`, call))
	case 7:
		s.text(answer, secret+"This is")
		h.show(link.KindSend, s.id, link.Send{MessageID: answer, Text: secret + "This is ▉", Streaming: true})
	case 8:
		s.text(answer, secret+"This is the answer")
		h.show(link.KindEdit, s.id, link.Edit{MessageID: answer, Text: secret + "This is the answer ▉", Began: 3})
	case 9:
		s.text(answer, whole)
		h.emit(link.KindEdit, s.id, link.Edit{MessageID: answer, Text: whole, Final: true, Began: 3}, "", "")
		h.emit(link.KindModelEnd, s.id, link.ModelEnd{FinishReason: "stop", Text: whole, Model: "m"}, "", "")
	case 10:
		h.emit(link.KindAnswer, s.id, link.Answer{Text: whole}, "", "")
	case 11:
		s.end = h.emit(link.KindTurnEnd, s.id, link.TurnEnd{Outcome: link.OutcomeCompleted, Tokens: 7},
			"message.stop", fmt.Sprintf(`"message_id":%q,"final_text":%q`, answer, whole))
		h.ending, h.run = append(h.ending, s), nil
	}
}

// text sets the text of the open message.
func (s *script) text(id, text string) {
	s.open = []link.TurnMessage{{MessageID: id, Text: text, Began: 2}}
}

// notice tells something that stands for itself.
func (h *host) notice() {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	text := fmt.Sprintf("%snote-%s-%d.", secret, h.epochID(), h.seq+1)
	h.emit(link.KindNotice, "", map[string]string{"key": "k", "text": text}, "notification", text)
}

// quiet is an event that yields nothing durable.
func (h *host) quiet() {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	h.emit(link.KindTitle, "", map[string]string{"title": secret}, "", "")
}
