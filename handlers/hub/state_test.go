package hub

import (
	"testing"
	"time"

	"iris-gateway/iris"
)

// A host whose token was taken away is not attached, whatever was known of its
// connection.
func TestRevokedHostIsNotAttached(t *testing.T) {
	t.Parallel()
	s := newState(rowsRead{}, iris.Entry{}, 64)
	attached := iris.Link{ID: "l", Instance: "i", At: time.Now()}
	s.fold(nil, []iris.Control{{Kind: iris.HostAttached, Link: attached}}, nil)
	if s.HostLink != attached {
		t.Fatalf("link %+v, want the attached one", s.HostLink)
	}
	s.fold(nil, []iris.Control{{Kind: iris.HostRevoked}}, nil)
	if s.HostLink != (iris.Link{}) {
		t.Errorf("link %+v after the token was taken away", s.HostLink)
	}
}

// A channel whose deletion has begun is gone at once, with its threads, and
// nothing else is. Who decided on the state before still sees it.
func TestDeletedLanesAreGone(t *testing.T) {
	t.Parallel()
	gone, thread, stays := iris.Lane{ChatID: "a"}, iris.Lane{ChatID: "a", ThreadID: "t"}, iris.Lane{ChatID: "b"}
	var channels []iris.Channel
	for _, lane := range []iris.Lane{gone, thread, stays} {
		channels = append(channels, iris.Channel{Lane: lane})
	}
	before := newState(rowsRead{channels: channels}, iris.Entry{}, 64)
	s := before.fork()
	s.fold(nil, []iris.Control{{Kind: iris.DeletionBegun, Deletion: &iris.Deletion{ID: "d", Lane: gone}}}, nil)
	for lane, want := range map[iris.Lane]bool{gone: false, thread: false, stays: true} {
		if _, ok := s.Channel(lane); ok != want {
			t.Errorf("lane %v is there: %v", lane, ok)
		}
		if _, ok := before.Channel(lane); !ok {
			t.Errorf("lane %v is gone from the state before", lane)
		}
	}
}

// A request that the host could not do is answered with what the host says, or
// with something: an empty error says nothing to a person.
func TestHostCouldNotDoIt(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"no such model": "no such model", "": "the agent host could not do it"} {
		a := &Actor{}
		var answers []error
		for item := range 2 {
			a.asked = append(a.asked, &Asked{Cursor: 7, Item: item, timer: time.NewTimer(time.Hour), Answer: func(_ string, err error) { answers = append(answers, err) }})
		}
		a.settleAsked(iris.Entry{Control: []iris.Control{{Kind: iris.InboundDone, Done: iris.Done{Cursor: 7, Item: 1, Error: said}}}})
		if len(answers) != 1 || iris.ErrorCode(answers[0]) != iris.CodeInternal || answers[0].(*iris.Error).Message != want {
			t.Errorf("answers %v, want %q once", answers, want)
		}
		if len(a.asked) != 1 || a.asked[0].Item != 0 {
			t.Errorf("%d requests wait, want the other one", len(a.asked))
		}
		for _, q := range a.asked {
			q.timer.Stop()
		}
	}
}
