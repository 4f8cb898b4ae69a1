package hub

import (
	"fmt"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// liveFrame is an ephemeral frame on its way to the devices.
type liveFrame struct {
	frame string
	key   string // a newer frame of the same key takes its place
	lane  iris.Lane
	of    wire.Payload
}

// Live sends an ephemeral frame of a lane to the devices, but never past a
// terminal frame of that lane that still waits for its commit. The newest of
// its kind and subject takes the place of an unsent one.
func (a *Actor) Live(lane iris.Lane, p wire.Payload) {
	f := liveFrame{frame: wire.Encode(lane, p), key: liveKey(lane, p), lane: lane, of: p}
	if p := a.lastOf(lane); p != nil {
		p.after = replaceLive(p.after, f)
		return
	}
	a.fanOutLive(f)
}

// liveKey names what a live frame is about.
func liveKey(lane iris.Lane, p wire.Payload) string {
	key := p.FrameType() + "\x00" + lane.Key()
	switch p := p.(type) {
	case wire.MessageStart:
		key += "\x00" + p.MessageID
	case wire.MessageUpdate:
		key += "\x00" + p.MessageID
	case wire.ToolStart:
		key += fmt.Sprint("\x00", p.Index)
	case wire.ToolProgress:
		key += fmt.Sprint("\x00", p.Index)
	}
	return key
}

// lastOf returns the last proposal of a lane that is not yet in the log.
func (a *Actor) lastOf(lane iris.Lane) *proposal {
	for i := len(a.queue) - 1; i >= 0; i-- {
		if a.queue[i].Lane == lane {
			return a.queue[i]
		}
	}
	if a.flight != nil {
		for i := len(a.flight.proposals) - 1; i >= 0; i-- {
			if p := a.flight.proposals[i]; p.Lane == lane {
				return p
			}
		}
	}
	return nil
}

func replaceLive(frames []liveFrame, f liveFrame) []liveFrame {
	for i := range frames {
		if frames[i].key == f.key {
			frames = append(frames[:i], frames[i+1:]...)
			break
		}
	}
	return append(frames, f)
}

// fanOutLive passes a live frame on. One that waited may be of something that
// has ended meanwhile, by the hand of another instance.
func (a *Actor) fanOutLive(f liveFrame) {
	if a.over.hides(f) {
		return
	}
	for _, d := range a.devices {
		if d.live {
			d.Socket.SendLive(f.frame, f.key)
		}
	}
}

// step is a frame of an entry on its way to the devices, or a live frame that
// waited for one.
type step struct {
	frame string
	key   string    // of a live frame
	asked *proposal // the request that the frame answers
}

// steps lists what an entry sends, in order. Live frames that waited behind a
// proposal follow it, in front of the proposals of the same entry behind it.
func (a *Actor) steps(e iris.Entry, own *group) []step {
	var all []step
	if own == nil {
		for _, f := range e.Frames {
			all = append(all, step{frame: f})
		}
		return all
	}
	for _, p := range own.proposals {
		if p.err == nil {
			for i, f := range p.draft.Frames {
				s := step{frame: f}
				if i == p.draft.Answer && p.Origin != nil && (p.ID != nil || p.Instead != "") {
					s.asked = p
				}
				all = append(all, s)
			}
			a.over.see(iris.Entry{Frames: p.draft.Frames, Messages: p.draft.Messages})
		}
		for _, l := range p.after {
			if !a.over.hides(l) {
				all = append(all, step{frame: l.frame, key: l.key})
			}
		}
		p.after = nil
	}
	return all
}

// fanOut passes an entry on to the devices that follow the log. The device
// that asked gets its answer, with the request's id, in the place of the frame
// that the others get; answers are never held.
func (a *Actor) fanOut(e iris.Entry, own *group) {
	all := a.steps(e, own)
	for _, d := range a.devices {
		if d.live {
			d.follow(all, e.Cursor)
		}
	}
	for _, s := range all {
		if p := s.asked; p != nil && !p.answered {
			p.answer(s.frame)
		}
	}
}

// answer sends Origin what it gets in the place of the frame.
func (p *proposal) answer(frame string) {
	p.answered = true
	switch {
	case p.Instead == "":
		p.Origin.Socket.Send(wire.WithID(frame, p.ID))
	case p.ID != nil:
		p.Origin.Socket.Send(wire.WithID(p.Instead, p.ID))
	}
}

// follow sends the steps of the entry at cursor.
func (d *Device) follow(all []step, cursor int64) {
	for _, s := range all {
		switch {
		case s.key != "":
			d.Socket.SendLive(s.frame, s.key)
		case s.asked != nil && s.asked.Origin == d:
			s.asked.answer(s.frame)
		default:
			d.Socket.Send(s.frame)
		}
	}
	d.pos = cursor
	d.Socket.Mark(cursor)
}

// dropLive forgets the live frames that wait: they are of a host that another
// connection has replaced.
func (a *Actor) dropLive() {
	for _, p := range a.queue {
		p.after = nil
	}
	if a.flight != nil {
		for _, p := range a.flight.proposals {
			p.after = nil
		}
	}
}
