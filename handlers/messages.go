package handlers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// handleMessageSend appends what a person wrote: its echo for the devices, the
// inbound for the host, and the row. The answer is the echo.
func (d *deviceSession) handleMessageSend(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.MessageSend](req)
	if err != nil {
		return err
	}
	if err := d.limits.message(); err != nil {
		return err
	}
	m := iris.Message{
		ID: d.messageID(p.ClientID), Lane: req.Lane, Role: iris.RoleUser, Text: p.Text, ReplyTo: p.ReplyTo,
		At: messageTime(),
	}
	if m.Media, err = d.attached(ctx, p.MediaRefs); err != nil {
		d.sentBefore(ctx, req, m.ID, err) // perhaps it came before, and its media were deleted since
		return nil
	}
	quoted, err := d.quote(ctx, p.ReplyTo)
	if err != nil {
		return err
	}
	thread := ""
	if p.AutoThread && m.Lane.ThreadID == "" && threadable(p.Text) {
		thread = iris.NewID("t_")
	}
	size := int64(len(req.Payload))
	if err := d.room.Acquire(ctx, size); err != nil {
		return err
	}
	return d.gateway.Do(func(a *hub.Actor) {
		if m.Lane.ChatID == "" {
			m.Lane.ChatID = a.State().Gateway.DefaultChat
		}
		a.Propose(hub.Proposal{
			Decide: func(s *hub.State) (hub.Draft, error) { return d.compose(s, m, thread, quoted) },
			Done:   func(a *hub.Actor, r hub.Result) { d.room.Release(size); d.sent(a, req, m.ID, r.Err) },
			Lane:   m.Lane, Origin: d.dev, ID: req.ID,
		})
	})
}

// threadable reports whether a message may begin a thread: slash commands are
// about the lane that they are typed in (protocol: message.send, "auto_thread").
func threadable(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && !strings.HasPrefix(text, "/")
}

// messageTime is when a message from a device began. Devices get milliseconds;
// the store keeps what tells two messages of one millisecond apart.
func messageTime() time.Time { return time.Now().Truncate(time.Microsecond) }

// messageID makes a message that comes twice with one client id the same.
func (d *deviceSession) messageID(clientID string) string {
	if clientID == "" {
		return iris.NewID("m_")
	}
	return iris.ClientMessageID(d.device.ID, clientID)
}

// quote reads the message that is answered: hermes does not look it up.
func (d *deviceSession) quote(ctx context.Context, id string) (*link.ReplyTo, error) {
	if id == "" {
		return nil, nil
	}
	m, err := d.server.cfg.Store.Message(ctx, d.gateway.ID, id)
	switch {
	case iris.ErrorCode(err) == iris.CodeNotFound || err == nil && m.Deleted:
		return &link.ReplyTo{MessageID: id}, nil // gone: the answer stands for itself
	case err != nil:
		return nil, err
	}
	return &link.ReplyTo{MessageID: id, Role: m.Role, Text: m.Text, ChatID: m.Lane.ChatID, ThreadID: m.Lane.ThreadID}, nil
}

// addQuote adds what a message of the lane answers to the draft and returns it.
// The entry repeats its text: whoever deletes that message, or its lane, finds it
// by them.
func addQuote(s *hub.State, draft *hub.Draft, lane iris.Lane, quoted *link.ReplyTo) *link.ReplyTo {
	if quoted == nil || quoted.Text == "" {
		return quoted
	}
	q := *quoted
	if _, known := s.Channel(q.Lane()); !known || s.Erased(q.MessageID) { // since it was read
		return &link.ReplyTo{MessageID: q.MessageID}
	}
	draft.Messages = append(draft.Messages, q.MessageID)
	if q.Lane() == lane {
		q.ChatID, q.ThreadID = "", ""
	} else {
		draft.Lanes = append(draft.Lanes, q.Lane())
	}
	return &q
}

// errFull says that the log holds all that it may for a host that is away.
var errFull = iris.Errorf(iris.CodeInternal, "the agent host has been away too long, its queue is full")

// compose decides about a message. With a thread id it begins that thread:
// channel.created and the echo land together. When there is no room for another
// thread the message stays in the flat lane, which beats losing it.
func (d *deviceSession) compose(s *hub.State, m iris.Message, thread string, quoted *link.ReplyTo) (hub.Draft, error) {
	channel, ok := s.Channel(m.Lane)
	if !ok {
		return hub.Draft{}, unknownLane(m.Lane)
	}
	if s.Full() {
		return hub.Draft{}, errFull
	}
	var draft hub.Draft
	if _, threads := s.Count(); thread != "" && threads < wire.MaxThreads {
		m.Lane.ThreadID = thread
		channel = iris.Channel{Lane: m.Lane, Name: threadName(m.Text), Kind: iris.KindThread, Auto: true}
		if err := createChannel(s, &draft, channel); err != nil {
			return hub.Draft{}, err
		}
	}
	names := link.Channel{Name: channel.Name}
	if m.Lane.ThreadID != "" {
		parent, _ := s.Channel(iris.Lane{ChatID: m.Lane.ChatID})
		names = link.Channel{Name: parent.Name, ThreadName: channel.Name}
	}
	draft.Messages = []string{m.ID}
	quoted = addQuote(s, &draft, m.Lane, quoted)
	draft.Changes = append(draft.Changes, iris.CreateMessage{Message: m})
	draft.Inbound = []string{link.EncodeItem(link.Item{
		Kind: link.InboundMessage, ChatID: m.Lane.ChatID, ThreadID: m.Lane.ThreadID,
		Body: link.Message{
			MessageID: m.ID, Text: m.Text, ReplyTo: quoted, Media: attachments(m.Media), Channel: names,
			Device: link.Device{DeviceID: d.device.ID, Name: d.device.Name},
		},
	})}
	draft.Answer = len(draft.Frames)
	draft.Add(m.Lane, messageFrame(m))
	return draft, nil
}

// sent sees to the answer of a message that was refused. One whose row exists
// came before: perhaps in a lane that is gone by now, or with the last that the
// log had room for.
func (d *deviceSession) sent(a *hub.Actor, req wire.Request, id string, err error) {
	switch {
	case err == nil:
	case errors.Is(err, iris.ErrRefused), errors.Is(err, errFull), iris.ErrorCode(err) == iris.CodeNotFound:
		a.Go(func(ctx context.Context) { d.sentBefore(ctx, req, id, err) })
	default:
		d.reply(req.ID, err)
	}
}

// sentBefore answers a message that may have come before: with the original
// answer, or that it was deleted since.
func (d *deviceSession) sentBefore(ctx context.Context, req wire.Request, id string, refusal error) {
	m, err := d.server.cfg.Store.Message(ctx, d.gateway.ID, id)
	if iris.ErrorCode(err) == iris.CodeNotFound && !errors.Is(refusal, iris.ErrRefused) {
		err = refusal
	}
	if err == nil {
		err = d.gateway.Call(ctx, func(a *hub.Actor) {
			if m.Deleted || !remains(a.State(), m) {
				d.answer(req, m.Lane, wire.MessageDeleted{MessageIDs: []string{id}})
				return
			}
			d.answer(req, m.Lane, messageFrame(m))
		})
	}
	if err != nil {
		d.reply(req.ID, err)
	}
}

// remains reports whether a message that was read from the store has not been
// deleted since. On the actor that holds until the answer is on its way: behind
// message.deleted it would bring the message back.
func remains(s *hub.State, m iris.Message) bool {
	_, known := s.Channel(m.Lane)
	return known && !s.Erased(m.ID)
}

func remainAll(s *hub.State, messages []iris.Message) bool {
	return !slices.ContainsFunc(messages, func(m iris.Message) bool { return !remains(s, m) })
}

// unknownLane says that a lane does not exist.
func unknownLane(lane iris.Lane) error {
	if lane.ThreadID != "" {
		return iris.Errorf(iris.CodeNotFound, "chat_id %q has no thread %q", printable(lane.ChatID), printable(lane.ThreadID))
	}
	return iris.Errorf(iris.CodeNotFound, "chat_id %q is unknown", printable(lane.ChatID))
}

// messageFrame returns a message as devices see it.
func messageFrame(m iris.Message) wire.Message {
	return wire.Message{
		MessageID: m.ID, Role: m.Role, Text: m.Text, Commentary: m.Commentary, Reasoning: m.Reasoning,
		ReplyTo: m.ReplyTo, Model: m.Model, Tokens: m.Tokens, TS: millis(m.At), Runtime: m.Runtime,
		Media: mediaFrames(m.Media),
	}
}
