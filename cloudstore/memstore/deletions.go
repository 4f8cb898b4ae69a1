package memstore

import (
	"context"
	"slices"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// Deletions returns the deletions that have begun and not ended, oldest first.
func (s *Store) Deletions(ctx context.Context, g string) ([]iris.Deletion, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []iris.Deletion
	for _, d := range s.at(g).deletions {
		out = append(out, rows.Deletion(d))
	}
	slices.SortFunc(out, rows.CompareDeletions)
	return out, nil
}

// Scrub rewrites the entries that touch some of the messages or lanes, oldest
// first: edit returns an entry with other frames and inbound, or false to leave
// it; it may be asked several times about one entry, each time with what that
// says then (log.md, "Deleting").
func (s *Store) Scrub(ctx context.Context, g string, t iris.Touching, edit func(iris.Entry) (iris.Entry, bool)) error {
	for _, cursor := range s.touched(g, t) {
		if err := alive(ctx); err != nil {
			return err
		}
		for !s.rewrite(g, cursor, edit) {
		}
	}
	return nil
}

// touched returns the cursors of the entries that are looked for.
func (s *Store) touched(g string, t iris.Touching) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []int64
	for _, e := range s.at(g).entries {
		if meet(e.Messages, t.Messages) || meet(e.Lanes, t.Lanes) {
			found = append(found, e.Cursor)
		}
	}
	return found
}

func meet[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}

// rewrite edits one entry, outside of the lock as with Firestore, and reports
// whether that is done.
func (s *Store) rewrite(g string, cursor int64, edit func(iris.Entry) (iris.Entry, bool)) bool {
	read := func() *iris.Entry {
		if i, found := s.at(g).find(cursor); found {
			return s.at(g).entries[i]
		}
		return nil
	}
	s.mu.Lock()
	before := read()
	s.mu.Unlock()
	if before == nil {
		return true
	}
	edited, changed := edit(rows.Entry(*before))
	if !changed {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if read() != before {
		return false
	}
	after := *before
	after.Frames, after.Inbound = rows.Entry(edited).Frames, rows.Entry(edited).Inbound
	gw := s.at(g)
	i, _ := gw.find(cursor)
	gw.entries = slices.Clone(gw.entries) // an older slice shows what it showed
	gw.entries[i] = &after
	return true
}

// Messages hands over the messages with these ids, tombstones too, in no order; those
// that do not exist are left out.
func (s *Store) Messages(ctx context.Context, g string, ids []string, take func(iris.Message)) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if m, found := s.at(g).messages[id]; found {
			take(rows.Message(m))
		}
	}
	return nil
}

// EditLive rewrites what a turn's live document says; false from edit leaves it.
// A document that is gone is done.
func (s *Store) EditLive(ctx context.Context, g, turn string, edit func(iris.Live) (iris.Live, bool)) error {
	return s.changeLive(ctx, g, func(gw *gateway) error {
		l, found := gw.lives[turn]
		if !found {
			return nil
		}
		if edited, changed := edit(l); changed {
			l.Data = edited.Data
			gw.lives[turn] = l
			gw.tellLive()
		}
		return nil
	})
}
