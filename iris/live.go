package iris

import "time"

// Live is the only thing outside the log: what a running turn shows. It is
// written so that a partial answer survives a crash, and for the devices that
// are attached to another instance than the host.
type Live struct {
	Turn   string
	Lane   Lane
	Writer string // instance that wrote it
	Data   string // JSON of the turn, as the host link describes it
	At     time.Time
}

// PutLive adds or replaces a turn's live document in the commit that contains
// the events which the document tells of.
type PutLive struct{ Live Live }

// DropLive removes a turn's live document in the commit that ends the turn.
type DropLive struct{ Turn string }

func (PutLive) change()  {}
func (DropLive) change() {}
