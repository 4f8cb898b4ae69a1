package handlers_test

import (
	"fmt"
	"slices"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// What the agent asks stays open until it is answered or given up, whatever instance a
// phone comes to, and is closed everywhere, once.
func TestPromptsOfTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	open := func(want ...string) {
		t.Helper()
		in := startWith(t, w.store)
		p := in.device(w.in.pair(w.g), "looks on")
		p.next("status")
		var got []string
		p.send(`{"type":"sync","id":"s"}`)
		p.until("sync.done", func(f frame) bool { return f["id"] == "s" })
		for _, f := range w.collect(p) {
			if id := f.text("picker_id"); id != "" {
				got = append(got, id)
			}
		}
		in.stop()
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("open are %v, want %v", got, want)
		}
	}
	w.event("turn.start", "tn", `{"source":"user"}`)
	w.event("prompt", "tn", `{"prompt_id":"asked","kind":"clarify","question":"which?"}`)
	w.event("prompt", "tn", `{"prompt_id":"given up","kind":"clarify","question":"when?"}`)
	w.event("prompt", "", `{"prompt_id":"set","kind":"confirm","title":"t","text":"really?"}`)
	open("asked", "given up", "set")

	w.answered(w.ask("picker.select", iris.Lane{}, `{"picker_id":"asked","value":null,"text":"this"}`), "picker.closed")
	w.host.until("answer", func(f frame) bool { return f["kind"] == "answer" })
	w.event("prompt.closed", "tn", `{"prompt_id":"asked","why":"answered"}`) // people know
	open("given up", "set")

	w.event("turn.end", "tn", `{"outcome":"completed"}`)
	open("set")
	w.event("prompt.closed", "", `{"prompt_id":"set","why":"expired"}`)
	open()
	w.once("picker.closed", 3)
	for _, id := range []string{"asked", "given up", "set"} {
		if f := w.ask("picker.select", iris.Lane{}, fmt.Sprintf(`{"picker_id":%q,"value":"x"}`, id)); f.text("code") != "not_found" {
			t.Errorf("an answer to %s: %v", id, f)
		}
	}
}
