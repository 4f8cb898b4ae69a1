package push_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/push"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// bubble runs a test with an instance, one device without a link, and fake time.
func bubble(t *testing.T, test func(r *rig)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil).open()
		defer r.close()
		r.device("d", "token-d", "")
		test(r)
	})
}

// "Quota and 5xx → retry with the server's Retry-After, then backoff; nothing
// else is retried." What is not taken leaves the device as it was: the next
// entry is pushed.
func TestRetry(t *testing.T) {
	t.Parallel()
	fail := func(f iris.PushFailure, after time.Duration) error {
		return &iris.PushError{Failure: f, Detail: "503 UNAVAILABLE", RetryAfter: after}
	}
	for _, tt := range []struct {
		name     string
		fails    []error
		earliest []time.Duration // of each call but the first, since the one before
		outcome  iris.PushOutcome
	}{
		{"refused", []error{fail(iris.PushRefused, 0)}, nil, iris.PushFailed},
		{"odd error", []error{fmt.Errorf("odd: token-d")}, nil, iris.PushFailed},
		{"quota with a time", []error{fail(iris.PushQuota, 30*time.Second)}, []time.Duration{30 * time.Second}, iris.PushSent},
		{"quota without a time", []error{fail(iris.PushQuota, 0)}, []time.Duration{time.Minute}, iris.PushSent},
		{"away three times", []error{fail(iris.PushAway, 0), fail(iris.PushAway, 0), fail(iris.PushAway, 9*time.Second)},
			[]time.Duration{time.Second, 2 * time.Second, 9 * time.Second}, iris.PushSent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.fcm.fails["token-d"] = tt.fails
				cursor := r.answer("m1", "secret text")
				r.wait(0)
				if len(tt.earliest) > 0 {
					if p := r.row("d").Push; p.Outcome != iris.PushRetrying || !p.Until.After(time.Now()) || r.row("d").LastPushed != 0 {
						t.Errorf("while it waits the row says %+v", p)
					}
				}
				r.wait(5 * time.Minute)
				calls := r.sent("calls", 1+len(tt.earliest))
				for i, want := range tt.earliest {
					got := calls[i+1].after - calls[i].after
					if got < want || got > want*5/4+15*time.Second {
						t.Errorf("try %d came after %v, want %v or a little more", i+2, got, want)
					}
				}
				row := r.row("d")
				if row.Push.At.IsZero() || row.Push.Outcome != tt.outcome || (row.LastPushed == cursor) != (tt.outcome == iris.PushSent) || row.FCMToken == "" {
					t.Errorf("the row says %+v, last pushed %d, token %q", row.Push, row.LastPushed, row.FCMToken)
				}
				cursor = r.answer("m2", "secret text")
				r.wait(time.Minute)
				r.sent("the next entry", 1)
				if row := r.row("d"); row.LastPushed != cursor || row.Push.Outcome != iris.PushSent {
					t.Errorf("after the next entry: %+v, last pushed %d", row.Push, row.LastPushed)
				}
				r.quiet("token-d", "secret text")
			})
		})
	}
}

// It is tried again for an hour, not for ever, and a question until it can no
// longer be answered.
func TestGivesUp(t *testing.T) {
	bubble(t, func(r *rig) {
		r.fcm.each = func(context.Context, string) error { return &iris.PushError{Failure: iris.PushAway} }
		r.answer("m1", "x")
		r.wait(50 * time.Minute)
		if !r.pusher.Pending(gatewayID) {
			t.Error("gave up within the hour")
		}
		r.wait(13 * time.Minute)
		if r.pusher.Pending(gatewayID) {
			t.Error("does not give up")
		}
		end := time.Now().Add(10 * time.Second)
		r.frames(wire.PickerApproval{PickerID: "p", ExpiresAt: end.UnixMilli()}, wire.Notification{Kind: "approval", ExpiresAt: end.UnixMilli()})
		r.wait(time.Minute)
		if r.pusher.Pending(gatewayID) {
			t.Error("a question that has expired is still pushed")
		}
	})
}

// Settle returns once all has been pushed and noted, and no later than asked.
func TestSettle(t *testing.T) {
	bubble(t, func(r *rig) {
		settle := func(limit time.Duration) time.Duration {
			ctx, cancel := context.WithTimeout(r.Context(), limit)
			defer cancel()
			began := time.Now()
			r.pusher.Settle(ctx, gatewayID)
			return time.Since(began)
		}
		if took := settle(time.Minute); took != 0 {
			t.Errorf("with nothing to push it takes %v", took)
		}
		r.fcm.each = func(context.Context, string) error { time.Sleep(3 * time.Second); return nil }
		cursor := r.answer("m1", "x")
		if took := settle(time.Minute); took != 3*time.Second || r.row("d").LastPushed != cursor {
			t.Errorf("a push of 3 s takes %v, last pushed %d, want %d", took, r.row("d").LastPushed, cursor)
		}
		r.fcm.each = func(context.Context, string) error { return &iris.PushError{Failure: iris.PushAway} }
		r.answer("m2", "x")
		if took := settle(10 * time.Second); took != 10*time.Second {
			t.Errorf("with a service that is away it takes %v, want 10 s", took)
		}
	})
}

// A definite "unregistered" removes the registration; the same token registered
// again is tried again.
func TestUnregistered(t *testing.T) {
	bubble(t, func(r *rig) {
		r.fcm.fails["token-d"] = []error{&iris.PushError{Failure: iris.PushGone, Detail: "404 UNREGISTERED"}}
		r.answer("m1", "x")
		r.wait(time.Minute)
		r.sent("calls", 1)
		if row := r.row("d"); row.FCMToken != "" || row.Push.Outcome != iris.PushUnregistered || row.LastPushed != 0 {
			t.Errorf("the row says %+v", row)
		}
		r.answer("m2", "x")
		r.wait(time.Minute)
		r.sent("without a registration", 0)
		token := "token-d"
		r.commit(hub.Draft{
			Control: []iris.Control{{Kind: iris.PushRegistered, Device: "d", Push: iris.HashToken(token)}},
			Changes: []iris.Change{iris.SetPush{Device: "d", FCMToken: &token}},
		})
		if row := r.row("d"); row.Push.Outcome != "" {
			t.Errorf("after registering again the row still says %+v", row.Push)
		}
		r.answer("m3", "x")
		r.wait(time.Minute)
		r.sent("registered again", 1)
	})
}

// Revocation is looked at right before the call: also before a second try.
func TestRevoked(t *testing.T) {
	bubble(t, func(r *rig) {
		r.fcm.fails["token-d"] = []error{&iris.PushError{Failure: iris.PushAway}}
		r.answer("m1", "x")
		r.wait(0)
		r.sent("the first try", 1)
		r.commit(hub.Draft{
			Control: []iris.Control{{Kind: iris.DeviceRevoked, Device: "d"}},
			Changes: []iris.Change{iris.DropDevice{Device: "d"}},
		})
		r.wait(time.Minute)
		r.sent("after the revocation", 0)
		if r.pusher.Pending(gatewayID) {
			t.Error("still pending")
		}
	})
}

// An approval that was answered is not pushed: not after 8 s, not at a second
// try.
func TestAnsweredIsNotPushed(t *testing.T) {
	bubble(t, func(r *rig) {
		ask := func(id string) {
			r.frames(wire.PickerApproval{PickerID: id}, wire.Notification{Kind: "approval", Title: "Approval needed", Body: id})
		}
		answer := func(id string) {
			d := hub.Draft{}
			d.Add(lane, wire.PickerClosed{PickerID: id})
			r.commit(d)
		}
		r.attach("d")
		ask("p1")
		r.wait(5 * time.Second)
		answer("p1")
		r.wait(time.Minute)
		r.sent("answered within 8 s", 0)
		r.fcm.fails["token-d"] = []error{&iris.PushError{Failure: iris.PushQuota, RetryAfter: 20 * time.Second}}
		ask("p2")
		r.wait(10 * time.Second)
		r.sent("a try", 1)
		answer("p2")
		r.wait(time.Minute)
		r.sent("answered before the second try", 0)
		ask("p3")
		ask("p4")
		r.wait(time.Minute)
		r.sent("two questions are two pushes", 2)
	})
}

// A burst of 100 messages of a lane does not become 100 notifications: the
// newest wins. A question among them is not lost.
func TestBurst(t *testing.T) {
	bubble(t, func(r *rig) {
		var cursor int64
		for i := range 100 {
			cursor = r.answer(fmt.Sprint("m", i), fmt.Sprint("text ", i))
			if i == 50 {
				r.frames(wire.PickerClarify{PickerID: "p"}, wire.Notification{Kind: "clarify", Body: "Which?"})
			}
			r.wait(10 * time.Millisecond)
		}
		r.wait(time.Minute)
		calls := r.sent("pushes", 3)
		if calls[0].push.Data["body"] != "text 0" || calls[1].push.Data["kind"] != "clarify" || calls[2].push.Data["body"] != "text 99" {
			t.Errorf("pushed %+v", calls)
		}
		if calls[0].push.Collapse != calls[2].push.Collapse || calls[1].push.Collapse != "" {
			t.Errorf("collapse keys: %+v", calls)
		}
		if row := r.row("d"); row.LastPushed != cursor {
			t.Errorf("last pushed %d, want %d", row.LastPushed, cursor)
		}
	})
}

// last_pushed_cursor never passes something that still waits: else a device that
// syncs would not show it.
func TestLastPushedWaits(t *testing.T) {
	bubble(t, func(r *rig) {
		first := r.answer("m1", "x")
		r.wait(0)
		held := r.answer("m2", "x") // waits for its lane's pace
		r.frames(wire.PickerClarify{PickerID: "p"}, wire.Notification{Kind: "clarify"})
		r.wait(time.Second)
		r.sent("first message and question", 2)
		if got := r.row("d").LastPushed; got != held-1 || got < first {
			t.Errorf("last pushed %d while %d waits", got, held)
		}
		r.wait(time.Minute)
		r.sent("second message", 1)
		if got := r.row("d").LastPushed; got != held+1 {
			t.Errorf("last pushed %d at the end, want %d", got, held+1)
		}
	})
}

// A link that ends makes what waits due with the next entry: at once.
func TestDetached(t *testing.T) {
	bubble(t, func(r *rig) {
		r.attach("d")
		r.frames(wire.PickerClarify{PickerID: "p"}, wire.Notification{Kind: "clarify"})
		r.wait(time.Second)
		_ = r.g.Call(r.Context(), func(a *hub.Actor) { a.Detach(a.Attached("d")) })
		r.wait(0)
		r.answer("m1", "x")
		calls := r.sent("both", 2)
		if calls[0].push.Data["kind"] != "clarify" {
			t.Errorf("pushed %+v", calls)
		}
	})
}

// The cursor in the row tells of what a device has confirmed to another
// instance.
func TestConfirmedElsewhere(t *testing.T) {
	bubble(t, func(r *rig) {
		r.commit(hub.Draft{Control: []iris.Control{{Kind: iris.DeviceAttached, Device: "d", Link: iris.Link{ID: "elsewhere", At: time.Now()}}}})
		cursor := r.answer("m1", "x")
		r.wait(5 * time.Second)
		if err := r.store.SetDeviceCursor(r.Context(), gatewayID, "d", cursor); err != nil {
			t.Fatal(err)
		}
		r.wait(time.Minute)
		r.sent("confirmed to another instance", 0)
		r.commit(hub.Draft{Control: []iris.Control{{Kind: iris.DeviceAttached, Device: "d", Link: iris.Link{ID: "long ago", At: time.Now().Add(-61 * time.Minute)}}}})
		r.answer("m2", "x")
		r.sent("a link older than an hour is dead", 1)
	})
}

// Devices without FCM are woken by ntfy; two with one topic hear once. A device
// whose FCM registration is gone goes on with its topic.
func TestNtfy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, func(c *push.Config) { c.Ntfy = newService() }).open()
		defer r.close()
		r.device("a", "", "topic")
		r.device("b", "", "topic")
		r.device("c", "token-c", "other")
		cursor := r.answer("m1", "x")
		r.wait(time.Second)
		r.sent("by FCM", 1)
		if calls := r.ntfy.take(); len(calls) != 1 || calls[0].to != "topic" {
			t.Errorf("by ntfy: %+v", calls)
		}
		for _, id := range []string{"a", "b", "c"} {
			if got := r.row(id).LastPushed; got != cursor {
				t.Errorf("%s: last pushed %d", id, got)
			}
		}
		r.wait(time.Minute)
		r.fcm.fails["token-c"] = []error{&iris.PushError{Failure: iris.PushGone}}
		cursor = r.answer("m2", "x")
		r.wait(time.Second)
		r.sent("by FCM", 1)
		if calls := r.ntfy.take(); len(calls) != 2 {
			t.Errorf("by ntfy: %+v", calls)
		}
		if row := r.row("c"); row.LastPushed != cursor || row.Push.Outcome != iris.PushSent || row.Push.Detail != "ntfy" {
			t.Errorf("c: %+v", row)
		}
	})
}

// 50 devices: pushes go out in parallel, bounded.
func TestParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, func(c *push.Config) { c.Parallel = 10 }).open()
		defer r.close()
		now, most := make(chan int, 1), 0
		now <- 0
		r.fcm.each = func(ctx context.Context, _ string) error {
			n := <-now + 1
			most = max(most, n)
			now <- n
			time.Sleep(time.Second)
			now <- <-now - 1
			return nil
		}
		for i := range 50 {
			r.device(fmt.Sprint("d", i), fmt.Sprint("token-", i), "")
		}
		began := time.Now()
		r.answer("m1", "x")
		if took := time.Since(began); took > 0 {
			t.Errorf("the commit waited %v for pushes", took)
		}
		r.wait(5 * time.Second)
		r.sent("after five seconds", 50)
		if most != 10 {
			t.Errorf("%d at once, want 10", most)
		}
	})
}
