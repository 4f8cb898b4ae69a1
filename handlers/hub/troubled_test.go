package hub

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// troubled is a store that refuses the first commit, and fails what is read
// after that as often as it is told to.
type troubled struct {
	*memstore.Store
	refuse, entries, heads int
	reads                  int
	most                   int // entries of one read, 0 for what is asked
}

var errAway = errors.New("the store is away")

func (s *troubled) Append(ctx context.Context, g string, c iris.Commit) error {
	if s.refuse > 0 {
		s.refuse--
		return iris.ErrRefused
	}
	return s.Store.Append(ctx, g, c)
}

func (s *troubled) Entries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error) {
	s.reads++
	if s.entries > 0 {
		s.entries--
		return nil, errAway
	}
	if s.most > 0 {
		limit = min(limit, s.most)
	}
	return s.Store.Entries(ctx, g, after, limit)
}

func (s *troubled) Head(ctx context.Context, g string) (iris.Entry, error) {
	if s.heads > 0 {
		s.heads--
		return iris.Entry{}, errAway
	}
	return s.Store.Head(ctx, g)
}

// opened returns a gateway whose log has one entry, and what closes it before
// the test ends.
func opened(t *testing.T, s *troubled) (*Gateway, func()) {
	t.Helper()
	if err := s.CreateGateway(t.Context(), iris.Gateway{ID: "g"}, iris.Token{Hash: "h"}); err != nil {
		t.Fatal(err)
	}
	h := New(Config{Store: s, LogEntries: 64, Log: testenv.Logger(t, testenv.Gateways)})
	g, release, err := h.Open(t.Context(), "g")
	if err != nil {
		t.Fatal(err)
	}
	leave := sync.OnceFunc(func() {
		release()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(leave)
	return g, leave
}

// Why a commit was refused may be unknown for a while: it is tried again then,
// and neither taken for one that landed nor for the end of the log.
func TestRefusedWhileTheStoreIsAway(t *testing.T) {
	for name, trouble := range map[string]troubled{
		"the log cannot be read":  {refuse: 1, entries: 2},
		"the head cannot be read": {refuse: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &trouble
				s.Store = memstore.New()
				g, _ := opened(t, s)
				if s.entries == 0 {
					s.heads = 1
				}
				landed := make(chan Result, 1)
				err := g.Do(func(a *Actor) {
					a.Propose(Proposal{
						Decide: func(*State) (Draft, error) { return Draft{Frames: []string{"f"}}, nil },
						Done:   func(_ *Actor, r Result) { landed <- r },
					})
				})
				if err != nil {
					t.Fatal(err)
				}
				r := <-landed
				if entry, ok, err := s.Entry(t.Context(), "g", 2); r.Err != nil || r.Cursor != 2 || !ok || err != nil || len(entry.Frames) != 1 {
					t.Errorf("result %+v; entry %+v, %v, %v", r, entry, ok, err)
				}
			})
		})
	}
}

// A live document that is older than the log does not show again what has ended;
// when the log cannot be read, nothing is shown at all.
func TestLivesWithoutWhatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &troubled{Store: memstore.New()}
		g, leave := opened(t, s)
		lane := iris.Lane{ChatID: "c"}
		if lives, err := g.Lives(t.Context()); len(lives) != 0 || err != nil || s.reads != 0 {
			t.Errorf("%v, %v after %d reads of the log though no turn runs", lives, err, s.reads)
		}
		if err := s.Append(t.Context(), "g", iris.Commit{Entry: iris.Entry{Cursor: 2, Writer: "w", Batch: 1, First: 1, Messages: []string{"m1"}, Frames: []string{wire.Encode(lane, wire.ToolEnd{Index: 1})}}, Guard: 1}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		data, err := json.Marshal(link.Turn{
			Turn: "t", ChatID: "c", Messages: []link.TurnMessage{{MessageID: "m1"}, {MessageID: "m2"}}, Tools: []link.TurnTool{{Index: 1}, {Index: 2}},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.putLive(t, iris.Live{Turn: "t", Lane: lane, Data: string(data)})
		s.most = 1 // entries may be so large
		lives, err := g.Lives(t.Context())
		if err != nil || len(lives) != 1 {
			t.Fatal(lives, err)
		}
		if turn, ok := TurnOf(lives[0]); !ok || len(turn.Messages) != 1 || turn.Messages[0].MessageID != "m2" || len(turn.Tools) != 1 || turn.Tools[0].Index != 2 {
			t.Errorf("the document tells of %+v", turn)
		}
		s.entries = 1
		if lives, err := g.Lives(t.Context()); !errors.Is(err, errAway) || lives != nil {
			t.Errorf("%v, %v though the log cannot be read", lives, err)
		}
		leave()
		if lives, err := g.Lives(t.Context()); err == nil || lives != nil {
			t.Errorf("%v though nobody knows how far the log is", lives)
		}
	})
}

// putLive adds a live document, with a commit.
func (s *troubled) putLive(t *testing.T, l iris.Live) {
	t.Helper()
	c := iris.Commit{Entry: iris.Entry{Cursor: 3, Writer: "w", Batch: 2, First: 1}, Guard: 1, Changes: []iris.Change{iris.PutLive{Live: l}}}
	if err := s.Append(t.Context(), "g", c); err != nil {
		t.Fatal(err)
	}
}
