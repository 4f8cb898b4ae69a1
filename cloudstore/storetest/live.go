package storetest

import (
	"context"
	"errors"
	"reflect"
	"time"

	"iris-gateway/iris"
)

func aLive(turn, data string) iris.Live {
	return iris.Live{
		Turn: turn, Lane: iris.Lane{ChatID: iris.DefaultChat}, Writer: "w_1", Data: data,
		At: time.Date(2026, 12, 1, 1, 2, 3, 0, time.UTC),
	}
}

// attached makes the gateway, its host attached to an instance.
func (f *fixture) attached(instance string) {
	f.Helper()
	f.gateway()
	noError(f.T, f.change(iris.SetHostLink{Link: iris.Link{ID: "l_" + instance, Instance: instance}}))
}

// Tail: "After its creation only Update (a late one gets NotFound; a late Set
// would leave a ghost); deleted in the batch that ends the turn."
func testLive(f *fixture) {
	f.attached("w_1")
	noError(f, f.CreateLive(f.ctx, f.g, aLive("tn_1", "a")))
	noError(f, f.UpdateLive(f.ctx, f.g, aLive("tn_1", "b")))
	f.wantLives(aLive("tn_1", "b"))
	noError(f, f.Append(f.ctx, f.g, iris.Commit{
		Entry: iris.Entry{Cursor: 3, Writer: "w_1", First: 1}, Changes: []iris.Change{iris.DropLive{Turn: "tn_1"}},
	}))
	f.wantLives()
	if err := f.UpdateLive(f.ctx, f.g, aLive("tn_1", "c")); iris.ErrorCode(err) != iris.CodeNotFound {
		f.Errorf("late update: %v, want CodeNotFound", err)
	}
	f.wantLives()
	noError(f, f.change(iris.PutLive{Live: aLive("tn_3", "d")}, iris.PutLive{Live: aLive("tn_4", "e")}))
	noError(f, f.change(iris.PutLive{Live: aLive("tn_3", "f")}, iris.DropLive{Turn: "tn_4"}))
	f.wantLives(aLive("tn_3", "f"))
	noError(f, f.change(iris.PutLive{Live: aLive("tn_3", "g")}, iris.DropLive{Turn: "tn_3"}))
	f.wantLives()
	noError(f, f.CreateLive(f.ctx, f.g, aLive("tn_2", "x")))
	noError(f, f.DropLive(f.ctx, f.g, "tn_2"))
	noError(f, f.DropLive(f.ctx, f.g, "tn_2"))
	f.wantLives()
}

// The instance that had the host creates a document only when it is attached to
// another one: that has read the documents before, and would leave this one
// behind. What is there can still be updated.
func testLiveElsewhere(f *fixture) {
	f.attached("w_1")
	noError(f, f.CreateLive(f.ctx, f.g, aLive("tn_1", "a")))
	noError(f, f.change(iris.SetHostLink{Link: iris.Link{ID: "l_w_2", Instance: "w_2"}}))
	code(f, f.CreateLive(f.ctx, f.g, aLive("tn_2", "late")), iris.CodeNotFound)
	noError(f, f.UpdateLive(f.ctx, f.g, aLive("tn_1", "b")))
	f.wantLives(aLive("tn_1", "b"))
}

// A refused commit drops no live document, and makes none.
func testLiveAtomic(f *fixture) {
	f.attached("w_1")
	noError(f, f.CreateLive(f.ctx, f.g, aLive("tn_1", "a")))
	err := f.Append(f.ctx, f.g, iris.Commit{
		Entry: iris.Entry{Cursor: 3, Writer: "w_1", First: 1},
		Changes: []iris.Change{
			iris.DropLive{Turn: "tn_1"}, iris.PutLive{Live: aLive("tn_1", "b")}, iris.PutLive{Live: aLive("tn_2", "c")}, iris.SetBusy{Lane: iris.Lane{ChatID: "none"}, Turn: ""},
		},
	})
	if !errors.Is(err, iris.ErrRefused) {
		f.Fatalf("append: %v, want ErrRefused", err)
	}
	f.wantLives(aLive("tn_1", "a"))
}

// A follower sees what is there, and every later state at least at its end.
func testFollowLive(f *fixture) {
	f.attached("w_1")
	noError(f, f.CreateLive(f.ctx, f.g, aLive("tn_1", "a")))
	ctx, cancel := context.WithCancel(f.ctx)
	seen, done := make(chan []iris.Live, 100), make(chan error, 1)
	go func() {
		done <- f.FollowLive(ctx, f.g, func(all []iris.Live) { seen <- all })
	}()
	wait := func(what string, match func([]iris.Live) bool) {
		f.Helper()
		late := time.After(patience)
		for {
			select {
			case all := <-seen:
				if match(all) {
					return
				}
			case <-late:
				f.Fatalf("%s was not delivered", what)
			}
		}
	}
	wait("the first document", func(all []iris.Live) bool { return len(all) == 1 && all[0].Data == "a" })
	noError(f, f.UpdateLive(f.ctx, f.g, aLive("tn_1", "b")))
	wait("the update", func(all []iris.Live) bool { return len(all) == 1 && all[0].Data == "b" })
	noError(f, f.DropLive(f.ctx, f.g, "tn_1"))
	wait("the end", func(all []iris.Live) bool { return len(all) == 0 })
	cancel()
	noError(f, <-done)
}

func (f *fixture) wantLives(want ...iris.Live) {
	f.Helper()
	got, err := f.Lives(f.ctx, f.g)
	noError(f, err)
	for i := range got {
		got[i].At = got[i].At.UTC()
	}
	if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		f.Errorf("live documents %+v, want %+v", got, want)
	}
}
