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

// onFirestore starts an instance over the emulator that counts what it spends.
func onFirestore(t *testing.T) (*instance, *spending) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short")
	}
	spent := &spending{ops: map[string]int{}}
	store, err := cloudstore.Open(t.Context(), cloudstore.Config{
		Project: testenv.Firestore(t).Project, MaxSockets: 10, Count: spent.count,
	})
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

// What must be provable, 4 and 5: what an ordinary turn costs (a message, two
// tools, an answer streamed for 12 s, one device, one instance, a full log),
// and that nothing is spent while all are connected and nothing happens.
func TestOperationsOfATurn(t *testing.T) {
	t.Parallel()
	in, spent := onFirestore(t)
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	phone := in.device(in.pair(g), "d1")
	phone.next("status")
	seq := int64(0)
	event := func(kind, body string) {
		seq++
		host.event(seq, kind, "tn1", body)
	}
	for range 70 { // the log keeps 64
		event("notice", `{"key":"k","text":"fills the log"}`)
		phone.next("notification")
	}
	settle := 7 * time.Second // longer than a cursor may wait to be saved
	time.Sleep(settle)
	spent.take()
	time.Sleep(settle)
	if named, _ := spent.take(); len(named) != 0 {
		t.Errorf("spent while idle: %v", named)
	}

	began := time.Now()
	phone.send(`{"type":"message.send","id":1,"payload":{"text":"please"}}`)
	phone.next("message")
	inbound := host.next("inbound")
	host.send(`{"type":"received","cursor":%v}`, inbound["cursor"])
	phone.next("read.receipt")
	event("turn.start", `{"trigger":"m","source":"user"}`)
	phone.next("agent.busy")
	for i := 1; i <= 2; i++ {
		tool := fmt.Sprintf(`"call":"c%d","index":%d,"name":"terminal","args":{"command":"ls"}`, i, i)
		host.event(0, "tool.start", "tn1", `{`+tool+`}`)
		event("tool.end", `{`+tool+`,"ok":true,"duration":0.1}`)
		phone.next("tool.end")
	}
	text := ""
	for i := range 120 { // a tenth of a second each
		text += fmt.Sprintf("word %d ", i)
		kind, extra := "edit", ""
		if i == 0 {
			kind, extra = "send", `,"streaming":true`
		}
		host.event(0, kind, "tn1", fmt.Sprintf(`{"message_id":"a1","text":%q%s}`, text, extra))
		phone.next("message.update")
		time.Sleep(100 * time.Millisecond)
	}
	event("model.end", fmt.Sprintf(`{"finish_reason":"stop","text":%q,"model":"m"}`, text))
	event("answer", fmt.Sprintf(`{"text":%q}`, text))
	event("edit", fmt.Sprintf(`{"message_id":"a1","text":%q,"final":true}`, text))
	event("turn.end", `{"outcome":"completed"}`)
	phone.next("agent.idle")
	host.acked(seq)
	// On a slow machine the turn takes longer than 12 s: then more is saved.
	late := int(max(0, time.Since(began)-12*time.Second)/(5*time.Second)) * 2
	time.Sleep(settle)
	named, sum := spent.take()
	for _, name := range slices.Sorted(maps.Keys(named)) {
		t.Logf("%3d × %s", named[name], name)
	}
	if sum[cloudstore.Write] > 15+late || sum[cloudstore.Delete] > 7 || sum[cloudstore.Read] > 3 || named["read listener"] > 0 {
		t.Errorf("a turn costs %d writes, %d deletes, %d reads; at most 15, 7 and 3, none by the listener",
			sum[cloudstore.Write], sum[cloudstore.Delete], sum[cloudstore.Read])
	}
}
