package hub_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// weighed is a store that keeps what it was given to append.
type weighed struct {
	*memstore.Store
	commits chan iris.Commit
}

func (w weighed) Append(ctx context.Context, g string, c iris.Commit) error {
	w.commits <- c
	return w.Store.Append(ctx, g, c)
}

// TestGroupFits: what waits goes together, as much as one commit may hold: 400
// writes, 700 KiB, and 3 MiB with the rows. What is larger by itself is refused alone.
func TestGroupFits(t *testing.T) {
	t.Parallel()
	store := weighed{memstore.New(), make(chan iris.Commit, 100)}
	if err := store.CreateGateway(t.Context(), iris.Gateway{ID: "g"}, iris.Token{Hash: "h"}); err != nil {
		t.Fatal(err)
	}
	h := hub.New(hub.Config{Store: store, LogEntries: 64, Log: testenv.Logger(t, testenv.Gateways)})
	g, release, err := h.Open(t.Context(), "g")
	if err != nil {
		t.Fatal(err)
	}
	var drafts, framed, long []hub.Draft
	for i := range 5 {
		var d hub.Draft
		for k := range 150 {
			d.Changes = append(d.Changes, iris.CreateMessage{Message: iris.Message{ID: fmt.Sprint(i, " ", k)}})
		}
		drafts = append(drafts, d)
		framed = append(framed, hub.Draft{Frames: []string{strings.Repeat("x", 300<<10)}})
		long = append(long, hub.Draft{Changes: []iris.Change{iris.CreateMessage{Message: iris.Message{ID: fmt.Sprint(i), Text: strings.Repeat("x", 800<<10)}}}})
	}
	drafts = slices.Concat(drafts, framed, long)
	drafts = append(drafts, hub.Draft{Frames: []string{strings.Repeat("x", 800<<10)}}, hub.Draft{Frames: []string{"last"}})
	results := make(chan error, len(drafts))
	err = g.Do(func(a *hub.Actor) {
		for _, d := range drafts {
			a.Propose(hub.Proposal{
				Decide: func(*hub.State) (hub.Draft, error) { return d, nil },
				Done:   func(_ *hub.Actor, r hub.Result) { results <- r.Err },
			})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range drafts {
		if err := <-results; (iris.ErrorCode(err) == iris.CodeUnsupported) != (i == len(drafts)-2) || i != len(drafts)-2 && err != nil {
			t.Errorf("proposal %d: %v", i, err)
		}
	}
	release()
	if err := h.Close(context.Background()); err != nil {
		t.Error(err)
	}
	n := len(store.commits)
	if n < 3 || n >= len(drafts) {
		t.Errorf("%d proposals take %d commits", len(drafts), n)
	}
	for range n {
		c := <-store.commits
		entry, rows := 0, 0
		for _, f := range c.Entry.Frames {
			entry += len(f)
		}
		for _, ch := range c.Changes {
			rows += len(ch.(iris.CreateMessage).Message.Text)
		}
		if len(c.Changes) > 397 || entry > 700<<10 || entry+rows > 3<<20 {
			t.Errorf("entry %d has %d changes, %d bytes and rows of %d", c.Entry.Cursor, len(c.Changes), entry, rows)
		}
	}
}
