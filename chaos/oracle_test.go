package chaos

import (
	"strings"
	"testing"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// record is the log of a run, as the oracle reads it.
type record struct {
	t       testing.TB
	entries []iris.Entry // cursor 1 first
	all     frames
	final   frames // without tool.start, which may also come live
}

// frames are the log's frames in order.
type frames struct {
	list  []frame
	start []int // by cursor: index of the first frame behind it
}

func newRecord(t testing.TB, entries []iris.Entry) *record {
	t.Helper()
	r := &record{t: t, entries: entries}
	r.all.start, r.final.start = []int{0}, []int{0}
	for _, e := range entries {
		for _, text := range e.Frames {
			f, err := parseFrame([]byte(text))
			if err != nil {
				t.Errorf("entry %d: %v in %s", e.Cursor, err, text)
				continue
			}
			f.Cursor = e.Cursor
			r.all.list = append(r.all.list, f)
			if f.Type != "tool.start" {
				r.final.list = append(r.final.list, f)
			}
		}
		r.all.start = append(r.all.start, len(r.all.list))
		r.final.start = append(r.final.start, len(r.final.list))
	}
	return r
}

func (r *record) head() int64 { return int64(len(r.entries)) }

// through is the cursor up to which a reader has everything that has the frames
// before index i.
func (fs *frames) through(i int) int64 {
	if i < len(fs.list) {
		return fs.list[i].Cursor - 1
	}
	return int64(len(fs.start)) - 1
}

// between returns the frames of the entries after one cursor, up to another.
func (fs *frames) between(after, to int64) []frame { return fs.list[fs.start[after]:fs.start[to]] }

// ephemeral frames are no part of the log, or not only.
var ephemeral = map[string]bool{
	"message.start": true, "message.update": true, "tool.start": true, "tool.progress": true, "typing": true,
	"typing.stop": true, "status": true, "hello.ack": true, "error": true, "pong": true, "history": true,
}

// keyOf names what a frame of the log says of the host, "" for frames that are
// not made of its events. It leaves out what may differ from run to run.
func keyOf(f frame) string {
	switch f.Type {
	case "message":
		m, _ := decode[wire.Message](f)
		if m.Role == iris.RoleUser {
			return ""
		}
		return "message " + m.MessageID + " " + m.Text
	case "message.stop":
		m, _ := decode[wire.MessageStop](f)
		key := "stop " + m.MessageID + " " + m.FinalText
		switch {
		case m.Interrupted:
			key += " interrupted"
		case m.Model != "m" || m.Tokens != 3:
			key += " without footer"
		}
		return key
	case "tool.end":
		m, _ := decode[wire.ToolEnd](f)
		if !m.OK {
			return "tool " + m.Name + " cut"
		}
		return "tool " + m.Name
	case "notification":
		m, _ := decode[wire.Notification](f)
		return "note " + m.Title
	case "agent.busy", "agent.idle":
		return strings.TrimPrefix(f.Type, "agent.")
	case "tool.start", "read.receipt":
		return ""
	}
	return "unexpected " + f.Type
}

// ids counts the messages that frames of a type name.
func (r *record) ids(kind string, which func(wire.Message) bool) map[string]int {
	n := map[string]int{}
	for _, f := range r.all.list {
		if m, err := decode[wire.Message](f); f.Type == kind && err == nil && which(m) {
			n[m.MessageID]++
		}
	}
	return n
}
