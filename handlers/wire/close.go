package wire

import "iris-gateway/iris"

// Close codes of the device socket and the host link (protocol: Close codes).
const (
	CloseGoingAway   = 1001 // instance goes away, or the connection's time is up: reconnect at once
	CloseTooBig      = 1009 // frame too large: do not repeat it
	CloseSlow        = 1013 // the receiver does not keep up: reconnect and sync
	CloseProtocol    = 4400 // not protocol v1, or no hello in time: give up
	CloseAuth        = 4401 // token unknown, revoked, expired or bound to another device: pair again
	CloseMalformed   = 4408 // too many malformed frames: give up
	CloseSuperseded  = 4409 // a newer connection took over: nothing to do
	CloseRateLimited = 4429 // too many connections: wait
)

// CloseError ends a connection: its code, and the error that the peer is told
// before, unless the code is CloseSuperseded or below 4000.
type CloseError struct {
	Code int
	Err  *iris.Error
}

// Error returns the reason.
func (e *CloseError) Error() string { return e.Err.Message }

// Unwrap returns the error that the peer is told.
func (e *CloseError) Unwrap() error { return e.Err }
