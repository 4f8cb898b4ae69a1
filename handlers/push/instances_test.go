package push_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/push"
	"iris-gateway/iris"
)

// again starts another instance over the store of r, with services of its own.
func (r *rig) again(change ...func(*push.Config)) *rig { return newRig(r.T, r.store, change...) }

// silent makes an instance that dies before it pushes: its calls never return.
func (r *rig) silent() {
	r.fcm.each = func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return &iris.PushError{Failure: iris.PushAway}
	}
}

// A crash between commit and push loses no push: the next opener pushes, once,
// also if two open the gateway at once.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, openers := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil).open()
			r.device("d", "token-d", "")
			r.silent()
			r.answer("m0", "older, of the same lane")
			cursor := r.answer("m1", "lost?")
			r.crash()
			time.Sleep(3 * time.Second)
			var all []*rig
			pushes := 0
			for range openers {
				all = append(all, r.again().open())
			}
			r.wait(2 * time.Minute)
			for _, o := range all {
				for _, c := range o.fcm.take() {
					pushes++
					if c.push.Data["message_id"] != "m1" || c.after < 15*time.Second {
						t.Errorf("pushed %v after %v", c.push.Data, c.after)
					}
				}
				defer o.close()
			}
			if pushes != 1 {
				t.Errorf("%d openers push %d times", openers, pushes)
			}
			if row := r.row("d"); row.LastPushed != cursor || row.Push.Outcome != iris.PushSent || row.Push.By != "" {
				t.Errorf("the row says %d, %+v", row.LastPushed, row.Push)
			}
			last := r.again().open()
			r.wait(2 * time.Minute)
			last.sent("a later opener", 0)
			last.close()
		})
	}
}

// An opener leaves alone what was received or pushed, what is older than an
// hour, and what can never be pushed.
func TestOpenerLeavesAlone(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(r *rig, cursor int64){
		"received": func(r *rig, cursor int64) { _ = r.store.SetDeviceCursor(r.Context(), gatewayID, "d", cursor) },
		"pushed": func(r *rig, cursor int64) {
			_ = r.store.NotePush(r.Context(), gatewayID, "d", cursor, iris.PushState{Outcome: iris.PushSent})
		},
		"refused": func(r *rig, cursor int64) {
			_ = r.store.NotePush(r.Context(), gatewayID, "d", 0, iris.PushState{Outcome: iris.PushFailed, Tried: cursor})
		},
		"received meanwhile": func(r *rig, cursor int64) {
			time.AfterFunc(10*time.Second, func() { _ = r.store.SetDeviceCursor(context.Background(), gatewayID, "d", cursor) })
		},
		"old": func(*rig, int64) { time.Sleep(61 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil).open()
				r.device("d", "token-d", "")
				r.silent()
				cursor := r.answer("m1", "x")
				r.crash()
				prepare(r, cursor)
				next := r.again().open()
				defer next.close()
				r.wait(2 * time.Minute)
				next.sent("pushes", 0)
			})
		})
	}
}

// Two instances with the gateway open: the writer pushes, the other one does
// not. If the writer dies the other one does.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newRig(t, nil).open()
		a.device("d", "token-d", "")
		b := a.again().open()
		defer b.close()
		a.answer("m1", "x")
		a.wait(2 * time.Minute)
		a.sent("by the writer", 1)
		b.sent("by the other one", 0)
		a.attach("d") // half-open: the writer pushes after 8 s
		a.answer("m2", "x")
		a.wait(2 * time.Minute)
		a.sent("by the writer after 8 s", 1)
		b.sent("by the other one", 0)
		a.silent()
		cursor := a.answer("m3", "x")
		a.crash()
		b.wait(2 * time.Minute)
		b.sent("by the survivor", 1)
		if got := b.row("d").LastPushed; got != cursor {
			t.Errorf("last pushed %d, want %d", got, cursor)
		}
	})
}

// What one instance tries again, another one leaves alone until its time.
func TestRetryIsClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newRig(t, nil).open()
		defer a.close()
		a.device("d", "token-d", "")
		b := a.again().open()
		defer b.close()
		a.fcm.fails["token-d"] = []error{&iris.PushError{Failure: iris.PushQuota, RetryAfter: 5 * time.Minute}}
		a.answer("m1", "x")
		a.wait(20 * time.Minute)
		a.sent("by the writer", 2)
		b.sent("by the other one", 0)
	})
}

// A leaving instance pushes what it can within its time, and leaves the rest to
// the next opener.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil).open()
			r.device("d", "token-d", "")
			r.attach("d")
			r.answer("m1", "x")
			r.wait(time.Second)
			if hangs {
				r.silent()
			}
			began := time.Now()
			r.close()
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("draining took %v", took)
			}
			want := 1
			if hangs {
				want = 0
			}
			r.sent("while draining", want)
			next := r.again().open()
			defer next.close()
			r.wait(2 * time.Minute)
			next.sent("by the next opener", 1-want)
		})
	}
}

// Pending pushes keep the gateway open, and no longer.
func TestPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		if err := store.CreateGateway(t.Context(), iris.Gateway{ID: gatewayID, DefaultChat: iris.DefaultChat}, iris.Token{Hash: "host"}); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, store).open()
		defer r.close()
		r.device("d", "token-d", "")
		r.fcm.fails["token-d"] = []error{&iris.PushError{Failure: iris.PushAway, RetryAfter: time.Minute}}
		r.answer("m1", "x")
		r.release()
		r.wait(30 * time.Second)
		if err := r.g.Call(r.Context(), nothing); err != nil || !r.pusher.Pending(gatewayID) {
			t.Errorf("closed with a push pending: %v", err)
		}
		r.wait(2 * time.Minute)
		if err := r.g.Call(r.Context(), nothing); err == nil || r.pusher.Pending(gatewayID) {
			t.Error("still open when nothing is pending")
		}
		r.sent("pushes", 2)
	})
}
