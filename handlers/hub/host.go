package hub

import (
	"errors"
	"time"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/turn"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Host is the connection of a host, attached to its gateway here. Its fields
// but the first two belong to the gateway's actor.
type Host struct {
	Link   iris.Link
	Socket *Socket

	// Sent is told of each item that goes to the host.
	Sent func(cursor int64, item string)
	// Snapshot returns the frames that a device needs which connects in the
	// middle of a turn.
	Snapshot func() []turn.Frame
	// Erase is told of a deletion that has begun; nil if nobody needs to know.
	Erase func(d iris.Deletion)
	// Refuse ends the connection, whose token is no longer valid.
	Refuse func(why string)
	// Open returns the turns that run.
	Open func() []link.Turn
	// Made returns the newest event that had to do with the log when Open was
	// called; nil for none.
	Made func() int64

	live bool
	pos  int64 // inbound up to here was sent
	gone bool  // detached, perhaps before the attachment was in the log
}

// AttachHost makes h the host's connection: it appends the attachment, and
// then calls attached on the actor, with what the log said of the host just
// before. A new epoch begins with event 1.
func (a *Actor) AttachHost(h *Host, host iris.Host, epoch string, attached func(a *Actor, before iris.HostMark, err error)) {
	h.Link.Instance = a.writer
	host.Link = h.Link
	var before iris.HostMark
	a.Propose(Proposal{
		Decide: func(s *State) (Draft, error) {
			switch {
			case h.gone || h.Socket.closes(): // or it would replace the connection that the host has by now
				return Draft{}, errGone
			case late(h.Link, s.HostLink):
				return Draft{}, errSuperseded
			case s.Host.Epoch != epoch && s.HostLink.At.After(h.Link.At):
				// The spool that was lost: its epoch would begin the new one anew.
				return Draft{}, errSuperseded
			}
			before = s.Host // not what was known when the host came: another instance may have gone on
			mark := s.Host
			if mark.Epoch != epoch {
				mark.Epoch, mark.Seq = epoch, 0
			}
			return Draft{
				Control: []iris.Control{{Kind: iris.HostAttached, Link: h.Link}},
				Changes: []iris.Change{iris.SetHost{Host: host}},
				Host:    &mark,
			}, nil
		},
		Done: func(a *Actor, r Result) {
			if r.Err == nil && a.state.HostLink.ID != h.Link.ID { // a newer one is in the same entry, or came with a reload
				r.Err = errSuperseded
			}
			switch {
			case errors.Is(r.Err, errSuperseded):
				h.Socket.Close(wire.CloseSuperseded, hostSuperseded)
			case r.Err == nil:
				h.pos = r.Cursor
				a.host = h
			}
			attached(a, before, r.Err)
			if h.gone {
				a.DetachHost(h)
			}
		},
	})
}

// DetachHost ends what AttachHost began, unless a newer connection took over.
func (a *Actor) DetachHost(h *Host) {
	h.gone = true
	if a.host != h {
		return
	}
	a.leaveHost(h)
	seen := time.Now()
	a.Propose(Proposal{Decide: func(s *State) (Draft, error) {
		if s.HostLink.ID != h.Link.ID {
			return Draft{}, nil
		}
		return Draft{
			Control: []iris.Control{{Kind: iris.HostDetached, Link: h.Link}},
			Changes: []iris.Change{iris.SetHostLink{Link: ended(h.Link), Seen: seen}},
		}, nil
	}})
}

// deliver sends the inbound of a new entry, if the host has caught up with
// the older ones.
func (h *Host) deliver(e iris.Entry) {
	if h.live && e.Cursor > h.pos {
		h.Deliver(e)
	}
}

// Deliver sends the inbound of an entry. Only the actor may call it.
func (h *Host) Deliver(e iris.Entry) {
	for i, item := range e.Inbound {
		h.Sent(e.Cursor, item)
		h.Socket.Send(string(link.EncodeInbound(e.Cursor, i, len(e.Inbound), item)))
	}
	h.pos = e.Cursor
}

// CatchUpHost lets h get inbound as it comes, if everything up to cursor was
// sent and nothing is missing; otherwise it reports false.
func (a *Actor) CatchUpHost(h *Host, cursor int64) bool {
	if cursor < a.state.LastInbound {
		return false
	}
	h.live = true
	return true
}

// leaveHost forgets the connection h, but not what ran.
func (a *Actor) leaveHost(h *Host) {
	a.host, a.turns, a.made = nil, h.Open(), 0
	if h.Made != nil {
		a.made = h.Made()
	}
}

// OpenTurns returns what ran when the host's last connection ended, if that was
// here and the log has all that it is made of: events up to logged. Otherwise
// it is ahead of the log, and the host repeats what is missing.
func (a *Actor) OpenTurns(logged int64) []link.Turn {
	if a.made > logged {
		return nil
	}
	return a.turns
}

// Received remembers that the host has all inbound up to cursor. It goes into
// the log with the next entry.
func (a *Actor) Received(cursor int64) {
	a.received = max(a.received, min(cursor, a.state.Cursor))
	a.tellStatus()
}
