package handlers

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// propose asks the log for what a request wants. The answer is a frame of the
// draft, or the error. Two devices at once: the log decides, since decide runs
// again on what the other one has changed.
func (d *deviceSession) propose(ctx context.Context, req wire.Request, lane iris.Lane, decide hub.Decide) error {
	return d.submit(ctx, req, hub.Proposal{Decide: decide, Lane: lane, Origin: d.dev, ID: req.ID}, nil)
}

// submit is propose with a say in what the device gets: empty, which may be
// nil, answers a request that appended nothing.
func (d *deviceSession) submit(ctx context.Context, req wire.Request, p hub.Proposal, empty func()) error {
	size := int64(len(req.Payload))
	if err := d.room.Acquire(ctx, size); err != nil {
		return err
	}
	done := p.Done
	p.Done = func(a *hub.Actor, r hub.Result) {
		d.room.Release(size)
		switch {
		case errors.Is(r.Err, iris.ErrRefused):
			d.reply(req.ID, iris.Errorf(iris.CodeNotFound, "what %s is about is gone", req.Type))
		case r.Err != nil:
			d.reply(req.ID, r.Err)
		case r.Cursor == 0 && empty != nil:
			empty()
		case done != nil:
			done(a, r)
		}
	}
	return d.gateway.Do(func(a *hub.Actor) { a.Propose(p) })
}

// handleChannelCreate makes a channel, or a thread of the channel in the
// envelope (protocol: One answer per request).
func (d *deviceSession) handleChannelCreate(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.ChannelCreate](req)
	if err != nil {
		return err
	}
	c := iris.Channel{Lane: iris.Lane{ChatID: iris.NewID("android:chan_")}, Name: p.Name, Kind: p.Kind}
	if p.Kind == iris.KindThread {
		if req.Lane.ThreadID != "" {
			return iris.Errorf(iris.CodeUnsupported, "thread_id: a thread has no threads of its own")
		}
		if req.Lane.ChatID == "" {
			return iris.Errorf(iris.CodeUnsupported, "chat_id is missing: it names the channel of the new thread")
		}
		c.Lane = iris.Lane{ChatID: req.Lane.ChatID, ThreadID: iris.NewID("t_")}
	}
	return d.propose(ctx, req, c.Lane, func(s *hub.State) (hub.Draft, error) {
		var draft hub.Draft
		return draft, createChannel(s, &draft, c)
	})
}

// createChannel adds a new channel or thread to a draft, within the limits.
func createChannel(s *hub.State, draft *hub.Draft, c iris.Channel) error {
	channels, threads := s.Count()
	created := wire.ChannelCreated{ChatID: c.Lane.ChatID, ThreadID: c.Lane.ThreadID, Name: c.Name, Kind: c.Kind, Auto: c.Auto}
	if c.Lane.ThreadID != "" {
		parent := iris.Lane{ChatID: c.Lane.ChatID}
		if _, ok := s.Channel(parent); !ok {
			return unknownLane(parent)
		}
		if threads >= wire.MaxThreads {
			return iris.Errorf(iris.CodeUnsupported, "there are %d threads already, which is the limit: delete some", threads)
		}
		created.ParentChatID = c.Lane.ChatID
	} else if channels >= wire.MaxChannels {
		return iris.Errorf(iris.CodeUnsupported, "there are %d channels already, which is the limit: delete some", channels)
	}
	draft.Add(c.Lane, created)
	draft.Changes = append(draft.Changes, iris.PutChannel{Channel: c})
	return nil
}

// handleChannelRename renames the channel or thread in the envelope. The host
// is told the new name.
func (d *deviceSession) handleChannelRename(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.ChannelRename](req)
	if err != nil {
		return err
	}
	lane := req.Lane
	if lane.ChatID == "" {
		return errNoChat
	}
	return d.propose(ctx, req, lane, func(s *hub.State) (hub.Draft, error) {
		var draft hub.Draft
		if err := renameChannel(s, &draft, lane, p.Name); err != nil {
			return draft, err
		}
		if !s.Full() { // a name is not worth more room in the log
			draft.Inbound = []string{link.EncodeItem(link.Item{
				Kind: link.InboundLaneRename, ChatID: lane.ChatID, ThreadID: lane.ThreadID, Body: link.LaneRename{Name: p.Name},
			})}
		}
		return draft, nil
	})
}

// errNoChat says that a request does not name its channel.
var errNoChat = iris.Errorf(iris.CodeUnsupported, "chat_id is missing: it names the channel")

// renameChannel adds another name of a channel or thread to a draft.
func renameChannel(s *hub.State, draft *hub.Draft, lane iris.Lane, name string) error {
	if _, ok := s.Channel(lane); !ok {
		return unknownLane(lane)
	}
	renamed := wire.ChannelRenamed{ChatID: lane.ChatID, ThreadID: lane.ThreadID, Name: name}
	if lane.ThreadID != "" {
		renamed.ParentChatID = lane.ChatID
	}
	draft.Add(lane, renamed)
	draft.Changes = append(draft.Changes, iris.SetChannelName{Lane: lane, Name: name})
	return nil
}

// handleChannelSetDefault makes the channel in the envelope the default one.
// The answer is the whole directory.
func (d *deviceSession) handleChannelSetDefault(ctx context.Context, req wire.Request) error {
	if _, err := wire.DecodePayload[wire.ChannelSetDefault](req); err != nil {
		return err
	}
	lane := req.Lane
	switch {
	case lane.ChatID == "":
		return errNoChat
	case lane.ThreadID != "":
		return iris.Errorf(iris.CodeUnsupported, "thread_id: a thread cannot be the default channel")
	}
	return d.propose(ctx, req, iris.Lane{}, func(s *hub.State) (hub.Draft, error) {
		if _, ok := s.Channel(lane); !ok {
			return hub.Draft{}, unknownLane(lane)
		}
		draft := hub.Draft{Changes: []iris.Change{iris.SetDefaultChat{ChatID: lane.ChatID}}}
		draft.Add(iris.Lane{}, wire.ChannelList{Channels: channels(s, lane.ChatID)})
		return draft, nil
	})
}

// channels is the directory as devices see it, with its default channel first.
func channels(s *hub.State, defaultChat string) []wire.Channel {
	list, now := []wire.Channel{}, *s
	now.Gateway.DefaultChat = defaultChat
	for _, c := range now.Channels() {
		w := wire.Channel{
			ChatID: c.Lane.ChatID, ThreadID: c.Lane.ThreadID, Name: c.Name, Kind: c.Kind,
			Auto: c.Auto, ReadMessageID: c.ReadMessageID, Busy: c.Busy != "",
		}
		if c.Lane.ThreadID != "" {
			w.ParentChatID = c.Lane.ChatID
		} else if c.Lane.ChatID == defaultChat {
			w.Kind, w.IsDefault = iris.KindDefault, true
		}
		list = append(list, w)
	}
	return list
}

// unnamed is the name of a thread when there is none.
const unnamed = "Thread"

// autoThreadName is how long a derived name may be, in characters.
const autoThreadName = 48

// threadName derives the name of a thread from the first words of its first
// message. The host's title takes its place later.
func threadName(text string) string {
	name, n := "", 0
	for i, w := range strings.Fields(oneLine(text)) {
		size := len([]rune(w))
		if i > 0 && n+1+size > autoThreadName {
			return shorten(name+"…", autoThreadName+1)
		}
		if i > 0 {
			name, n = name+" ", n+1
		}
		name, n = name+w, n+size
	}
	if name == "" { // nothing but control characters
		return unnamed
	}
	return shorten(name, autoThreadName)
}

// oneLine makes a name of any text: one line, without control characters.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, wire.CleanName(text))), " ")
}

// shorten cuts a text to a number of characters, with a mark.
func shorten(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}
