package chaos

import (
	"slices"
	"strings"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// checkEvents: each durable event is in the log once, in order. Of an epoch
// that ended with its disk, up to the last event that the log has.
func (r *record) checkEvents(h *host) {
	inLog := r.lastEvents(h)
	var want, got []string
	for _, p := range h.plans {
		if p.seq <= inLog[p.epoch] || p.epoch == h.epoch {
			want = append(want, p.keys...)
		}
	}
	for _, f := range r.all.list {
		if key := keyOf(f); key != "" {
			got = append(got, key)
		}
	}
	if h.deaths > 0 { // what is left of lost turns depends on when they were lost
		want, got = slices.DeleteFunc(want, loose), slices.DeleteFunc(got, loose)
	}
	r.compare("the host's events", want, got)
	for _, a := range h.acks {
		for _, p := range h.plans {
			if p.epoch == a.epoch && p.seq <= a.seq && p.seq > inLog[p.epoch] && len(p.keys) > 0 {
				r.t.Errorf("event %d (%s) of epoch %s is acked, the log has %d", p.seq, p.kind, p.epoch, inLog[p.epoch])
			}
		}
	}
}

// lastEvents returns the newest event of each epoch that is in the log. The
// entry that attaches a host with a new epoch may contain the last ones of the
// old, and only tells the new one's.
func (r *record) lastEvents(h *host) map[string]int64 {
	last := map[string]int64{}
	attached := map[string]map[string]bool{} // keys of the entry that ended an epoch
	epoch := ""
	for i, e := range r.entries {
		last[e.Host.Epoch] = e.Host.Seq
		if e.Host.Epoch != epoch {
			keys := map[string]bool{}
			for _, f := range r.all.between(int64(i), e.Cursor) {
				keys[keyOf(f)] = true
			}
			attached[epoch], epoch = keys, e.Host.Epoch
		}
	}
	for _, p := range h.plans {
		firm := slices.DeleteFunc(slices.Clone(p.keys), loose)
		if keys := attached[p.epoch]; len(firm) > 0 && !slices.ContainsFunc(firm, func(k string) bool { return !keys[k] }) {
			last[p.epoch] = max(last[p.epoch], p.seq)
		}
	}
	return last
}

// loose is what cannot be foretold when turns get lost.
func loose(key string) bool {
	return key == "busy" || key == "idle" || strings.HasSuffix(key, " interrupted") || strings.HasSuffix(key, " cut")
}

// compare wants two lists to be the same, and shows where they part.
func (r *record) compare(what string, want, got []string) {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	if i == len(want) && i == len(got) {
		return
	}
	r.t.Errorf("%s: the log has %d, want %d. They part at %d:\nlog:  %q\nwant: %q", what, len(got), len(want), i,
		got[max(0, i-2):min(len(got), i+6)], want[max(0, i-2):min(len(want), i+6)])
	missing, extra := diff(want, got), diff(got, want)
	r.t.Errorf("%s: missing %q, too many %q", what, missing[:min(20, len(missing))], extra[:min(20, len(extra))])
}

// diff returns what a has more often than b.
func diff(a, b []string) []string {
	n := map[string]int{}
	for _, s := range b {
		n[s]++
	}
	var more []string
	for _, s := range a {
		if n[s]--; n[s] < 0 {
			more = append(more, s)
		}
	}
	return more
}

// checkInbound: what the log has for the host has reached it, in order.
func (r *record) checkInbound(h *host) {
	type put struct {
		place
		text string
	}
	var log []put
	at := map[place]int{}
	for _, e := range r.entries {
		for i, item := range e.Inbound {
			p := place{e.Cursor, i}
			at[p] = len(log)
			log = append(log, put{p, item})
		}
	}
	seen, next, epoch := make([]bool, len(log)), 0, ""
	for n, a := range h.inbox {
		i, ok := at[a.place]
		if !ok || log[i].text != a.text {
			r.t.Errorf("the host got inbound %v that the log does not have so: %s", a.place, a.text)
			continue
		}
		if n > 0 && a.epoch == epoch && i != next {
			r.t.Errorf("the host got inbound %v as number %d, want number %d next", a.place, i, next)
		}
		seen[i], next, epoch = true, i+1, a.epoch
	}
	if i := slices.Index(seen, false); i >= 0 {
		r.t.Errorf("the host never got inbound %v: %s", log[i].place, log[i].text)
	}
}

// checkLetters: each message of a device is in the log once, as echo and as
// inbound, and its receipt too; and nothing else is.
func (r *record) checkLetters(phones []*phone) {
	echoes := r.ids("message", func(m wire.Message) bool { return m.Role == iris.RoleUser })
	receipts := r.ids("read.receipt", func(wire.Message) bool { return true })
	inbound := map[string]int{}
	for _, e := range r.entries {
		for _, item := range e.Inbound {
			_, rest, _ := strings.Cut(item, `"message_id":"`)
			id, _, _ := strings.Cut(rest, `"`)
			inbound[id]++
		}
	}
	letters := 0
	for _, p := range phones {
		letters += len(p.letters)
		for _, l := range p.letters {
			id := iris.ClientMessageID(p.id, l.id)
			if echoes[id] != 1 || inbound[id] != 1 || receipts[id] != 1 || !l.answered {
				r.t.Errorf("letter %s of %s (%s): %d echoes, %d inbound, %d receipts, answered %v; want each once",
					l.id, p.id, id, echoes[id], inbound[id], receipts[id], l.answered)
			}
		}
	}
	if len(echoes) != letters || len(inbound) != letters || len(receipts) != letters {
		r.t.Errorf("%d letters, but %d echoes, %d inbound, %d receipts", letters, len(echoes), len(inbound), len(receipts))
	}
}
