package handlers_test

import (
	"testing"
	"time"
)

// "A stale appender lands at the head or not at all": a commit is on its way
// until the ring has dropped the place that it was for.
func TestStaleAppender(t *testing.T) {
	t.Parallel()
	s, held, free, g, hostToken := twoInstances(t)
	phone, witness := held.device(held.pair(g), "d1"), free.device(held.pair(g), "d2")
	phone.next("status")
	witness.next("status")
	host, _ := free.host(hostToken, "e1", 0, 0, "")
	reached, release := s.commits.hold()
	phone.send(`{"type":"message.send","id":7,"payload":{"text":"stale"}}`)
	reached()
	for seq := int64(1); seq <= 80; seq++ { // the log keeps 64
		host.event(seq, "notice", "", `{"key":"k","text":"goes on"}`)
		witness.next("notification")
	}
	release()
	if f := witness.next("message"); f.text("text") != "stale" {
		t.Errorf("message = %v", f)
	}
	entries := logOf(t, s, g, 0)
	for i, e := range entries {
		if want := entries[len(entries)-1].First + int64(i); e.Cursor != want {
			t.Fatalf("the log has entry %d where %d should be", e.Cursor, want)
		}
	}
}

// An instance that goes away has a connection whose attachment is still on its
// way, when the device has long connected to another one: that stays.
func TestAttachmentOfAnEndedConnection(t *testing.T) {
	t.Parallel()
	s, held, free, g, _ := twoInstances(t)
	token := held.pair(g)
	free.pairs(token)
	held.device(held.pair(g), "d2").next("status")
	reached, release := s.commits.hold()
	old := held.device(token, "d1")
	reached()
	stopped := make(chan struct{})
	go func() { held.stop(); close(stopped) }()
	if code := old.closeCode(); code != 1001 {
		t.Errorf("close code %d, want 1001", code)
	}
	phone := free.device(token, "d1")
	phone.next("status")
	release()
	<-stopped
	phone.keeps()
}

// pairs makes the device d1 known.
func (in *instance) pairs(token string) {
	p := in.device(token, "d1")
	p.next("status")
	p.drop()
}

// keeps checks that a device's connection is its newest, in the eyes of an
// instance that has read the whole log.
func (p *peer) keeps() {
	p.t.Helper()
	p.send(`{"type":"message.send","id":7,"payload":{"text":"still here"}}`)
	p.next("message")
}

// The attachment of an older connection comes after that of a newer one.
func TestLateAttachment(t *testing.T) {
	t.Parallel()
	s, held, free, g, _ := twoInstances(t)
	token := held.pair(g)
	free.pairs(token)
	held.device(held.pair(g), "d2").next("status")
	reached, release := s.commits.hold()
	old := held.device(token, "d1")
	reached()
	time.Sleep(700 * time.Millisecond) // the clocks of instances may be 0.5 s apart
	phone := free.device(token, "d1")
	phone.next("status")
	release()
	if code := old.closeCode(); code != 4409 {
		t.Errorf("close code %d of the older connection, want 4409", code)
	}
	phone.keeps()
}

// The same of a host that has lost its spool in between: the epoch of the old
// one would begin the new one anew.
func TestLateAttachmentOfALostSpool(t *testing.T) {
	t.Parallel()
	s, held, free, g, hostToken := twoInstances(t)
	phone := held.device(held.pair(g), "d1")
	phone.next("status")
	reached, release := s.commits.hold()
	old := dial(t, "host", held.url+"/host", hostToken)
	old.send(`{"type":"hello","protocol":1,"epoch":"e1","process":"p1","last_seq":0,"received":0,
		"agent":{"name":"hermes-agent","version":"0.19.0","model":"m","streaming":true},"plugin":"0.1.0","commands":[],"turns":[]}`)
	reached()
	host, _ := free.host(hostToken, "e2", 0, 0, "")
	release()
	if code := old.closeCode(); code != 4409 {
		t.Errorf("close code %d of the lost spool, want 4409", code)
	}
	host.event(1, "notice", "", `{"key":"k","text":"of the new spool"}`)
	host.acked(1)
}
