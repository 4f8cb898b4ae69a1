package model

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// lastID numbers answers and tool calls: hermes only needs them to differ.
var lastID atomic.Int64

func newID(prefix string) string { return fmt.Sprintf("%s-%d", prefix, lastID.Add(1)) }

// answer is one completion on its way out.
type answer struct {
	model   string
	round   Round
	control *Control
	prompt  int // tokens of the request, about
}

func (a answer) finish() string {
	if len(a.round.Call) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// usage counts a piece as a token: only plausible numbers are needed.
func (a answer) usage() map[string]any {
	out := len(a.round.Say) + len(a.round.Think) + len(a.round.Call)
	return map[string]any{
		"prompt_tokens": a.prompt, "completion_tokens": out, "total_tokens": a.prompt + out,
		"prompt_tokens_details":     map[string]any{"cached_tokens": a.prompt / 2},
		"completion_tokens_details": map[string]any{"reasoning_tokens": len(a.round.Think)},
	}
}

// whole answers a request that did not ask for streaming.
func (a answer) whole(ctx context.Context, w http.ResponseWriter) {
	for range a.round.Say {
		if !a.control.wait(ctx) {
			return
		}
	}
	if a.round.Cut {
		panic(http.ErrAbortHandler)
	}
	msg := map[string]any{"role": "assistant", "content": a.round.Text()}
	if len(a.round.Think) > 0 {
		msg["reasoning_content"] = strings.Join(a.round.Think, "")
	}
	var calls []any
	for _, t := range a.round.Call {
		calls = append(calls, map[string]any{"id": newID("call"), "type": "function",
			"function": map[string]any{"name": t.Name, "arguments": t.Args}})
	}
	if calls != nil {
		msg["tool_calls"] = calls
	}
	reply(w, http.StatusOK, map[string]any{
		"id": newID("chatcmpl"), "object": "chat.completion", "created": time.Now().Unix(), "model": a.model,
		"choices": []any{map[string]any{"index": 0, "message": msg, "finish_reason": a.finish()}},
		"usage":   a.usage(),
	})
}

// stream answers by server-sent events, piece by piece.
func (a answer) stream(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := events{w: w, id: newID("chatcmpl"), model: a.model}
	out.delta(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, piece := range a.round.Think {
		out.delta(map[string]any{"reasoning_content": piece}, nil)
	}
	for _, piece := range a.round.Say {
		if !a.control.wait(ctx) {
			return
		}
		out.delta(map[string]any{"content": piece}, nil)
	}
	if a.round.Cut {
		panic(http.ErrAbortHandler)
	}
	for i, t := range a.round.Call {
		out.delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": newID("call"), "type": "function",
			"function": map[string]any{"name": t.Name, "arguments": t.Args}}}}, nil)
	}
	out.delta(map[string]any{}, a.finish())
	out.event(map[string]any{"choices": []any{}, "usage": a.usage()})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// events writes the chunks of one streamed answer.
type events struct {
	w         http.ResponseWriter
	id, model string
}

func (e events) delta(delta map[string]any, finish any) {
	e.event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
}

// event does not look at write errors: the request's context ends with the
// connection, and control.wait sees that.
func (e events) event(fields map[string]any) {
	fields["id"], fields["object"], fields["created"], fields["model"] = e.id, "chat.completion.chunk", time.Now().Unix(), e.model
	b, _ := json.Marshal(fields)
	fmt.Fprintf(e.w, "data: %s\n\n", b)
	e.w.(http.Flusher).Flush()
}
