package chat

import "time"

// exchange is a message and its answer. No frame says which message a turn
// answers, but a lane answers one after the other: the turn that ends after
// the message was taken is its answer, or the one after that if the lane was
// busy then.
type exchange struct {
	clientID string
	silence  time.Duration

	taken    bool // the gateway has the message
	ends     int  // turns still to end
	busy     bool
	complete bool
	timer    <-chan time.Time // an answer that ended no turn
}

func newExchange(clientID string, busy bool, silence time.Duration) *exchange {
	e := &exchange{clientID: clientID, silence: silence, ends: 1, busy: busy}
	if busy {
		e.ends = 2
	}
	return e
}

// is reports whether it is about the message with a client id.
func (e *exchange) is(clientID string) bool { return e != nil && e.clientID == clientID }

func (e *exchange) sent() { e.taken = true }

// settle begins an exchange whose answer may be nothing at all.
func (e *exchange) settle() { e.taken, e.timer = true, time.After(e.silence) }

// frame follows the lane.
func (e *exchange) frame(frameType string) {
	if e == nil || !e.taken {
		return
	}
	switch frameType {
	case "agent.busy":
		e.busy, e.timer = true, nil
	case "agent.idle":
		e.busy = false
		if e.ends--; e.ends == 0 {
			e.complete = true
			return
		}
		// The turn before ours; if ours was part of it, no other comes.
		e.timer = time.After(e.silence)
	case "message":
		// A reply without a turn, as to a command in a busy lane.
		if !e.busy {
			e.timer = time.After(e.silence)
		}
	}
}

// quiet fires when the answer counts as complete without the end of a turn.
func (e *exchange) quiet() <-chan time.Time {
	if e == nil {
		return nil
	}
	return e.timer
}
