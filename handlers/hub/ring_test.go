package hub

import (
	"slices"
	"testing"

	"iris-gateway/iris"
)

// The log keeps its newest entries, guards exactly one of them, and holds what
// the host has not received (log.md, "Ring").
func TestRing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state    State // before the commit
		received int64
		guard    int64
		drop     []int64
		first    int64
	}{
		"one entry":           {state: State{Cursor: 1, First: 1}, guard: 1, first: 1},
		"not full":            {state: State{Cursor: 9, First: 1}, guard: 1, first: 1},
		"guard follows":       {state: State{Cursor: 900, First: 1, size: 1000}, guard: 700, first: 1},
		"full":                {state: State{Cursor: 10, First: 1}, drop: []int64{1}, first: 2},
		"full later":          {state: State{Cursor: 110, First: 101}, drop: []int64{101}, first: 102},
		"holds inbound":       {state: State{Cursor: 110, First: 101, LastInbound: 105}, received: 50, guard: 101, first: 101},
		"inbound was older":   {state: State{Cursor: 110, First: 101, LastInbound: 99}, received: 50, drop: []int64{101}, first: 102},
		"host has it":         {state: State{Cursor: 110, First: 101, LastInbound: 105}, received: 105, drop: []int64{101}, first: 102},
		"host has the first":  {state: State{Cursor: 110, First: 101, LastInbound: 105}, received: 101, drop: []int64{101}, first: 102},
		"grown":               {state: State{Cursor: 130, First: 101, LastInbound: 105}, received: 105, drop: []int64{101, 102}, first: 103},
		"grown, second holds": {state: State{Cursor: 130, First: 101, LastInbound: 105}, received: 101, drop: []int64{101}, first: 102},
	} {
		s := c.state
		if s.size == 0 {
			s.size = 10
		}
		commit := iris.Commit{Entry: iris.Entry{Cursor: s.Cursor + 1, Host: iris.HostMark{Received: c.received}}}
		setRing(&commit, &s)
		if commit.Guard != c.guard || !slices.Equal(commit.Drop, c.drop) || commit.Entry.First != c.first {
			t.Errorf("%s: guard %d, drop %v, first %d; want %d, %v, %d",
				name, commit.Guard, commit.Drop, commit.Entry.First, c.guard, c.drop, c.first)
		}
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	s := State{size: 10, First: 1, Cursor: 39}
	if s.Full() {
		t.Error("full at 39 entries of 40")
	}
	if s.Cursor++; !s.Full() {
		t.Error("not full at 40 entries of 40")
	}
}
