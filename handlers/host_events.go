package handlers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/turn"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// take makes of an event what devices and log get of it. malformed says that
// its form is wrong: it can never be taken, so it is acknowledged and shown.
func (h *hostSession) take(a *hub.Actor, ev link.Event, more beside, malformed error, done func()) {
	if ev.Seq > 0 && ev.Seq <= h.taken { // repeated: it is in the log, or on its way there
		h.ack(h.acked)
		done()
		return
	}
	if ev.Seq > h.hello.LastSeq {
		h.settle(a, h.hello.LastSeq)
	}
	h.taken, h.heard = max(h.taken, ev.Seq), time.Now()
	var frames []turn.Frame
	err := malformed
	if _, ok := a.State().Channel(ev.Lane()); err == nil && ok {
		frames, err = h.machine.Handle(ev)
	}
	if ev.Kind == link.KindMedia && err == nil {
		decided := done // what people delete until then may go before it into the log
		done = func() { h.dropOrphan(a, ev); decided() }
	}
	if err != nil {
		h.log.Warn("event dropped", "kind", ev.Kind, "seq", ev.Seq, "err", err)
		frames, more = h.notice(a, ev.Seq, fmt.Sprintf("the event %q", printable(ev.Kind)), err), nil
	}
	h.publish(a, ev.Seq, ev.Lane(), frames, more, done)
	h.settle(a, h.taken)
}

// notice shows a person that something of the host was dropped: what, and why.
// Of live events (seq 0) nothing is said.
func (h *hostSession) notice(a *hub.Actor, seq int64, what string, err error) []turn.Frame {
	if seq == 0 {
		return nil
	}
	return []turn.Frame{{
		Lane: iris.Lane{ChatID: a.State().Gateway.DefaultChat}, Durable: true,
		Payload: wire.Notification{
			Kind: "generic", Title: "Something of the agent was lost", TS: time.Now().UnixMilli(),
			Body: fmt.Sprintf("The gateway could not take %s of the agent: %s", what, public(err).Message),
		},
	}}
}

// settle closes the turns that the host did not name in its hello, once
// everything that it had to repeat has been taken.
func (h *hostSession) settle(a *hub.Actor, taken int64) {
	if h.settled || taken < h.hello.LastSeq {
		return
	}
	h.settled = true
	h.publish(a, 0, iris.Lane{}, h.machine.Lost(), nil, nil)
}

// settleWait is how long a host that has been welcomed may be silent until
// nothing that it could repeat is expected any more: it may have forgotten what
// was acknowledged, though the log's seq is lower, or dropped it from a full spool.
const settleWait = 3 * time.Second

// settleInTime settles also if the host's last event does not come again. A
// pong says that nothing is on its way: this process may have been frozen, or
// the network slow.
func (h *hostSession) settleInTime() {
	if h.settled {
		return
	}
	h.settling = time.AfterFunc(settleWait, func() {
		_ = h.gateway.Do(func(a *hub.Actor) {
			a.Go(func(ctx context.Context) {
				ctx, cancel := context.WithTimeout(ctx, hostPongWait)
				defer cancel()
				if h.ws.Ping(ctx) == nil {
					_ = h.gateway.Do(h.settleIfQuiet)
				}
			})
		})
	})
}

func (h *hostSession) settleIfQuiet(a *hub.Actor) {
	if time.Since(h.heard) < settleWait {
		h.settleInTime()
		return
	}
	h.settle(a, h.hello.LastSeq)
}

// publish sends the frames of an event: the live ones at once or behind the
// durable ones in front of them, those by the log. An event without durable
// frames (seq > 0) is acknowledged in its turn. What goes into the log contains
// all events so far, whichever led to it: a live one may end the message that
// earlier ones have completed.
func (h *hostSession) publish(a *hub.Actor, seq int64, lane iris.Lane, frames []turn.Frame, more beside, done func()) {
	if done == nil {
		done = func() {}
	}
	var draft hub.Draft
	var behind []turn.Frame
	for _, f := range frames {
		switch {
		case f.Durable:
			draft.Add(f.Lane, f.Payload)
			draft.Changes = append(draft.Changes, f.Changes...)
			draft.Messages = append(draft.Messages, f.Messages...)
			draft.Notify = draft.Notify || f.Notify
			lane = f.Lane
		case len(draft.Frames) == 0:
			a.Live(f.Lane, f.Payload)
		default:
			behind = append(behind, f)
		}
	}
	a.TurnsChanged()
	draft.Changes = append(draft.Changes, a.EndLive(h.machine.Open())...)
	if seq == 0 && len(draft.Frames) == 0 {
		done()
		return
	}
	if len(draft.Frames) > 0 {
		draft.Changes = append(draft.Changes, h.keep(a)...)
	} else {
		h.unkept = true
	}
	upTo := h.taken
	if len(draft.Frames) > 0 {
		h.made = upTo
	}
	h.proposed++
	a.Propose(hub.Proposal{
		Lane:   lane,
		Decide: func(s *hub.State) (hub.Draft, error) { return h.decide(s, seq, upTo, lane, draft, more) },
		Done: func(_ *hub.Actor, r hub.Result) {
			h.proposed--
			h.committed(a, seq, upTo, r)
			done()
		},
	})
	for _, f := range behind {
		a.Live(f.Lane, f.Payload)
	}
}

// errSuperseded says that a newer link of the host is in the log.
var errSuperseded = errors.New("a newer link of the host took over")

// errReadAnew ends a connection whose turns are older than the state.
var errReadAnew = iris.Errorf(iris.CodeUnavailable, "the gateway was read anew, connect again")

// decide appends an event's draft, unless the log has it already, or its lane
// is gone.
func (h *hostSession) decide(s *hub.State, seq, upTo int64, lane iris.Lane, draft hub.Draft, more beside) (hub.Draft, error) {
	switch {
	case s.HostLink.ID != h.host.Link.ID:
		return hub.Draft{}, errSuperseded
	case s.Loads != h.loads: // what was deleted in between is not known
		return hub.Draft{}, errReadAnew
	}
	mark := s.Host
	if seq > 0 && seq <= mark.Seq {
		return hub.Draft{}, nil
	}
	mark.Seq = max(mark.Seq, upTo)
	if _, ok := s.Channel(lane); !ok {
		return hub.Draft{Host: &mark}, nil
	}
	draft = unerased(s, draft)
	draft.Host = &mark
	// It may be decided again: what is added must not meet what was added before.
	draft.Lanes, draft.Messages = slices.Clip(draft.Lanes), slices.Clip(draft.Messages)
	pickerRows(s, &draft)
	if more != nil {
		more(s, &draft)
	}
	return draft, nil
}

// committed acknowledges events that are in the log, or that can never be.
func (h *hostSession) committed(a *hub.Actor, seq, upTo int64, r hub.Result) {
	switch err := r.Err; {
	case err == nil && upTo <= a.State().Host.Seq:
		h.ack(upTo)
		return
	case err == nil:
		h.ackLater(upTo)
		return
	case errors.Is(err, errSuperseded):
		return
	case iris.ErrorCode(err) == iris.CodeUnavailable: // the host sends it again
		h.socket.Close(wire.CloseGoingAway, "the log takes no more, connect again")
		return
	case errors.Is(err, iris.ErrRefused): // its lane was deleted meanwhile
	default:
		h.log.Error("event dropped", "seq", seq, "err", err)
		h.publish(a, 0, iris.Lane{}, h.notice(a, seq, "an event", err), nil, h.beginAnew)
	}
	h.ackLater(upTo)
}

// beginAnew ends the connection when the turns in memory have gone on and the
// log has not: the next one reads them from there, and closes what has ended.
func (h *hostSession) beginAnew() {
	h.socket.Close(wire.CloseGoingAway, "an event could not be taken, connect again")
}

// ackWait is how long an event that makes no commit of its own waits for one
// that takes it along (host-link.md, "Events").
const ackWait = time.Second

// ackLater acknowledges an event that led to nothing durable with the next
// commit. Until then only this instance's memory has it: the last edit of an
// answer is in the log with its turn's end, and an instance that died in
// between, with the edit acknowledged, took the answer along.
func (h *hostSession) ackLater(seq int64) {
	h.void = max(h.void, seq)
	if h.ackTimer != nil {
		return
	}
	h.ackTimer = time.AfterFunc(ackWait, func() {
		_ = h.gateway.Do(func(a *hub.Actor) {
			h.ackTimer = nil
			if h.proposed == 0 && h.void > h.acked { // else the next commit does it
				h.contain(a, h.void)
			}
		})
	})
}

// keep returns the changes that go with an entry which contains events that led
// to nothing durable: what they said of a text is in its live document then.
func (h *hostSession) keep(a *hub.Actor) []iris.Change {
	if !h.unkept {
		return nil
	}
	h.unkept = false
	return a.KeepLive(h.host)
}

// contain makes an entry that says nothing but that the events up to seq were
// taken. An acknowledgement alone would not do: the log would wait for ever for
// events that the host has forgotten, and not close the turns that it lost.
func (h *hostSession) contain(a *hub.Actor, seq int64) {
	texts := h.keep(a)
	h.proposed++
	a.Propose(hub.Proposal{
		Decide: func(s *hub.State) (hub.Draft, error) {
			d, err := h.decide(s, 0, seq, iris.Lane{}, hub.Draft{}, nil)
			if d.Keep = err == nil && s.Host.Seq < seq; d.Keep {
				d.Changes = texts
			}
			return unerased(s, d), err
		},
		Done: func(_ *hub.Actor, r hub.Result) {
			h.proposed--
			h.committed(a, 0, seq, r)
		},
	})
}

// ack tells the host that it may forget its events up to seq.
func (h *hostSession) ack(seq int64) {
	if seq > 0 {
		h.acked = max(h.acked, seq)
		h.socket.SendLive(string(link.Encode(link.TypeAcked, link.Acked{Seq: h.acked})), link.TypeAcked)
	}
}
