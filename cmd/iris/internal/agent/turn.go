package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// turn is one turn of the agent, as it is told to the gateway. Its state is
// guarded by the spool's mutex.
type turn struct {
	spool   *spool
	pace    time.Duration
	id      string
	lane    iris.Lane
	source  string
	started time.Time

	// What a hello has to name.
	messages  []message
	tools     []link.TurnTool
	reasoning string
	prompts   []string // open ones that it waits for

	endSeq    int64 // of its turn.end, 0 while it runs
	toolCount int
	tokens    int
}

// message is one that the gateway may still have to end.
type message struct {
	link.TurnMessage
	endSeq int64 // of the event that ends it, 0 until there is one; the turn's end ends all others
}

// begin opens a turn that message trigger has caused.
func (a *Agent) begin(lane iris.Lane, source, trigger string) *turn {
	// The history sorts by time, and events tell it in milliseconds: what began
	// in that of its question would stand before it.
	time.Sleep(time.Millisecond)
	t := &turn{spool: a.spool, pace: a.cfg.Pace, id: iris.NewID("tn_"), lane: lane, source: source, started: time.Now()}
	a.spool.add(t, link.KindTurnStart, "", link.TurnStart{Trigger: trigger, Source: source}, func() {
		a.spool.turns = append(a.spool.turns, t)
	})
	return t
}

// snapshot is the turn as a hello names it. The caller holds the mutex.
func (t *turn) snapshot() link.Turn {
	messages := make([]link.TurnMessage, 0, len(t.messages))
	for _, m := range t.messages {
		messages = append(messages, m.TurnMessage)
	}
	return link.Turn{
		Turn: t.id, ChatID: t.lane.ChatID, ThreadID: t.lane.ThreadID, StartedAt: t.started.UnixMilli(), Source: t.source,
		Messages: messages, Tools: slices.Clone(t.tools), Prompts: append([]string{}, t.prompts...), Reasoning: t.reasoning,
		Ended: t.endSeq,
	}
}

// answered notes that the turn waits for a prompt no longer. The caller holds
// the mutex.
func (t *turn) answered(prompt string) {
	t.prompts = slices.DeleteFunc(t.prompts, func(id string) bool { return id == prompt })
}

// say streams a message word by word, and returns its id and when it began. It
// stops in the middle when ctx ends.
func (t *turn) say(ctx context.Context, text, replyTo string) (id string, began int64, err error) {
	id, began = iris.NewID("m_"), time.Now().UnixMilli()
	shown := ""
	for i, chunk := range chunks(text) {
		if i > 0 {
			if err := t.wait(ctx, t.pace); err != nil {
				return id, began, err
			}
		}
		shown += chunk
		if i == 0 {
			t.spool.add(t, link.KindSend, "send "+id, link.Send{MessageID: id, Text: shown, ReplyTo: replyTo, Streaming: true}, func() {
				t.messages = append(t.messages, message{TurnMessage: link.TurnMessage{MessageID: id, Text: shown, Began: began}})
			})
			continue
		}
		t.spool.add(t, link.KindEdit, "edit "+id, link.Edit{MessageID: id, Text: shown, ReplyTo: replyTo, Began: began}, func() {
			t.messages[len(t.messages)-1].Text = shown
		})
	}
	return id, began, nil
}

// modelEnd tells that the model is done with a text. Before tools the text
// was a beat, which ends here; otherwise it is the answer.
func (t *turn) modelEnd(text, reasoning string, tools bool) {
	body := link.ModelEnd{
		FinishReason: "stop", Text: text, Model: modelName, Reasoning: reasoning,
		Usage:    link.Usage{Input: 400, Output: countTokens(text), Prompt: 400},
		Duration: time.Since(t.started).Seconds(),
	}
	if tools {
		body.FinishReason = "tool_calls"
	}
	t.spool.add(t, link.KindModelEnd, "", body, func() {
		t.tokens += body.Usage.Output
		if reasoning != "" {
			t.reasoning = strings.TrimPrefix(t.reasoning+"\n\n"+reasoning, "\n\n")
		}
		for i := range t.messages {
			if tools && t.messages[i].endSeq == 0 {
				t.messages[i].endSeq = t.spool.seq + 1
			}
		}
	})
}

// final tells the whole text of a message.
func (t *turn) final(id, text, replyTo string, began int64) {
	t.spool.add(t, link.KindEdit, "", link.Edit{MessageID: id, Text: text, Final: true, ReplyTo: replyTo, Began: began}, nil)
}

// use pretends to call a tool.
func (t *turn) use(ctx context.Context, tool toolCall) error {
	t.toolCount++
	call, index, start := iris.NewID("c_"), t.toolCount, time.Now()
	open := link.TurnTool{Call: call, Index: index, Name: tool.name, Args: tool.args}
	t.spool.add(t, link.KindToolStart, "tool "+call, link.ToolStart{
		Call: call, Index: index, Name: tool.name, Args: tool.args, Preview: tool.preview,
	}, func() { t.tools = append(t.tools, open) })
	for _, note := range tool.notes {
		if err := t.wait(ctx, 5*t.pace); err != nil {
			return err
		}
		t.spool.add(t, link.KindToolProgress, "note "+call, link.ToolProgress{Call: call, Note: note}, nil)
	}
	if err := t.wait(ctx, 5*t.pace); err != nil {
		return err
	}
	t.spool.add(t, link.KindToolEnd, "", link.ToolEnd{
		Call: call, Index: index, Name: tool.name, Args: tool.args, Preview: tool.preview,
		OK: !tool.fails, Duration: time.Since(start).Seconds(), OutputTail: tool.output,
	}, func() {
		t.tools = slices.DeleteFunc(t.tools, func(o link.TurnTool) bool { return o.Call == call })
	})
	return nil
}

// end closes the turn. context is how full the pretended context is, in percent.
func (t *turn) end(outcome string, context float64) {
	body := link.TurnEnd{Outcome: outcome, Tokens: t.tokens, Reasoning: t.reasoning}
	if t.source == link.SourceUser {
		body.Runtime = link.Runtime{Model: modelName, ContextPct: context, Cwd: "~", Latency: time.Since(t.started).Seconds()}
	}
	t.spool.add(t, link.KindTurnEnd, "", body, func() { t.endSeq, t.prompts = t.spool.seq+1, nil })
}

// wait lets time pass, so that a person can watch. Without pace it only looks
// whether the turn was stopped.
func (t *turn) wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// chunks cuts a text into what is streamed at once: a word, and two in long
// texts, each with the white space that follows.
func chunks(text string) []string {
	words := strings.SplitAfter(text, " ")
	size := 1
	if len(words) > 40 {
		size = 2
	}
	var out []string
	for part := range slices.Chunk(words, size) {
		out = append(out, strings.Join(part, ""))
	}
	return out
}

// countTokens guesses, as people do: four tokens for three words.
func countTokens(text string) int { return (len(strings.Fields(text))*4 + 2) / 3 }
