package handlers_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/testenv"
)

// spending counts Firestore operations.
type spending struct {
	mu  sync.Mutex
	ops map[string]int // by "operation purpose"
}

func (s *spending) count(op cloudstore.Operation, purpose string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops[string(op)+" "+purpose] += n
}

// take returns what was spent since the last call, and its sum for each
// operation.
func (s *spending) take() (named map[string]int, sum map[cloudstore.Operation]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	named, s.ops = s.ops, map[string]int{}
	sum = map[cloudstore.Operation]int{}
	for name, n := range named {
		for _, op := range []cloudstore.Operation{cloudstore.Read, cloudstore.Write, cloudstore.Delete} {
			if len(name) > len(op) && name[:len(op)+1] == string(op)+" " {
				sum[op] += n
			}
		}
	}
	return named, sum
}

// firestoreProject returns the name of a database of its own on the emulator.
func firestoreProject(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short")
	}
	return testenv.Firestore(t).Project
}

// onFirestore starts an instance over the emulator that counts what it spends.
func onFirestore(t *testing.T, project string) (*instance, *spending) {
	t.Helper()
	spent := &spending{ops: map[string]int{}}
	store, err := cloudstore.Open(t.Context(), cloudstore.Config{Project: project, MaxSockets: 10, Count: spent.count})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return startWith(t, store), spent
}

// settle is longer than a device's cursor may wait to be saved.
const settle = 7 * time.Second

// counted is a host and a device, and how their turns are counted.
type counted struct {
	*testing.T
	host, phone *peer
	seq         int64 // of the host's newest event
}

// event sends a durable event of the host.
func (c *counted) event(kind, body string) {
	c.Helper()
	c.seq++
	c.host.event(c.seq, kind, "tn1", body)
}

// fill brings the log, which keeps 64 entries, to its size.
func (c *counted) fill() {
	c.Helper()
	for range 70 {
		c.event("notice", `{"key":"k","text":"fills the log"}`)
		c.phone.next("notification")
	}
	time.Sleep(settle)
}

// turn is the ordinary one: a message, two tools, an answer streamed for 12 s.
// It returns how long that took: more on a slow machine.
func (c *counted) turn() time.Duration {
	c.Helper()
	began := time.Now()
	c.phone.send(`{"type":"message.send","id":1,"payload":{"text":"please"}}`)
	c.phone.next("message")
	inbound := c.host.next("inbound")
	c.host.send(`{"type":"received","cursor":%v}`, inbound["cursor"])
	c.phone.next("read.receipt")
	c.event("turn.start", `{"trigger":"m","source":"user"}`)
	c.phone.next("agent.busy")
	for i := 1; i <= 2; i++ {
		tool := fmt.Sprintf(`"call":"c%d","index":%d,"name":"terminal","args":{"command":"ls"}`, i, i)
		c.host.event(0, "tool.start", "tn1", `{`+tool+`}`)
		c.event("tool.end", `{`+tool+`,"ok":true,"duration":0.1}`)
		c.phone.next("tool.end")
	}
	text := c.stream()
	c.event("model.end", fmt.Sprintf(`{"finish_reason":"stop","text":%q,"model":"m"}`, text))
	c.event("answer", fmt.Sprintf(`{"text":%q}`, text))
	c.event("edit", fmt.Sprintf(`{"message_id":"a1","text":%q,"final":true}`, text))
	c.event("turn.end", `{"outcome":"completed"}`)
	c.phone.next("agent.idle")
	c.host.acked(c.seq)
	took := time.Since(began)
	time.Sleep(settle)
	return took
}

// stream sends 120 states of the answer, a tenth of a second each.
func (c *counted) stream() (text string) {
	for i := range 120 {
		text += fmt.Sprintf("word %d ", i)
		kind, extra := "edit", ""
		if i == 0 {
			kind, extra = "send", `,"streaming":true`
		}
		c.host.event(0, kind, "tn1", fmt.Sprintf(`{"message_id":"a1","text":%q%s}`, text, extra))
		time.Sleep(100 * time.Millisecond)
	}
	c.phone.next("message.update")
	return text
}

// show logs what was spent, each operation by its name.
func show(t *testing.T, where string, named map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(named)) {
		t.Logf("%s %3d × %s", where, named[name], name)
	}
}

// What must be provable, 4 and 5: what an ordinary turn costs (a message, two
// tools, an answer streamed for 12 s, one device, one instance, a full log),
// and that nothing is spent while all are connected and nothing happens.
func TestOperationsOfATurn(t *testing.T) {
	t.Parallel()
	in, spent := onFirestore(t, firestoreProject(t))
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	c := &counted{T: t, host: host, phone: in.device(in.pair(g), "d1")}
	c.phone.next("status")
	c.fill()
	spent.take()
	time.Sleep(settle)
	if named, _ := spent.take(); len(named) != 0 {
		t.Errorf("spent while idle: %v", named)
	}
	took := c.turn()
	late := int(max(0, took-12*time.Second)/(5*time.Second)) * 2 // cursor and live document, every 5 s
	named, sum := spent.take()
	show(t, "", named)
	if sum[cloudstore.Write] > 15+late || sum[cloudstore.Delete] > 7 || sum[cloudstore.Read] > 3 || named["read listener"] > 0 {
		t.Errorf("a turn costs %d writes, %d deletes, %d reads; at most 15, 7 and 3, none by the listener",
			sum[cloudstore.Write], sum[cloudstore.Delete], sum[cloudstore.Read])
	}
}

// The same with the host on one instance and the device on another: one write
// and one read more per streamed second, and one read per entry; a minute in
// which nothing happens costs nothing.
func TestOperationsOfATurnApart(t *testing.T) {
	t.Parallel()
	project := firestoreProject(t)
	here, spentHere := onFirestore(t, project)
	there, spentThere := onFirestore(t, project)
	g, hostToken := here.gateway()
	host, _ := here.host(hostToken, "e1", 0, 0, "")
	c := &counted{T: t, host: host, phone: there.device(here.pair(g), "d1")}
	c.phone.next("status")
	c.fill()
	spentHere.take()
	spentThere.take()
	time.Sleep(time.Minute)
	for where, spent := range map[string]*spending{"host": spentHere, "device": spentThere} {
		if named, _ := spent.take(); len(named) != 0 {
			t.Errorf("the instance of the %s spent in an idle minute: %v", where, named)
		}
	}
	seconds := int(c.turn()/time.Second) + 1
	a, sumA := spentHere.take()
	b, sumB := spentThere.take()
	show(t, "host:  ", a)
	show(t, "device:", b)
	entries := a["write outbox"] + b["write outbox"]
	if a["read listener"] != b["write outbox"] || b["read listener"] != a["write outbox"] {
		t.Errorf("the listeners read %d and %d entries, the other instance wrote %d and %d", a["read listener"], b["read listener"], b["write outbox"], a["write outbox"])
	}
	if a["write live"] > seconds || b["read live_listener"] > seconds+1 { // and one when it begins
		t.Errorf("%d writes and %d reads of live text in %d s, want one of each a second", a["write live"], b["read live_listener"], seconds)
	}
	late := max(0, seconds-13) / 5
	if writes := sumA[cloudstore.Write] + sumB[cloudstore.Write] - a["write live"]; writes > 13+late {
		t.Errorf("%d writes beside the live text, want 13 as on one instance", writes)
	}
	if reads := sumA[cloudstore.Read] + sumB[cloudstore.Read] - b["read live_listener"]; reads > entries+3 {
		t.Errorf("%d reads beside the live text, want one for each of %d entries and 3 or fewer", reads, entries)
	}
	if n := sumA[cloudstore.Delete] + sumB[cloudstore.Delete]; n > 7 {
		t.Errorf("%d deletes, want 7 as on one instance", n)
	}
}
