package storetest

import (
	"testing"
	"time"

	"iris-gateway/iris"
)

// RunRetention runs the part of the contract that says what has expired: it is
// gone, long before the database has removed it. open returns a store with
// media that keeps everything for some time, and the objects
// that there are.
func RunRetention(t *testing.T, open func(t *testing.T, keep time.Duration) (MediaStore, Objects)) {
	t.Run("messages", func(t *testing.T) {
		t.Parallel()
		s, _ := open(t, time.Hour)
		t.Cleanup(func() { noError(t, s.Close()) })
		testMessagesExpire(&fixture{T: t, Store: s.(Store), ctx: t.Context(), g: iris.NewID("g_")})
	})
	t.Run("media", func(t *testing.T) {
		t.Parallel()
		s, objects := open(t, time.Microsecond)
		t.Cleanup(func() { noError(t, s.Close()) })
		f := &mediaFixture{T: t, MediaStore: s, objects: objects, ctx: t.Context()}
		f.g = f.gateway()
		testMediaExpire(f)
	})
}

func testMessagesExpire(f *fixture) {
	lane, now := iris.Lane{ChatID: "c"}, time.Now()
	var changes []iris.Change
	for id, age := range map[string]time.Duration{"old": 2 * time.Hour, "older": 3 * time.Hour, "new": 30 * time.Minute, "newer": time.Minute} {
		changes = append(changes, iris.CreateMessage{Message: iris.Message{ID: id, Lane: lane, Text: "same words", At: now.Add(-age)}})
	}
	noError(f.T, f.change(changes...))
	for id, gone := range map[string]bool{"old": true, "older": true, "new": false, "newer": false} {
		m, err := f.Message(f.ctx, f.g, id)
		if gone {
			code(f, err, iris.CodeNotFound)
			continue
		}
		noError(f.T, err)
		equal(f, "expires", m.Expires, m.At.Add(time.Hour))
	}
	for _, limit := range []int{1, 2, 10} { // with 1 and 2, what follows on the page has expired
		page, more, err := f.History(f.ctx, f.g, lane, nil, limit)
		noError(f.T, err)
		equal(f, "newest of the history", page[len(page)-1].ID, "newer")
		equal(f, "history", []any{len(page), more}, []any{min(limit, 2), limit == 1})
	}
	got, page := f.find("words", iris.Lane{}, iris.Place{})
	equal(f, "found", got, []string{"newer", "new"})
	equal(f, "more", page.More, false)
}

func testMediaExpire(f *mediaFixture) {
	first := f.store("key", noise(10, 1))
	_, err := f.Media(f.ctx, f.g, first.ID)
	code(f, err, iris.CodeNotFound)
	_, err = f.UploadedMedia(f.ctx, f.g, "key")
	code(f, err, iris.CodeNotFound)
	_, _, err = f.OpenMedia(f.ctx, f.g, first.ID, 0, -1)
	code(f, err, iris.CodeNotFound)
	f.store("another", noise(10, 2)) // removes what has expired
	f.left(1)
	f.store("key", noise(10, 3)) // the name can be used again
	f.left(1)
}
