package hub

import (
	"slices"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// freshFor is how long after the beginning of the tail a live document that is
// written may still tell of the time before: as long as a write may take, twice.
const freshFor = 2 * commitTimeout

// over is what the log says has ended. A live document may be older than the
// tail: a message or tool that has ended must not appear again.
type over struct {
	messages ids
	tools    map[iris.Lane][]int // indexes, of the turn that runs in the lane
	waiting  map[iris.Lane]bool  // whether that turn waits for an answer
}

func newOver() over { return over{tools: map[iris.Lane][]int{}, waiting: map[iris.Lane]bool{}} }

// see takes the entries that leave the tail.
func (o *over) see(e iris.Entry) {
	o.messages.add(e.Messages)
	for _, f := range e.Frames {
		switch frameType(f) {
		case wire.AgentBusy{}.FrameType():
			o.busy(f)
		case wire.AgentIdle{}.FrameType():
			delete(o.tools, laneOf(f))
			delete(o.waiting, laneOf(f))
		case wire.ToolEnd{}.FrameType():
			if end, ok := Payload[wire.ToolEnd](f); ok {
				o.tools[laneOf(f)] = append(o.tools[laneOf(f)], end.Index)
			}
		}
	}
}

// busy takes a turn that begins, or goes over to waiting and back: that is still
// the same one.
func (o *over) busy(frame string) {
	lane := laneOf(frame)
	busy, _ := Payload[wire.AgentBusy](frame)
	switch {
	case busy.Reason == "waiting_input":
		o.waiting[lane] = true
	case o.waiting[lane]:
		delete(o.waiting, lane)
	default:
		delete(o.tools, lane)
	}
}

// hides reports whether a live frame is of something that has ended.
func (o *over) hides(f liveFrame) bool {
	switch p := f.of.(type) {
	case wire.MessageStart:
		return o.messages.has(p.MessageID)
	case wire.MessageUpdate:
		return o.messages.has(p.MessageID)
	case wire.ToolStart:
		return slices.Contains(o.tools[f.lane], p.Index)
	case wire.ToolProgress:
		return slices.Contains(o.tools[f.lane], p.Index)
	}
	return false
}

// without returns the turn without what has ended.
func (o *over) without(t link.Turn) link.Turn {
	t.Messages = slices.DeleteFunc(slices.Clone(t.Messages), func(m link.TurnMessage) bool { return o.messages.has(m.MessageID) })
	t.Tools = slices.DeleteFunc(slices.Clone(t.Tools), func(tool link.TurnTool) bool {
		return slices.Contains(o.tools[t.Lane()], tool.Index)
	})
	return t
}

// ids is a set that forgets the oldest ones.
type ids struct {
	known map[string]bool
	order []string
}

// keepIDs is more than what ends within the life of a live document.
const keepIDs = 1024

func (s *ids) has(id string) bool { return s.known[id] }

func (s *ids) add(all []string) {
	for _, id := range all {
		if s.known[id] {
			continue
		}
		if s.known == nil {
			s.known = map[string]bool{}
		}
		s.known[id] = true
		if s.order = append(s.order, id); len(s.order) > keepIDs {
			delete(s.known, s.order[0])
			s.order = s.order[1:]
		}
	}
}
