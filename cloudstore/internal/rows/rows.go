// Package rows holds what both stores do to a value before it is kept: a deep
// copy, times as Firestore keeps them, and the refusal of what Firestore would
// never take. It is here, once, so that the memory store cannot be kinder than
// production.
package rows

import (
	"slices"
	"time"

	"iris-gateway/iris"
)

// Time returns t as Firestore keeps it: UTC, whole microseconds.
func Time(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Entry returns a deep copy of e. Empty lists become nil.
func Entry(e iris.Entry) iris.Entry {
	e.Frames = list(e.Frames)
	e.Inbound = list(e.Inbound)
	e.Control = list(e.Control)
	for i := range e.Control {
		e.Control[i].Link = Link(e.Control[i].Link)
		if d := e.Control[i].Deletion; d != nil {
			copied := Deletion(*d)
			e.Control[i].Deletion = &copied
		}
	}
	e.Lanes = list(e.Lanes)
	e.Messages = list(e.Messages)
	return e
}

// FirstEntry is the entry that a log begins with. It is written with the
// gateway's row, so that every append has an entry to guard: without it, an
// appender that read the empty log and slept until the ring had dropped entry 1
// landed there, far behind the head (log.md, "Ring").
func FirstEntry() iris.Entry {
	return iris.Entry{Cursor: 1, Writer: "gateway", Batch: 1, First: 1}
}

// Message returns a deep copy of m, without its terms.
func Message(m iris.Message) iris.Message {
	if m.Runtime != nil {
		r := *m.Runtime
		m.Runtime = &r
	}
	m.Media = list(m.Media)
	for i := range m.Media {
		m.Media[i] = Media(m.Media[i])
	}
	m.At, m.Expires, m.Terms = Time(m.At), Time(m.Expires), nil
	return m
}

// Media returns a copy of m.
func Media(m iris.Media) iris.Media {
	m.Created = Time(m.Created)
	return m
}

// Gateway returns a deep copy of g.
func Gateway(g iris.Gateway) iris.Gateway {
	g.Host = Host(g.Host)
	g.Created = Time(g.Created)
	return g
}

// Host returns a deep copy of h.
func Host(h iris.Host) iris.Host {
	h.Link = Link(h.Link)
	h.Commands = list(h.Commands)
	h.Seen = Time(h.Seen)
	return h
}

// Channel returns a copy of c.
func Channel(c iris.Channel) iris.Channel {
	c.ReadAt = Time(c.ReadAt)
	return c
}

// Picker returns a copy of p.
func Picker(p iris.Picker) iris.Picker {
	p.At = Time(p.At)
	return p
}

// Deletion returns a deep copy of d.
func Deletion(d iris.Deletion) iris.Deletion {
	d.Messages, d.Threads, d.Names, d.Media = list(d.Messages), list(d.Threads), list(d.Names), list(d.Media)
	d.At = Time(d.At)
	return d
}

// Device returns a copy of d.
func Device(d iris.Device) iris.Device {
	d.Link = Link(d.Link)
	d.Push = PushState(d.Push)
	d.Seen = Time(d.Seen)
	d.Created = Time(d.Created)
	return d
}

// Token returns a copy of t.
func Token(t iris.Token) iris.Token {
	t.Expires = Time(t.Expires)
	t.Created = Time(t.Created)
	return t
}

// Link returns a copy of l.
func Link(l iris.Link) iris.Link {
	l.At = Time(l.At)
	return l
}

func list[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return slices.Clone(s)
}

// PushState returns a copy of p.
func PushState(p iris.PushState) iris.PushState {
	p.At, p.Until = Time(p.At), Time(p.Until)
	return p
}
