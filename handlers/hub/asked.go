package hub

import (
	"time"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Asked is a device's request that the host answers later: with a done event
// that comes by the log, whichever instance hears it, or with the end of a turn.
type Asked struct {
	Cursor int64 // of the inbound item that asks the host
	Item   int
	Lane   iris.Lane
	Idle   bool // the answer is that the lane is idle; a done event only says whether that will be
	// Answer is called once, on the actor. The error is what a person is told;
	// idle is the frame that said so, of a request with Idle.
	Answer func(idle string, err error)

	timer *time.Timer
}

// maxAsked bounds the requests of a gateway that wait for the host here.
const maxAsked = 256

// Ask remembers a request until it is answered, or wait is over: then late is
// its answer.
func (a *Actor) Ask(q *Asked, wait time.Duration, late error) {
	if len(a.asked) >= maxAsked {
		q.Answer("", iris.Errorf(iris.CodeRateLimited, "%d requests wait for the agent host already", maxAsked))
		return
	}
	a.asked = append(a.asked, q)
	q.timer = time.AfterFunc(wait, func() {
		a.g.later(func(a *Actor) { a.answerAsked(func(o *Asked) bool { return o == q }, "", late) })
	})
}

// answerAsked answers the requests that match.
func (a *Actor) answerAsked(match func(*Asked) bool, idle string, err error) {
	var rest []*Asked
	var now []*Asked
	for _, q := range a.asked {
		if match(q) {
			now = append(now, q)
		} else {
			rest = append(rest, q)
		}
	}
	a.asked = rest
	for _, q := range now {
		q.timer.Stop()
		q.Answer(idle, err)
	}
}

// settleAsked answers the requests that an entry answers.
func (a *Actor) settleAsked(e iris.Entry) {
	if len(a.asked) == 0 {
		return
	}
	for _, c := range e.Control {
		if c.Kind == iris.InboundDone {
			a.done(c.Done)
		}
	}
	for _, frame := range e.Frames {
		if frameType(frame) == (wire.AgentIdle{}).FrameType() {
			lane := laneOf(frame)
			a.answerAsked(func(q *Asked) bool { return q.Idle && q.Lane == lane }, frame, nil)
		}
	}
}

// done takes what became of an inbound item. A turn that was to be stopped may
// have ended before the host said so.
func (a *Actor) done(d iris.Done) {
	mine := func(q *Asked) bool { return q.Cursor == d.Cursor && q.Item == d.Item }
	if !d.OK {
		message := d.Error
		if message == "" {
			message = "the agent host could not do it"
		}
		a.answerAsked(mine, "", iris.Errorf(iris.CodeInternal, "%s", message))
		return
	}
	a.answerAsked(func(q *Asked) bool {
		if !mine(q) {
			return false
		}
		c, ok := a.state.Channel(q.Lane)
		return !q.Idle || !ok || c.Busy == ""
	}, "", nil)
}
