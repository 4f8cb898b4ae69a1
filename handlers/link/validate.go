package link

import (
	"cmp"
	"errors"
	"fmt"

	"iris-gateway/handlers/wire"
	"iris-gateway/handlers/wire/exact"
)

// The Validate methods say whether a frame that has the right form makes sense.
// Decode calls them.

// Validate checks a host's first frame (host-link.md, "Opening").
func (h *Hello) Validate() error {
	if h.Protocol != Protocol {
		return fmt.Errorf("protocol is %d, this gateway speaks %d", h.Protocol, Protocol)
	}
	for i, t := range h.Turns {
		if err := t.validate(); err != nil {
			return fmt.Errorf("turns[%d]: %w", i, err)
		}
	}
	return cmp.Or(
		need("epoch", h.Epoch), need("process", h.Process),
		notNegative("last_seq", h.LastSeq), notNegative("received", h.Received),
	)
}

func (t *Turn) validate() error {
	for i, m := range t.Messages {
		if err := cmp.Or(need("message_id", m.MessageID), wire.CheckID("reply_to", m.ReplyTo)); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	for i, id := range t.Prompts {
		if err := need("prompt_id", id); err != nil {
			return fmt.Errorf("prompts[%d]: %w", i, err)
		}
	}
	for i, tool := range t.Tools {
		if err := present("call", tool.Call); err != nil {
			return fmt.Errorf("tools[%d]: %w", i, err)
		}
	}
	return cmp.Or(need("turn", t.Turn), need("chat_id", t.ChatID), wire.CheckID("thread_id", t.ThreadID))
}

// Validate checks what the host has of the inbound (host-link.md, "Inbound").
func (r *Received) Validate() error { return notNegative("cursor", r.Cursor) }

// Validate checks an event and its body (host-link.md, "Events"). What it accepts
// can be taken; an event of an unknown kind is ignored.
func (e *Event) Validate() error {
	if e.Kind == "" || len(e.Kind) > maxType {
		return fmt.Errorf("event (seq %d): kind has %d bytes, it may be 1 to %d", e.Seq, len(e.Kind), maxType)
	}
	durable, err := e.body()
	err = cmp.Or(err, notNegative("seq", e.Seq), notNegative("at", e.At))
	if err == nil && durable && e.Seq == 0 {
		err = fmt.Errorf("seq is missing, though the event is durable")
	}
	if err = cmp.Or(err, wire.CheckID("chat_id", e.ChatID), wire.CheckID("thread_id", e.ThreadID), wire.CheckID("turn", e.Turn)); err != nil {
		return fmt.Errorf("event %s (seq %d): %w", e.Kind, e.Seq, err)
	}
	return nil
}

// body checks the body of an event and says whether the event must carry a seq.
func (e *Event) body() (durable bool, err error) {
	switch e.Kind {
	case KindTurnStart:
		return body(e, (*TurnStart).validate)
	case KindModelStart:
		return body(e, (*ModelStart).validate)
	case KindSend:
		return body(e, (*Send).validate)
	case KindEdit:
		return body(e, (*Edit).validate)
	case KindDelete:
		return body(e, (*Delete).validate)
	case KindModelEnd:
		return body(e, durably[ModelEnd])
	case KindModelError:
		return body(e, durably[ModelError])
	case KindAnswer:
		return body(e, durably[Answer])
	case KindToolStart:
		return body(e, (*ToolStart).validate)
	case KindToolProgress:
		return body(e, (*ToolProgress).validate)
	case KindToolEnd:
		return body(e, (*ToolEnd).validate)
	case KindMedia:
		return body(e, (*Media).validate)
	case KindPrompt:
		return body(e, (*Prompt).validate)
	case KindPromptClosed:
		return body(e, (*PromptClosed).validate)
	case KindNotice:
		return body(e, durably[Notice])
	case KindCron:
		return body(e, (*Cron).validate)
	case KindThreadCreate:
		return body(e, (*ThreadCreate).validate)
	case KindTitle:
		return body(e, durably[Title])
	case KindTurnEnd:
		return body(e, durably[TurnEnd])
	case KindDone:
		return body(e, (*Done).validate)
	}
	return false, nil
}

// body decodes the body of an event into T and checks it.
func body[T any](e *Event, check func(*T) (durable bool, err error)) (durable bool, err error) {
	data := e.Body
	if data == nil {
		data = []byte("{}")
	}
	b, err := exact.Decode[T](data)
	var field *exact.Error
	switch {
	case errors.As(err, &field):
		return false, field.Inside("body")
	case err != nil:
		return false, fmt.Errorf("body: %w", err)
	}
	return check(&b)
}

// durably is the check of a body of which nothing can be said but its form.
func durably[T any](*T) (bool, error) { return true, nil }

func (b *TurnStart) validate() (bool, error) { return true, wire.CheckID("trigger", b.Trigger) }

func (b *ModelStart) validate() (bool, error) { return false, wire.CheckID("message_id", b.MessageID) }

func (b *Send) validate() (bool, error) {
	return !b.Streaming, cmp.Or(need("message_id", b.MessageID), wire.CheckID("reply_to", b.ReplyTo))
}

func (b *Edit) validate() (bool, error) {
	return b.Final, cmp.Or(need("message_id", b.MessageID), wire.CheckID("reply_to", b.ReplyTo), notNegative("began", b.Began))
}

func (b *Delete) validate() (bool, error) {
	for _, id := range b.MessageIDs {
		if err := need("an item of message_ids", id); err != nil {
			return true, err
		}
	}
	return true, nil
}

func (b *ToolStart) validate() (bool, error) {
	return false, cmp.Or(present("call", b.Call), notNegative("index", b.Index))
}

func (b *ToolProgress) validate() (bool, error) { return false, present("call", b.Call) }

func (b *ToolEnd) validate() (bool, error) {
	return true, cmp.Or(present("call", b.Call), notNegative("index", b.Index))
}

func (b *Prompt) validate() (bool, error) {
	return true, cmp.Or(need("prompt_id", b.PromptID), present("kind", b.Kind), notNegative("expires_at", b.ExpiresAt))
}

func (b *PromptClosed) validate() (bool, error) { return true, need("prompt_id", b.PromptID) }

func (b *Cron) validate() (bool, error) { return true, need("message_id", b.MessageID) }

func (b *ThreadCreate) validate() (bool, error) { return true, need("thread_id", b.ThreadID) }

func (b *Done) validate() (bool, error) {
	return true, cmp.Or(notNegative("cursor", b.Cursor), notNegative("item", b.Item))
}

// need checks an id of Iris that must be there.
func need(field, id string) error {
	return cmp.Or(present(field, id), wire.CheckID(field, id))
}

// present checks that something is there. The ids of tool calls are the model
// provider's, which may be long and odd.
func present(field, id string) error {
	if id == "" {
		return fmt.Errorf("%s is missing", field)
	}
	return nil
}

func notNegative[N int | int64](field string, n N) error {
	if n < 0 {
		return fmt.Errorf("%s is %d, less than 0", field, n)
	}
	return nil
}
