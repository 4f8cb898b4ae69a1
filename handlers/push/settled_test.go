package push_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/push"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// What needs no push any more takes nothing along that waits behind it.
func TestSettledAlone(t *testing.T) {
	bubble(t, func(r *rig) {
		r.attach("d")
		r.answer("m1", "x")
		r.wait(time.Second)
		r.answer("m2", "x") // waits for its lane's pace, behind the question
		r.frames(wire.PickerClarify{PickerID: "p"}, wire.Notification{Kind: "clarify"})
		r.wait(time.Second)
		closed := hub.Draft{}
		closed.Add(lane, wire.PickerClosed{PickerID: "p"})
		r.commit(closed)
		r.wait(6500 * time.Millisecond)
		r.sent("the first message", 1)
		r.wait(time.Minute)
		if calls := r.sent("the second message", 1); calls[0].push.Data["message_id"] != "m2" {
			t.Errorf("pushed %+v", calls)
		}
	})
}

// What was said in a thread that is gone is not pushed, though its channel is there.
func TestThreadGone(t *testing.T) {
	bubble(t, func(r *rig) {
		d := hub.Draft{Notify: true}
		d.Add(iris.Lane{ChatID: lane.ChatID, ThreadID: "gone"}, wire.Message{MessageID: "m1", Role: iris.RoleAssistant, Text: "x"})
		r.commit(d)
		r.wait(time.Minute)
		r.sent("of a thread that is gone", 0)
	})
}

// unread is a store that cannot read a device for some time.
type unread struct {
	push.Store
	until time.Time
	reads *atomic.Int64
}

func (u unread) Device(ctx context.Context, g, d string) (iris.Device, error) {
	if u.reads.Add(1); time.Now().Before(u.until) {
		return iris.Device{}, errors.New("unavailable")
	}
	return u.Store.Device(ctx, g, d)
}

// A store that is away for a while is asked again, less and less often, and the
// push is not lost.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		r := newRig(t, nil, func(c *push.Config) { c.Store = unread{c.Store, time.Now().Add(30 * time.Second), &reads} }).open()
		defer r.close()
		r.device("d", "token-d", "")
		r.answer("m1", "x")
		r.wait(25 * time.Second)
		r.sent("while the store is away", 0)
		if n := reads.Load(); n < 3 || n > 8 {
			t.Errorf("asked %d times in 25 s", n)
		}
		r.wait(time.Minute)
		r.sent("once it is back", 1)
	})
}
