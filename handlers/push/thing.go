package push

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// thing is something of an entry that deserves one push.
type thing struct {
	data     map[string]string
	collapse string    // of messages and cron: the newest of a lane wins
	picker   string    // the question that it tells of, "" for none
	expires  time.Time // of a question: when it can no longer be answered
}

// Kinds of things, as the data tells them.
const (
	kindMessage = "message"
	kindTest    = "test"
)

// titles are what a push is called when it must not tell what it is about, or
// there is nothing better.
var titles = map[string]string{
	kindMessage: "New message", "cron": "Scheduled task", "approval": "Approval needed", "clarify": "Question",
	"confirm": "Please confirm", "choice": "Please choose", "model": "Choose a model", kindTest: "Iris",
}

// Lengths of what a push shows, in characters (protocol.md, "Push registration").
const (
	maxBody  = 200
	maxTitle = 100
)

// frame is what matters of an encoded frame.
type frame struct {
	Type     string `json:"type"`
	ChatID   string `json:"chat_id"`
	ThreadID string `json:"thread_id"`
	Payload  struct {
		MessageID   string    `json:"message_id"`
		Role        iris.Role `json:"role"`
		Text        string    `json:"text"`
		FinalText   string    `json:"final_text"`
		Commentary  bool      `json:"commentary"`
		Interrupted bool      `json:"interrupted"`
		Kind        string    `json:"kind"`
		Title       string    `json:"title"`
		Body        string    `json:"body"`
		ExpiresAt   int64     `json:"expires_at"`
		PickerID    string    `json:"picker_id"`
		MessageIDs  []string  `json:"message_ids"`
		Media       []struct {
			Filename string `json:"filename"`
		} `json:"media"`
	} `json:"payload"`
}

func (f *frame) lane() iris.Lane { return iris.Lane{ChatID: f.ChatID, ThreadID: f.ThreadID} }

// things lists what an entry pushes, in order: final answers, the notifications
// approval, clarify and cron, and the pickers that have no notification. Of
// several messages of a lane only the newest is left; what the entry itself has
// answered or deleted is left out.
func things(e iris.Entry, name func(iris.Lane) string, preview bool) []thing {
	b := builder{cursor: e.Cursor, name: name, preview: preview, last: map[string]string{}}
	frames := make([]frame, 0, len(e.Frames))
	for _, encoded := range e.Frames {
		var f frame
		if json.Unmarshal([]byte(encoded), &f) != nil {
			continue
		}
		switch f.Type {
		case wire.PickerClosed{}.FrameType():
			b.over = append(b.over, f.Payload.PickerID)
		case wire.MessageDeleted{}.FrameType():
			b.over = append(b.over, f.Payload.MessageIDs...)
		}
		frames = append(frames, f)
	}
	for i := range frames {
		b.take(&frames[i])
	}
	return b.out
}

// builder goes through the frames of an entry.
type builder struct {
	cursor  int64
	name    func(iris.Lane) string
	preview bool
	over    []string          // pickers closed and messages deleted in this entry
	last    map[string]string // by lane and kind: the message or picker that a notification mirrors
	out     []thing
}

func (b *builder) take(f *frame) {
	p := &f.Payload
	switch kind, _ := strings.CutPrefix(f.Type, "picker."); f.Type {
	case wire.Message{}.FrameType():
		b.last[f.lane().Key()+string(p.Role)] = p.MessageID
		if p.Role == iris.RoleAssistant {
			text := p.Text
			if text == "" && len(p.Media) > 0 { // a file without a word
				text = p.Media[0].Filename
			}
			b.add(f, kindMessage, p.MessageID, b.name(f.lane()), text)
		}
	case wire.MessageStop{}.FrameType():
		if !p.Commentary && !p.Interrupted {
			b.add(f, kindMessage, p.MessageID, b.name(f.lane()), p.FinalText)
		}
	case "picker.approval", "picker.clarify":
		b.last[f.lane().Key()+kind] = p.PickerID
	case "picker.confirm", "picker.choice", "picker.model":
		b.add(f, kind, p.PickerID, p.Title, p.Text)
	case wire.Notification{}.FrameType():
		switch p.Kind {
		case "approval", "clarify", "cron":
			b.add(f, p.Kind, b.last[f.lane().Key()+p.Kind], p.Title, p.Body)
		}
	}
}

// add adds a thing about the message or picker of that id.
func (b *builder) add(f *frame, kind, id, title, body string) {
	if id != "" && slices.Contains(b.over, id) {
		return
	}
	t := thing{data: data(kind, title, body, b.preview)}
	put := func(name, value string) {
		if value != "" {
			t.data[name] = value
		}
	}
	put("type", cmp.Or(map[string]string{wire.MessageStop{}.FrameType(): wire.Message{}.FrameType()}[f.Type], f.Type))
	put("chat_id", f.ChatID)
	put("thread_id", f.ThreadID)
	put("cursor", strconv.FormatInt(b.cursor, 10))
	if f.Payload.ExpiresAt != 0 {
		t.expires = time.UnixMilli(f.Payload.ExpiresAt)
	}
	switch kind {
	case kindMessage, "cron":
		put("message_id", id)
		t.collapse = collapseKey(f.lane(), kind)
		b.out = slices.DeleteFunc(b.out, func(o thing) bool { return o.collapse == t.collapse })
	default:
		t.picker = id
	}
	b.out = append(b.out, t)
}

// data is what is shown of a push. Without preview it says only what kind of
// thing there is: names of threads are words of messages, too.
func data(kind, title, body string, preview bool) map[string]string {
	d := map[string]string{"kind": kind, "title": titles[kind]}
	if !preview {
		return d
	}
	if title := short(title, maxTitle); title != "" {
		d["title"] = title
	}
	if body := short(body, maxBody); body != "" {
		d["body"] = body
	}
	return d
}

// short is the beginning of a text.
func short(text string, limit int) string {
	text = strings.TrimSpace(text)
	if r := []rune(text); len(r) > limit {
		return strings.TrimSpace(string(r[:limit-1])) + "…"
	}
	return text
}

// collapseKey names what a newer push takes the place of. A service keeps
// several keys apart, but sees nothing of the lane's name.
func collapseKey(l iris.Lane, kind string) string {
	sum := sha256.Sum256([]byte(l.Key() + "\x00" + kind))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// push is what the service gets of a thing, now.
func (t *thing) push(now time.Time) iris.Push {
	p := iris.Push{Data: t.data, Collapse: t.collapse}
	if !t.expires.IsZero() {
		p.TTL = max(time.Second, t.expires.Sub(now).Truncate(time.Second))
	}
	return p
}
