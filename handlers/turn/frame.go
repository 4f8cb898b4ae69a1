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
