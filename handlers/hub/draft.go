package hub

import (
	"encoding/json"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
	"iris-gateway/search"
)

// Draft is what a decision wants to append: a part of an entry, and the rows
// that change with it. The zero Draft appends nothing.
type Draft struct {
	Frames   []string // encoded terminal frames
	Answer   int      // which of them is the answer to the request, if there is one
	Inbound  []string
	Control  []iris.Control
	Lanes    []iris.Lane
	Messages []string
	Notify   bool
	Changes  []iris.Change
	Host     *iris.HostMark // nil: unchanged
	Keep     bool           // worth an entry, though there may be nothing but Host
}

// Add appends a terminal frame of a lane.
func (d *Draft) Add(lane iris.Lane, p wire.Payload) {
	d.Frames = append(d.Frames, wire.Encode(lane, p))
	d.Lanes = append(d.Lanes, lane)
}

// empty reports whether there is nothing to append.
func (d *Draft) empty() bool {
	return !d.Keep && len(d.Frames) == 0 && len(d.Inbound) == 0 && len(d.Control) == 0 && len(d.Changes) == 0
}

// Limits of one commit (log.md, "Commit"). Firestore takes 500 writes, 1 MiB a
// document and 10 MiB a request.
const (
	maxWrites      = 400
	maxEntryBytes  = 700 << 10
	maxCommitBytes = 3 << 20
	entryOverhead  = 1 << 10 // what an entry weighs beside frames and inbound
)

// weight is what a draft adds to a commit.
type weight struct{ writes, entry, commit int }

func (d *Draft) weight() weight {
	w := weight{writes: len(d.Changes)}
	for _, f := range d.Frames {
		w.entry += len(f)
	}
	for _, i := range d.Inbound {
		w.entry += len(i)
	}
	w.commit = w.entry
	for _, c := range d.Changes {
		w.commit += changeBytes(c)
	}
	return w
}

func (w weight) plus(o weight) weight {
	return weight{w.writes + o.writes, w.entry + o.entry, w.commit + o.commit}
}

func (w weight) fits() bool {
	return w.writes <= maxWrites-3 && w.entry <= maxEntryBytes-entryOverhead && w.commit <= maxCommitBytes
}

// changeBytes estimates the size of a row from above.
func changeBytes(c iris.Change) int {
	const overhead = 512
	b, err := json.Marshal(c)
	if err != nil {
		return overhead
	}
	n := overhead + len(b)
	switch m := c.(type) { // the store adds the terms
	case iris.CreateMessage:
		n += search.Bytes(len(m.Message.Text))
	case iris.PutMessage:
		n += search.Bytes(len(m.Message.Text))
	}
	return n
}

// laneOf reads the lane of an encoded frame.
func laneOf(frame string) iris.Lane {
	var f struct {
		ChatID   string `json:"chat_id"`
		ThreadID string `json:"thread_id"`
	}
	if json.Unmarshal([]byte(frame), &f) != nil {
		return iris.Lane{}
	}
	return iris.Lane{ChatID: f.ChatID, ThreadID: f.ThreadID}
}
