package erase

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Unnamed takes the place of a name that was made of a deleted message.
const Unnamed = "Thread"

// HashName returns how a deletion names a thread's name, and the host a text,
// without repeating it.
func HashName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// scrubber takes what a deletion names out of an entry. It says the same of the
// same entry, however often it is asked.
type scrubber struct {
	iris.Deletion
	cron map[iris.Lane]bool // the newest cron message of the lane, in the entry at hand, goes
}

// entry returns e without what is deleted, and whether that is less than it was.
// The entry keeps its place in the log, and each inbound item its number.
func (s *scrubber) entry(e iris.Entry) (iris.Entry, bool) {
	s.cron = map[iris.Lane]bool{}
	changed := false
	frames := make([]string, 0, len(e.Frames))
	for _, f := range e.Frames {
		kept, ok := s.frame(f)
		changed = changed || !ok || kept != f
		if ok {
			frames = append(frames, kept)
		}
	}
	inbound := slices.Clone(e.Inbound)
	for i, item := range inbound {
		inbound[i] = s.item(item)
		changed = changed || inbound[i] != item
	}
	e.Frames, e.Inbound = frames, inbound
	return e, changed
}

// head is what matters of an encoded frame.
type head struct {
	Type     string `json:"type"`
	ChatID   string `json:"chat_id"`
	ThreadID string `json:"thread_id"`
	Payload  struct {
		MessageID string    `json:"message_id"`
		MediaID   string    `json:"media_id"`
		Role      iris.Role `json:"role"`
		Kind      string    `json:"kind"`
	} `json:"payload"`
}

func (h head) lane() iris.Lane { return iris.Lane{ChatID: h.ChatID, ThreadID: h.ThreadID} }

// frame returns what is left of a frame; false if nothing is. That something was
// deleted is left: devices that were away must hear of it.
func (s *scrubber) frame(f string) (string, bool) {
	var h head
	if json.Unmarshal([]byte(f), &h) != nil {
		return f, true
	}
	deletion := h.Type == wire.MessageDeleted{}.FrameType() || h.Type == wire.ChannelDeleted{}.FrameType()
	if !deletion && (s.Covers(h.lane()) || s.says(h)) {
		return "", false
	}
	return s.names(h.lane(), f), true
}

// says reports whether a frame holds the text of a deleted message: it ends it,
// or repeats what a scheduled job said.
func (s *scrubber) says(h head) bool {
	gone := slices.Contains(s.Messages, h.Payload.MessageID)
	switch h.Type {
	case wire.Message{}.FrameType():
		if h.Payload.Role == iris.RoleCron {
			s.cron[h.lane()] = gone
		}
		return gone
	case wire.MessageStop{}.FrameType(), wire.Commentary{}.FrameType():
		return gone
	case wire.MediaOffer{}.FrameType():
		return slices.Contains(s.Media, h.Payload.MediaID)
	case wire.Notification{}.FrameType():
		return h.Payload.Kind == "cron" && s.cron[h.lane()]
	}
	return false
}

// names takes names out of a frame about the directory: those of deleted
// messages' words, and those of deleted channels.
func (s *scrubber) names(lane iris.Lane, f string) string {
	switch p, ok := hub.Payload[wire.ChannelCreated](f); {
	case ok && s.named(p.Name):
		p.Name = Unnamed
		return wire.Encode(lane, p)
	}
	switch p, ok := hub.Payload[wire.ChannelRenamed](f); {
	case ok && s.named(p.Name):
		p.Name = Unnamed
		return wire.Encode(lane, p)
	}
	p, ok := hub.Payload[wire.ChannelList](f)
	if !ok {
		return f
	}
	changed := false
	p.Channels = slices.DeleteFunc(p.Channels, func(c wire.Channel) bool {
		gone := s.Covers(iris.Lane{ChatID: c.ChatID, ThreadID: c.ThreadID})
		changed = changed || gone
		return gone
	})
	for i := range p.Channels {
		if s.named(p.Channels[i].Name) {
			p.Channels[i].Name, changed = Unnamed, true
		}
	}
	if !changed {
		return f
	}
	return wire.Encode(lane, p)
}

func (s *scrubber) named(name string) bool {
	return len(s.Names) > 0 && slices.Contains(s.Names, HashName(name))
}

// item returns what is left of an inbound item.
func (s *scrubber) item(encoded string) string {
	var in link.Inbound
	if json.Unmarshal([]byte(encoded), &in) != nil {
		return encoded
	}
	switch in.Kind {
	case link.InboundDelete, link.InboundLaneDelete, link.InboundDeleted:
		return encoded
	case link.InboundMessage, link.InboundSteer:
	default:
		if s.Covers(in.Lane()) {
			return deleted(in)
		}
		return encoded
	}
	var m link.Message
	if s.Covers(in.Lane()) || json.Unmarshal(in.Body, &m) != nil || slices.Contains(s.Messages, m.MessageID) {
		return deleted(in)
	}
	if in.Kind == link.InboundMessage && s.message(&m) {
		return link.EncodeItem(link.Item{Kind: in.Kind, ChatID: in.ChatID, ThreadID: in.ThreadID, Body: m})
	}
	return encoded
}

// message takes what a message repeats of deleted ones out of it, and reports
// whether there was something.
func (s *scrubber) message(m *link.Message) bool {
	changed := false
	if q := m.ReplyTo; q != nil && q.Text != "" && (slices.Contains(s.Messages, q.MessageID) || s.Covers(q.Lane())) {
		q.Text, changed = "", true
	}
	if s.named(m.Channel.ThreadName) {
		m.Channel.ThreadName, changed = Unnamed, true
	}
	return changed
}

// deleted keeps the place of an item.
func deleted(in link.Inbound) string {
	return link.EncodeItem(link.Item{Kind: link.InboundDeleted, ChatID: in.ChatID, ThreadID: in.ThreadID, Body: struct{}{}})
}

func (s *scrubber) live(l iris.Live) (iris.Live, bool) {
	return Live(l, func(id string) bool { return slices.Contains(s.Messages, id) })
}

// Live takes messages out of a turn's live document, and reports whether there
// were any.
func Live(l iris.Live, gone func(message string) bool) (iris.Live, bool) {
	t, ok := hub.TurnOf(l)
	if !ok {
		return l, false
	}
	n := len(t.Messages)
	t.Messages = slices.DeleteFunc(t.Messages, func(m link.TurnMessage) bool { return gone(m.MessageID) })
	if len(t.Messages) == n {
		return l, false
	}
	t.Reasoning = "" // what led to them
	data, err := json.Marshal(t)
	if err != nil {
		return l, false
	}
	l.Data = string(data)
	return l, true
}
