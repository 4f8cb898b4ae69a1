package handlers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"iris-gateway/handlers"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// world is a gateway with a host, a phone that asks, another device that looks
// on, and one that is away and comes back after each step.
type world struct {
	*testing.T
	in        *instance
	store     store
	g         string
	hostToken string
	host      *peer
	phone     *peer
	other     *peer
	away      string // its token
	cursor    int64  // how far it has synced
	seq       int64  // of the host's newest event
	pages     int
	seen      map[string]bool // types that any device got
	vars      map[string]string
}

func newWorld(t *testing.T, s store, options ...func(*handlers.Config)) *world {
	t.Helper()
	w := &world{T: t, in: startWith(t, s, options...), store: s, seen: map[string]bool{}, vars: map[string]string{}}
	w.g, w.hostToken = w.in.gateway()
	w.attachHost()
	w.away = w.in.pair(w.g)
	p := w.in.device(w.away, "away")
	w.see(p.next("hello.ack"), p.next("status"))
	p.drop()
	w.phone = w.in.device(w.in.pair(w.g), "phone")
	w.phone.next("status")
	w.other = w.in.device(w.in.pair(w.g), "other")
	w.other.next("status")
	w.cursor = w.head()
	return w
}

func (w *world) attachHost() {
	w.Helper()
	w.host = dial(w.T, "host", w.in.url+"/host", w.hostToken)
	w.host.send(`{"type":"hello","protocol":1,"epoch":"e1","process":"p1","last_seq":%d,"received":0,
		"agent":{"name":"hermes-agent","version":"0.19.0","model":"m","streaming":true},"plugin":"0.1.0","turns":[],
		"commands":[{"name":"/new","description":"Start anew","args_hint":"[name]","category":"Session","aliases":["/reset"]},
			{"name":"/model","description":"Switch model","args_hint":"<model>","category":"Configuration"}]}`, w.seq)
	w.host.next("hello.ack")
}

// event sends a durable event of the host and waits until it is in the log.
func (w *world) event(kind, turn, body string) {
	w.Helper()
	w.seq++
	w.host.event(w.seq, kind, turn, body)
	w.host.acked(w.seq)
}

func (w *world) head() int64 {
	w.Helper()
	head, err := w.store.Head(w.Context(), w.g)
	if err != nil {
		w.Fatal(err)
	}
	return head.Cursor
}

// append writes an entry like another instance that has the host.
func (w *world) append(changes []iris.Change, frames ...string) {
	w.Helper()
	for range 20 {
		head, err := w.store.Head(w.Context(), w.g)
		if err != nil {
			w.Fatal(err)
		}
		e := head
		e.Cursor, e.Writer, e.Batch = head.Cursor+1, "elsewhere", head.Cursor
		e.Frames, e.Inbound, e.Control, e.Lanes, e.Messages = frames, nil, nil, nil, nil
		for _, encoded := range frames {
			var f struct {
				Chat   string `json:"chat_id"`
				Thread string `json:"thread_id"`
			}
			if err := json.Unmarshal([]byte(encoded), &f); err != nil {
				w.Fatal(err)
			}
			e.Lanes = append(e.Lanes, iris.Lane{ChatID: f.Chat, ThreadID: f.Thread})
		}
		if w.store.Append(w.Context(), w.g, iris.Commit{Entry: e, Guard: head.Cursor, Changes: changes}) == nil {
			return
		}
	}
	w.Fatal("cannot append")
}

// prompt opens a picker.
func (w *world) prompt(p wire.Payload, id string) {
	w.Helper()
	lane := iris.Lane{ChatID: lane}
	frame := wire.Encode(lane, p)
	w.append([]iris.Change{iris.PutPicker{Picker: iris.Picker{ID: id, Lane: lane, Frame: frame}}}, frame)
}

func (w *world) see(frames ...frame) {
	for _, f := range frames {
		w.seen[fmt.Sprint(f["type"])] = true
	}
}

// collect returns what a device has got so far. The page of history that it
// asks for comes behind everything that the gateway's actor has begun to send.
func (w *world) collect(p *peer) []frame {
	w.Helper()
	w.pages++
	id := fmt.Sprint("page-", w.pages)
	p.send(`{"type":"history","id":%q,"payload":{"limit":1}}`, id)
	var all []frame
	p.until("history", func(f frame) bool {
		all = append(all, f)
		return f["id"] == id
	})
	w.see(all...)
	return all[:len(all)-1]
}

// live are the types that no log keeps.
var live = []string{"message.start", "message.update", "tool.start", "tool.progress", "typing", "typing.stop"}

// types lists the types of frames, the live ones left out, and what is said when a
// test is so slow that the host seems to be away.
func types(frames []frame) []string {
	list := []string{}
	for _, f := range frames {
		if kind := fmt.Sprint(f["type"]); !slices.Contains(live, kind) && kind != "status" {
			list = append(list, kind)
		}
	}
	return list
}

// logOf reads a log from behind a cursor to its end.
func logOf(t testing.TB, s store, g string, after int64) (all []iris.Entry) {
	t.Helper()
	for {
		page, err := s.Entries(t.Context(), g, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].Cursor
	}
}

// logged returns the types of the frames and the kinds of the inbound that are
// in the log after a cursor.
func (w *world) logged(after int64) (frames, inbound []string) {
	w.Helper()
	frames, inbound = []string{}, []string{}
	for _, e := range logOf(w.T, w.store, w.g, after) {
		for _, raw := range e.Frames {
			var f frame
			if err := json.Unmarshal([]byte(raw), &f); err != nil {
				w.Fatal(err)
			}
			frames = append(frames, fmt.Sprint(f["type"]))
		}
		for _, raw := range e.Inbound {
			var i struct{ Kind string }
			if err := json.Unmarshal([]byte(raw), &i); err != nil {
				w.Fatal(err)
			}
			inbound = append(inbound, i.Kind)
		}
	}
	return frames, inbound
}

// missed lets the device that was away come back and returns what sync brings:
// before sync.done, and after it, without cursor.
func (w *world) missed() (before, after []frame) {
	w.Helper()
	p := w.in.device(w.away, "away")
	p.next("status")
	p.send(`{"type":"sync","id":"s","payload":{"cursor":%d}}`, w.cursor)
	done := p.until("sync.done", func(f frame) bool {
		if f["id"] != "s" {
			before = append(before, f)
		}
		return f["id"] == "s"
	})
	if done.payload()["complete"] != true {
		w.Errorf("sync.done = %v, want it complete", done)
	}
	w.see(done)
	last := float64(w.cursor)
	for _, f := range before {
		c, _ := f["cursor"].(float64)
		if c < last || f["id"] != nil {
			w.Errorf("replayed out of order or with id: %v after cursor %v", f, last)
		}
		last = max(last, c)
	}
	w.cursor = int64(done.payload()["cursor"].(float64))
	after = w.collect(p)
	p.drop()
	for _, f := range after {
		if f["cursor"] != nil {
			w.Errorf("after sync.done with a cursor: %v", f)
		}
	}
	return before, after
}

// fill replaces {name} by what a step has kept under that name.
func (w *world) fill(text string) string {
	for name, value := range w.vars {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

func sameTypes(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
