package hub

import (
	"maps"
	"slices"

	"iris-gateway/iris"
)

// erased is what the state knows of deletions (log.md, "Deleting"). Its parts
// are replaced, never changed: copies of the state share them.
type erased struct {
	pending  map[string]iris.Deletion // begun and not ended, by id
	messages map[string]bool          // deleted since the tail began
	order    []string                 // of messages
}

// keepErased is how many messages are remembered: many more than are deleted
// while something that was made before waits for the log.
const keepErased = 8192

// begin takes over a deletion that has begun.
func (s *State) begin(d iris.Deletion) {
	s.pending = maps.Clone(s.pending)
	if s.pending == nil {
		s.pending = map[string]iris.Deletion{}
	}
	s.pending[d.ID] = d
	s.erase(d.Messages)
	if len(d.Messages) == 0 {
		s.own()
		maps.DeleteFunc(s.lanes, func(lane iris.Lane, _ iris.Channel) bool { return d.Covers(lane) })
		maps.DeleteFunc(s.pickers, func(_ string, p iris.Picker) bool { return d.Covers(p.Lane) })
	}
}

// erase remembers that messages are gone.
func (s *State) erase(messages []string) {
	if len(messages) == 0 {
		return
	}
	s.order = slices.Concat(s.order, messages)
	s.order = s.order[max(0, len(s.order)-keepErased):]
	s.messages = make(map[string]bool, len(s.order))
	for _, id := range s.order {
		s.messages[id] = true
	}
}

// foldDeletion takes over that a deletion began or ended.
func (s *State) foldDeletion(c iris.Control) {
	switch {
	case c.Deletion == nil:
	case c.Kind == iris.DeletionBegun:
		s.begin(*c.Deletion)
	case c.Kind == iris.DeletionEnded:
		s.pending = maps.Clone(s.pending)
		delete(s.pending, c.Deletion.ID)
	}
}

// Erased reports whether a message was deleted, as far as the tail tells: what
// was made before its deletion, and waits for the log, must not bring it back.
func (s *State) Erased(message string) bool { return s.messages[message] }

// Deletions returns the deletions that have begun and not ended.
func (s *State) Deletions() []iris.Deletion { return slices.Collect(maps.Values(s.pending)) }

// Deletion returns a deletion that is under way.
func (s *State) Deletion(id string) (iris.Deletion, bool) {
	d, ok := s.pending[id]
	return d, ok
}

// tellDeletions tells those who must know of what an entry begins or ends to
// delete: the host's connection, who waits for something in a lane that is
// gone, and who carries deletions out.
func (a *Actor) tellDeletions(e iris.Entry) {
	told := false
	for _, c := range e.Control {
		if c.Deletion == nil {
			continue
		}
		told = true
		if c.Kind == iris.DeletionBegun && a.host != nil && a.host.Erase != nil {
			a.host.Erase(*c.Deletion)
		}
	}
	if !told {
		return
	}
	a.answerAsked(func(q *Asked) bool { _, ok := a.state.Channel(q.Lane); return !ok }, "", errLaneGone)
	a.pendingDeletions(false)
}

var errLaneGone = iris.Errorf(iris.CodeNotFound, "the channel or thread was deleted meanwhile")

// pendingDeletions calls who carries deletions out; loaded says that the state
// was just read from the rows.
func (a *Actor) pendingDeletions(loaded bool) {
	if erase := a.g.hub.erase; erase != nil {
		erase(a, loaded)
	}
}
