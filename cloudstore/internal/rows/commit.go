package rows

import (
	"fmt"
	"time"
	"unicode/utf8"

	"iris-gateway/iris"
	"iris-gateway/search"
)

// What a store takes at most. The hub keeps to tighter limits (log.md,
// "Commit"); these are where Firestore itself says no, less a margin for what
// the encoding adds. Checked here because the answer of Firestore would
// mislead: a commit above 4 MiB is answered by the emulator with
// ResourceExhausted, which the client repeats until the deadline, and text
// that is no UTF-8 with Internal. Both read as "no answer, repeat", for ever.
const (
	MaxDocument  = 1_000_000
	MaxCommit    = 3_900_000
	MaxWrites    = 500
	MaxCursor    = 999_999_999_999 // what 12 digits hold
	itemOverhead = 32              // tags, lengths and field names around each value
)

// Commit returns a deep copy of c, as it is to be written: its messages carry
// the cursor of its entry, the terms of their text, and when they expire (never,
// with retention 0). The error wraps [iris.ErrRejected] and says what could
// never be written.
func Commit(c iris.Commit, retention time.Duration) (iris.Commit, error) {
	if c.Entry.Cursor < 1 || c.Entry.Cursor > MaxCursor {
		return c, rejected("cursor %d is not in 1 … %d", c.Entry.Cursor, MaxCursor)
	}
	if n := 2 + len(c.Drop) + len(c.Changes); n > MaxWrites {
		return c, rejected("%d writes, at most %d", n, MaxWrites)
	}
	out := iris.Commit{Entry: Entry(c.Entry), Guard: c.Guard, Drop: list(c.Drop)}
	total, err := checked(entryDocument, "entry", out.Entry)
	if err != nil {
		return c, err
	}
	written := map[string]bool{} // messages
	for _, ch := range c.Changes {
		ch, size, err := change(ch, c.Entry.Cursor, retention)
		if err == nil {
			err = once(written, ch)
		}
		if err != nil {
			return c, err
		}
		total += size
		out.Changes = append(out.Changes, ch)
	}
	if total > MaxCommit {
		return c, rejected("commit of %d bytes, at most %d", total, MaxCommit)
	}
	return out, nil
}

// once refuses a message that is created after the commit has already written
// it. Firestore calls that InvalidArgument, so it is no conflict: alone, the
// second would be refused by the row of the first.
func once(written map[string]bool, ch iris.Change) error {
	switch c := ch.(type) {
	case iris.CreateMessage:
		if written[c.Message.ID] {
			return rejected("message %q is created twice", c.Message.ID)
		}
		written[c.Message.ID] = true
	case iris.PutMessage:
		written[c.Message.ID] = true
	}
	return nil
}

func change(ch iris.Change, cursor int64, retention time.Duration) (iris.Change, int, error) {
	var size int
	var err error
	switch c := ch.(type) {
	case iris.CreateMessage:
		c.Message = newMessage(c.Message, cursor, retention)
		size, err = checked(messageDocument, "message", c.Message)
		return c, size, err
	case iris.PutMessage:
		c.Message = newMessage(c.Message, cursor, retention)
		size, err = checked(messageDocument, "message", c.Message)
		return c, size, err
	case iris.PutChannel:
		c.Channel = Channel(c.Channel)
		size, err = checked(channelDocument, "channel", c.Channel)
		return c, size, err
	case iris.SetBusy:
		size, err = checked(texts, "lane", []string{c.Lane.ChatID, c.Lane.ThreadID, c.Turn})
		return c, size, err
	case iris.SetDeviceLink:
		c.Link, c.Seen = Link(c.Link), Time(c.Seen)
		size, err = checked(texts, "device", append(linkStrings(c.Link), c.Device, c.Name))
		return c, size, err
	case iris.SetHost:
		c.Host = Host(c.Host)
		size, err = checked(hostDocument, "host", c.Host)
		return c, size, err
	case iris.SetHostLink:
		c.Link, c.Seen = Link(c.Link), Time(c.Seen)
		size, err = checked(texts, "host link", linkStrings(c.Link))
		return c, size, err
	case iris.PutLive:
		c.Live.At = Time(c.Live.At)
		size, err = checked(texts, "live document", []string{c.Live.Turn, c.Live.Lane.ChatID, c.Live.Lane.ThreadID, c.Live.Writer, c.Live.Data})
		return c, size, err
	case iris.DropLive:
		size, err = checked(texts, "turn", []string{c.Turn})
		return c, size, err
	default:
		return lateChange(ch)
	}
}

// checked measures a document and refuses one that is too large or holds text
// that is no UTF-8.
func checked[T any](measure func(*meter, T), what string, v T) (int, error) {
	m := &meter{size: itemOverhead}
	measure(m, v)
	if m.invalid {
		return 0, rejected("%s holds text that is no UTF-8", what)
	}
	if m.size > MaxDocument {
		return 0, rejected("%s of %d bytes, at most %d", what, m.size, MaxDocument)
	}
	return m.size, nil
}

type meter struct {
	size    int
	invalid bool
}

func (m *meter) text(ss ...string) {
	for _, s := range ss {
		m.size += len(s) + itemOverhead
		m.invalid = m.invalid || !utf8.ValidString(s)
	}
}

func entryDocument(m *meter, e iris.Entry) {
	m.size += 10 * itemOverhead // the numbers and times
	m.text(e.Writer, e.Host.Epoch)
	m.text(e.Frames...)
	m.text(e.Inbound...)
	m.text(e.Messages...)
	for _, c := range e.Control {
		m.size += 4 * itemOverhead
		m.text(string(c.Kind), c.Device, c.Push, c.Done.Error)
		m.text(linkStrings(c.Link)...)
		if c.Deletion != nil {
			deletionDocument(m, *c.Deletion)
		}
	}
	for _, l := range e.Lanes {
		m.text(l.ChatID, l.ThreadID)
	}
}

func messageDocument(m *meter, msg iris.Message) {
	m.size += 10 * itemOverhead
	m.text(msg.ID, msg.Lane.ChatID, msg.Lane.ThreadID, string(msg.Role))
	m.text(msg.Text, msg.Reasoning, msg.ReplyTo, msg.Model)
	for _, media := range msg.Media {
		m.size += 3 * itemOverhead
		m.text(media.ID, media.Kind, media.MIME, media.SHA256, media.Filename)
	}
	for _, term := range msg.Terms { // folded text, so it is UTF-8 if the text is
		m.size += len(term) + search.TermOverhead
	}
	if msg.Runtime != nil {
		m.text(msg.Runtime.Model, msg.Runtime.Cwd)
	}
}

func channelDocument(m *meter, c iris.Channel) {
	m.text(c.Lane.ChatID, c.Lane.ThreadID, c.Name, c.Kind, c.ReadMessageID, c.Busy)
}

func hostDocument(m *meter, h iris.Host) {
	m.size += len(h.Commands) + 2*itemOverhead
	m.text(h.Version, h.Model)
	m.text(linkStrings(h.Link)...)
}

func texts(m *meter, ss []string) { m.text(ss...) }

func linkStrings(l iris.Link) []string { return []string{l.ID, l.Instance} }

func rejected(format string, args ...any) error {
	return fmt.Errorf("%w: %s", iris.ErrRejected, fmt.Sprintf(format, args...))
}
