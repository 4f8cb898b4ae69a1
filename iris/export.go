package iris

import "time"

// ExportPlace is where a message stands in an export: messages are exported in
// the order in which they came into the log. The zero value is before all.
type ExportPlace struct {
	Cursor int64
	At     time.Time
	ID     string
}

// ExportPage is a part of a gateway's messages.
type ExportPage struct {
	Messages []Message   // without tombstones and what has expired
	Last     ExportPlace // of the last row that was read
	More     bool        // there may be more behind it
}
