package iris

import "time"

// Search asks for messages. What stands in a text the asker decides; the terms
// only lead to the rows.
type Search struct {
	Terms    []string // each stands with every message that is looked for; one at least
	ChatID   string   // only of this channel and its threads; "" for everywhere
	ThreadID string   // only of this thread of the channel; "" for all
	After    Place    // goes on behind this place; the zero Place begins with the newest
	Accept   func(Message) bool
}

// Found is a page of a search.
type Found struct {
	Messages []Message // newest first
	More     bool      // there are more messages, or rows that nobody has looked at
	Next     Place     // where to go on, if there is more
}

// Limits of a page of a search. A store reads no more rows than these say,
// whatever the size of the history, and counts each term of several at the cost
// of one more read.
const (
	SearchHits = 50
	SearchRows = 52
)

// Place is where a row stands among messages that are sorted by time.
type Place struct {
	At  time.Time // when the message began
	Row string    // tells rows of one time apart; the store's own
}

// Zero reports whether the place is before everything.
func (p Place) Zero() bool { return p.Row == "" }
