// Package turn makes device frames of what an agent does: events of the host
// link in, frames out. It is pure: no I/O, and no clock but the events' own.
package turn

import (
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Frame is one frame that an event led to.
type Frame struct {
	Lane    iris.Lane
	Payload wire.Payload

	// Durable frames become part of a log entry, together with Changes; the
	// others are live: they may be merged or dropped.
	Durable  bool
	Changes  []iris.Change
	Messages []string // message ids that the frame touches
	Notify   bool     // deserves a push to devices that do not see it live
}

// live adds a frame that may be lost.
func (m *Machine) live(lane iris.Lane, p wire.Payload, messages ...string) {
	m.out = append(m.out, Frame{Lane: lane, Payload: p, Messages: messages})
}

// entry adds a durable frame.
func (m *Machine) entry(lane iris.Lane, p wire.Payload, changes ...iris.Change) *Frame {
	m.out = append(m.out, Frame{Lane: lane, Payload: p, Durable: true, Changes: changes})
	return &m.out[len(m.out)-1]
}

// row adds the durable frame of a message that ends, together with its row.
func (m *Machine) row(p wire.Payload, row iris.Message, notify bool) {
	f := m.entry(row.Lane, p, iris.PutMessage{Message: row})
	f.Messages = []string{row.ID}
	f.Notify = notify
	m.stopped.add(row.ID)
}
