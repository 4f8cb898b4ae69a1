package handlers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"iris-gateway/cloudstore/memstore"
)

// search looks for something, and returns the texts of the hits and the page.
func (p *peer) search(payload string) (snippets []string, page frame) {
	p.t.Helper()
	p.send(`{"type":"search","id":"s","payload":%s}`, payload)
	page = p.until("search.results", func(f frame) bool { return f["id"] == "s" })
	hits, _ := page.payload()["hits"].([]any)
	for _, h := range hits {
		snippets = append(snippets, h.(map[string]any)["snippet"].(string))
	}
	return snippets, page
}

// say sends a message and waits for its echo.
func (p *peer) say(where, text string) frame {
	p.t.Helper()
	p.send(`{"type":"message.send","id":"say",%s"payload":{"text":%q}}`, where, text)
	return p.until("echo", func(f frame) bool { return f["id"] == "say" })
}

// What people and the agent said is found as soon as it is in the log, in the
// channel that is asked for.
func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.phone.send(`{"type":"channel.create","id":1,"payload":{"name":"garden"}}`)
	garden := fmt.Sprintf(`"chat_id":%q,`, w.phone.next("channel.created").text("chat_id"))
	w.phone.send(`{"type":"channel.create","id":2,%s"payload":{"name":"beds","kind":"thread"}}`, garden)
	beds := garden + fmt.Sprintf(`"thread_id":%q,`, w.phone.next("channel.created").text("thread_id"))

	w.phone.say("", "Où sont les tomates ?")
	w.phone.say(garden, "plant tomatoes")
	echo := w.phone.say(beds, "TOMATO beds\n\nneed water")
	w.event("turn.start", "tn1", `{"source":"user"}`)
	w.event("send", "tn1", `{"message_id":"a1","text":"Tomatoes are on the shelf","notify":true,"reply_to":"x"}`)
	w.event("turn.end", "tn1", `{"outcome":"completed"}`)

	for payload, want := range map[string][]string{
		`{"query":"tomat"}`:                              {"Tomatoes are on the shelf", "TOMATO beds need water", "plant tomatoes", "Où sont les tomates ?"},
		`{"query":"ou tomat"}`:                           {"Où sont les tomates ?"},
		`{"query":"shelf tomatoes"}`:                     {"Tomatoes are on the shelf"},
		`{"query":"tomat","scope":"chat"}`:               {"Tomatoes are on the shelf", "Où sont les tomates ?"},
		`{` + garden + `"query":"tomat","scope":"chat"}`: {"TOMATO beds need water", "plant tomatoes"},
		`{` + beds + `"query":"tomat","scope":"chat"}`:   {"TOMATO beds need water"},
		`{"query":"potato"}`:                             nil,
		`{"query":"?!"}`:                                 nil,
	} {
		got, page := w.other.search(payload)
		if !slices.Equal(got, want) || page.payload()["has_more"] != false || page.payload()["next"] != nil {
			t.Errorf("%s: got %q, want %q; %v", payload, got, want, page)
		}
	}
	_, page := w.other.search(`{"query":"water"}`)
	hit := page.payload()["hits"].([]any)[0].(map[string]any)
	for field, want := range map[string]any{
		"message_id": echo.text("message_id"), "chat_id": echo["chat_id"], "thread_id": echo["thread_id"],
		"role": "user", "ts": echo.payload()["ts"],
	} {
		if hit[field] != want || want == nil {
			t.Errorf("%s of the hit is %v, want %v", field, hit[field], want)
		}
	}
	for payload, code := range map[string]string{
		`{"query":"x","scope":"chat","chat_id":"android:none"}`: "not_found",
		`{"query":"x","next":"../../x"}`:                        "unsupported",
		`{"query":"x","next":"f_________9h"}`:                   "unsupported", // the year 294247
		`{"query":"x","next":"AAYft6ccPAAvLi4v"}`:               "unsupported", // a row "/../"
	} {
		if _, f := w.phone.search(payload); f.text("code") != code || strings.Contains(f.text("message"), "gateway") {
			t.Errorf("%s: %v, want %s", payload, f, code)
		}
	}
}

// What was deleted is not found any more, by nobody, on either store: from the
// moment in which who asked is answered.
func TestSearchForgets(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) store{
		"memory":    func(testing.TB) store { return memstore.New() },
		"firestore": firestore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open(t))
			w.phone.send(`{"type":"channel.create","id":1,"payload":{"name":"secret"}}`)
			channel := w.phone.next("channel.created").text("chat_id")
			first := w.phone.say("", "marker one").text("message_id")
			w.phone.say("", "marker two")
			w.phone.say(fmt.Sprintf(`"chat_id":%q,`, channel), "marker three")
			finds := func(when string, want ...string) {
				t.Helper()
				if got, _ := w.other.search(`{"query":"marker"}`); !slices.Equal(got, want) {
					t.Errorf("%s: found %q, want %q", when, got, want)
				}
			}
			finds("before", "marker three", "marker two", "marker one")
			w.phone.send(`{"type":"message.delete","id":"d1","payload":{"message_ids":[%q]}}`, first)
			w.phone.until("answer", func(f frame) bool { return f["id"] == "d1" })
			finds("without a message", "marker three", "marker two")
			w.phone.send(`{"type":"channel.delete","id":"d2","chat_id":%q}`, channel)
			w.phone.until("answer", func(f frame) bool { return f["id"] == "d2" })
			finds("without a channel", "marker two")
		})
	}
}

// Page after page brings everything, once.
func TestSearchGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	const n = 120
	for i := range n {
		w.phone.send(`{"type":"message.send","id":%d,"payload":{"text":"number %d."}}`, i, i)
	}
	for range n {
		w.phone.next("message")
	}
	next, seen := "", n
	for pages := 0; ; pages++ {
		got, page := w.phone.search(fmt.Sprintf(`{"query":"numb","next":%q}`, next))
		for _, text := range got {
			if seen--; text != fmt.Sprintf("number %d.", seen) {
				t.Fatalf("%q, want number %d", text, seen)
			}
		}
		next, _ = page.payload()["next"].(string)
		if more := page.payload()["has_more"]; more != (seen > 0) || (next != "") != (seen > 0) {
			t.Fatalf("has_more %v, next %q with %d messages left", more, next, seen)
		}
		if seen == 0 {
			return
		}
	}
}
