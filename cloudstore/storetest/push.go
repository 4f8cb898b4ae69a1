package storetest

import (
	"sync"
	"time"

	"iris-gateway/iris"
)

// "On success last_pushed_cursor only moves forward." The state of the last
// push goes with a new registration, and is no ghost of a revoked device.
func testPushState(f *fixture) {
	hash := f.pair()
	code(f, f.NotePush(f.ctx, f.g, "d", 1, iris.PushState{}), iris.CodeNotFound)
	noError(f.T, f.BindToken(f.ctx, hash, iris.Device{ID: "d"}))
	now := time.Now()
	sent := iris.PushState{Outcome: iris.PushSent, Detail: "fcm", At: now}
	retrying := iris.PushState{Outcome: iris.PushRetrying, At: now, Tried: 3, By: "p_1", Until: now.Add(time.Minute)}
	for _, step := range []struct {
		pushed int64
		state  iris.PushState
		want   int64
	}{{7, sent, 7}, {5, sent, 7}, {0, retrying, 7}, {9, sent, 9}, {0, retrying, 9}} {
		noError(f.T, f.NotePush(f.ctx, f.g, "d", step.pushed, step.state))
		d, err := f.Device(f.ctx, f.g, "d")
		noError(f.T, err)
		step.state.At, step.state.Until = stored(step.state.At), stored(step.state.Until)
		equal(f, "push state", d.Push, step.state)
		equal(f, "last pushed", d.LastPushed, step.want)
	}
	for i, set := range []struct {
		change iris.SetPush
		keeps  bool
	}{
		{iris.SetPush{Device: "d", FCMToken: new(string), NtfyTopic: new(string)}, true},
		{iris.SetPush{Device: "d", FCMToken: text("f")}, false},
	} {
		noError(f.T, f.Append(f.ctx, f.g, iris.Commit{Entry: iris.Entry{Cursor: int64(i + 2), Writer: "w"}, Changes: []iris.Change{set.change}}))
		d, err := f.Device(f.ctx, f.g, "d")
		noError(f.T, err)
		equal(f, "state kept", d.Push != (iris.PushState{}), set.keeps)
	}
}

func text(s string) *string { return &s }

// Of two instances that want to push the same, one does.
func testClaimPush(f *fixture) {
	hash := f.pair()
	_, _, err := f.ClaimPush(f.ctx, f.g, "d", func(iris.Device) (iris.PushState, bool) { return iris.PushState{}, true })
	code(f, err, iris.CodeNotFound)
	noError(f.T, f.BindToken(f.ctx, hash, iris.Device{ID: "d"}))
	_, ok, err := f.ClaimPush(f.ctx, f.g, "d", func(iris.Device) (iris.PushState, bool) { return iris.PushState{By: "no"}, false })
	noError(f.T, err)
	equal(f, "declined", ok, false)
	var wait sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for _, by := range []string{"p_1", "p_2", "p_3"} {
		wait.Go(func() {
			_, ok, err := f.ClaimPush(f.ctx, f.g, "d", func(d iris.Device) (iris.PushState, bool) {
				return iris.PushState{By: by, Until: time.Now().Add(time.Minute)}, d.Push.By == ""
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				f.Errorf("claim: %v", err)
			}
			if ok {
				won++
			}
		})
	}
	wait.Wait()
	equal(f, "claims won", won, 1)
}

func testNotifyEntries(f *fixture) {
	for cursor := int64(1); cursor <= 8; cursor++ {
		e := iris.Entry{Cursor: cursor, Writer: "w", Notify: cursor%2 == 0}
		noError(f.T, f.Append(f.ctx, f.g, iris.Commit{Entry: e}))
	}
	for _, tt := range []struct {
		after int64
		limit int
		want  []int64
	}{{0, 10, []int64{8, 6, 4, 2}}, {4, 10, []int64{8, 6}}, {0, 1, []int64{8}}, {8, 10, nil}} {
		entries, err := f.NotifyEntries(f.ctx, f.g, tt.after, tt.limit)
		noError(f.T, err)
		var got []int64
		for _, e := range entries {
			got = append(got, e.Cursor)
		}
		equal(f, "entries that notify", got, tt.want)
	}
}
