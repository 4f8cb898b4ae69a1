package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// plan is a durable event and the keys of the log's frames that it must lead
// to (see keyOf).
type plan struct {
	epoch string
	seq   int64
	turn  string
	kind  string
	keys  []string
}

// work is the agent: it answers one message after the other until ctx ends.
// Now and then it says something by itself.
func (h *host) work(ctx context.Context, calm <-chan struct{}) {
	for ctx.Err() == nil {
		h.mu.Lock()
		life, changed, next := h.life, h.changed, (*link.Message)(nil)
		if len(h.queue) > 0 {
			next = &h.queue[0]
			h.queue = h.queue[1:]
		}
		h.mu.Unlock()
		if next != nil {
			h.answer(ctx, life, *next)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-time.After(between(h.agent, 10*time.Millisecond, 500*time.Millisecond)):
			if !closed(calm) {
				h.remark(life)
			}
		}
	}
}

// remark is what comes without a message: a notice or a cron message.
func (h *host) remark(life int) {
	id := iris.NewID("m_")
	if h.agent.IntN(2) == 0 {
		h.durable(life, "", link.KindNotice, link.Notice{Key: id, Text: "something"}, nil, "note "+id)
		return
	}
	h.durable(life, "", link.KindCron, link.Cron{MessageID: id, Text: "cron", Job: "job of " + id}, nil, "message "+id+" cron", "note job of "+id)
}

// answer is a turn: some tools, a streamed answer, its end.
func (h *host) answer(ctx context.Context, life int, m link.Message) {
	turn, began := iris.NewID("tn_"), time.Now().UnixMilli()
	ok := h.durable(life, turn, link.KindTurnStart, link.TurnStart{Trigger: m.MessageID, Source: link.SourceUser}, func() {
		h.turn = &link.Turn{Turn: turn, ChatID: iris.DefaultChat, StartedAt: began, Source: link.SourceUser}
	}, "busy")
	ok = ok && h.live(life, turn, link.KindModelStart, link.ModelStart{Text: m.Text, MessageID: m.MessageID}, nil)
	for range h.agent.IntN(3) {
		ok = ok && h.pause(ctx) && h.tool(ctx, life, turn)
	}
	if h.agent.IntN(4) == 0 {
		id := iris.NewID("m_")
		ok = ok && h.durable(life, turn, link.KindSend, link.Send{MessageID: id, Text: "noted", Immediate: true}, nil, "message "+id+" noted")
	}
	id, text := iris.NewID("m_"), "answer to "+m.MessageID
	ok = ok && h.pause(ctx) && h.stream(ctx, life, turn, id, text)
	ok = ok && h.durable(life, turn, link.KindModelEnd, link.ModelEnd{FinishReason: "stop", Text: text, Model: "m"}, nil)
	ok = ok && h.pause(ctx) && h.durable(life, turn, link.KindEdit, link.Edit{MessageID: id, Text: text, Final: true, Began: began}, func() {
		h.turn.Messages[0].Text = text
	})
	ok = ok && h.durable(life, turn, link.KindAnswer, link.Answer{Text: text}, nil)
	ok = ok && h.pause(ctx)
	if ok {
		body := link.TurnEnd{Outcome: link.OutcomeCompleted, Runtime: link.Runtime{Model: "m"}, Tokens: 3}
		h.durable(life, turn, link.KindTurnEnd, body, func() {
			h.turn.Ended = h.seq
			h.ended, h.turn = append(h.ended, *h.turn), nil
		}, "stop "+id+" "+text, "idle")
	}
}

// tool is a call: its start may be lost, its end not.
func (h *host) tool(ctx context.Context, life int, turn string) bool {
	h.mu.Lock()
	h.calls++
	n := h.calls
	h.mu.Unlock()
	call, name := fmt.Sprint("c", n), fmt.Sprint("tool-", n)
	return h.live(life, turn, link.KindToolStart, link.ToolStart{Call: call, Index: n, Name: name}, func() {
		h.turn.Tools = append(h.turn.Tools, link.TurnTool{Call: call, Index: n, Name: name})
	}) && h.pause(ctx) && h.durable(life, turn, link.KindToolEnd, link.ToolEnd{Call: call, Index: n, Name: name, OK: true}, func() {
		h.turn.Tools = nil
	}, "tool "+name)
}

// stream shows a text word by word.
func (h *host) stream(ctx context.Context, life int, turn, id, text string) bool {
	for i, part := range []string{text[:4], text[:len(text)/2], text[:len(text)-2]} {
		kind, body := link.KindEdit, any(link.Edit{MessageID: id, Text: part + " ▉"})
		if i == 0 {
			kind, body = link.KindSend, link.Send{MessageID: id, Text: part + " ▉", Streaming: true}
		}
		ok := h.live(life, turn, kind, body, func() {
			h.turn.Messages = []link.TurnMessage{{MessageID: id, Text: part, Began: time.Now().UnixMilli()}}
		})
		if !ok || !h.pause(ctx) {
			return false
		}
	}
	return true
}

// pause lets some time pass. With a long queue the agent hurries.
func (h *host) pause(ctx context.Context) bool {
	h.mu.Lock()
	hurry := len(h.queue) > 3
	h.mu.Unlock()
	if hurry {
		return ctx.Err() == nil
	}
	return wait(ctx.Done(), between(h.agent, 0, 30*time.Millisecond))
}

// durable spools an event. It reports false if the process has died since the
// turn began. update changes the picture of the turn at the same moment.
func (h *host) durable(life int, turn, kind string, body any, update func(), keys ...string) bool {
	return h.emit(life, turn, kind, body, update, func(ev *link.Event) {
		h.seq++
		ev.Seq = h.seq
		h.remember("event %d %s %s %q", h.seq, kind, turn, keys)
		h.plans = append(h.plans, plan{epoch: h.epoch, seq: h.seq, turn: turn, kind: kind, keys: keys})
	})
}

// live sends an event that may be lost.
func (h *host) live(life int, turn, kind string, body any, update func()) bool {
	return h.emit(life, turn, kind, body, update, nil)
}

func (h *host) emit(life int, turn, kind string, body any, update func(), number func(*link.Event)) bool {
	raw, err := json.Marshal(body)
	if err != nil {
		h.t.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if life != h.life {
		return false
	}
	ev := link.Event{At: time.Now().UnixMilli(), Kind: kind, ChatID: iris.DefaultChat, Turn: turn, Body: raw}
	if number != nil {
		number(&ev)
	}
	if update != nil {
		update()
	}
	if number == nil && !h.online {
		return true // the next hello says what it would have said
	}
	h.items = append(h.items, item{ev.Seq, link.Encode(link.TypeEvent, ev)})
	h.note()
	return true
}
