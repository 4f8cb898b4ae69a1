package iris

import (
	"time"
)

// Push is what wakes a device: data only, the app shows what it makes of it
// (protocol.md, "Push registration").
type Push struct {
	Data     map[string]string // absent values are left out
	Collapse string            // a newer one of the same key takes its place while it waits; "" = never
	TTL      time.Duration     // how long it may wait for the device; 0 = as long as the service keeps it
}

// PushFailure says what is to be done about a push that was not taken.
type PushFailure string

// The failures.
const (
	PushGone    PushFailure = "gone"    // the address is no longer valid, for good
	PushQuota   PushFailure = "quota"   // too many: later
	PushAway    PushFailure = "away"    // the service cannot now, or did not answer: later
	PushRefused PushFailure = "refused" // this push is never taken; the next one may be
)

// PushError is a push that was not taken. Its detail holds no address and no
// text.
type PushError struct {
	Failure    PushFailure
	Detail     string
	RetryAfter time.Duration // what the service asks for, 0 for nothing
}

// Error returns the detail.
func (e *PushError) Error() string { return e.Detail }

// PushOutcome is what became of the last push to a device.
type PushOutcome string

// The outcomes.
const (
	PushSent         PushOutcome = "sent"
	PushUnregistered PushOutcome = "unregistered"
	PushFailed       PushOutcome = "failed"
	PushRetrying     PushOutcome = "retrying"
)

// PushState is what a device's row says of its pushes.
type PushState struct {
	Outcome PushOutcome // "" = there was none since the device registered
	Detail  string      // for people
	At      time.Time
	Tried   int64 // a push of this cursor failed for good: it is not tried again

	// Who has taken it on to push, and until when nobody else need to.
	By    string
	Until time.Time
}
