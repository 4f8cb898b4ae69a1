package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// Head returns the newest entry of g's log, the zero Entry when it is empty.
func (s *Store) Head(ctx context.Context, g string) (iris.Entry, error) {
	if err := alive(ctx); err != nil {
		return iris.Entry{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gw := s.at(g)
	if len(gw.entries) == 0 {
		return iris.Entry{}, nil
	}
	return rows.Entry(*gw.entries[len(gw.entries)-1]), nil
}

// Entries returns the first entries after the cursor, ascending: limit at most,
// and fewer when they are large ([rows.Page]), but one at least if there is any.
func (s *Store) Entries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error) {
	if err := alive(ctx); err != nil || limit <= 0 {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gw := s.at(g)
	from, found := gw.find(after)
	if found {
		from++
	}
	page := rows.EntryPage(limit)
	for _, e := range gw.entries[from:] {
		if !page.Take(rows.Entry(*e)) {
			break
		}
	}
	return page.Rows, nil
}

// Entry returns the entry at the cursor and whether the log has it.
func (s *Store) Entry(ctx context.Context, g string, cursor int64) (iris.Entry, bool, error) {
	if err := alive(ctx); err != nil {
		return iris.Entry{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gw := s.at(g)
	i, found := gw.find(cursor)
	if !found {
		return iris.Entry{}, false, nil
	}
	return rows.Entry(*gw.entries[i]), true, nil
}

// Append writes the commit, all of it or nothing (log.md, "Commit"): the entry,
// which must be new, the guard and the drops, which must exist, then the
// changes. The error wraps exactly one of [iris.ErrRefused],
// [iris.ErrNoAnswer] (here: an ended context) and [iris.ErrRejected].
func (s *Store) Append(ctx context.Context, g string, c iris.Commit) error {
	if err := alive(ctx); err != nil {
		return fmt.Errorf("%w: %w", iris.ErrNoAnswer, err)
	}
	c, err := rows.Commit(c, s.Retention)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gw := s.at(g)
	var undo undo
	if err := s.write(&undo, gw, c); err != nil {
		undo.run()
		return err
	}
	close(gw.added)
	gw.added = make(chan struct{})
	return nil
}

// write does the writes of a commit in order, up to the first that is refused.
func (s *Store) write(u *undo, gw *gateway, c iris.Commit) error {
	before := gw.entries
	u.add(func() { gw.entries = before })
	c.Entry.At = rows.Time(s.Now())
	if !gw.insert(&c.Entry) {
		return refused("entry %d exists", c.Entry.Cursor)
	}
	if c.Guard != 0 {
		if _, found := gw.find(c.Guard); !found {
			return refused("guard %d is gone", c.Guard)
		}
	}
	for _, cursor := range c.Drop {
		if !gw.remove(cursor) {
			return refused("entry %d, to be dropped, is gone", cursor)
		}
	}
	for _, ch := range c.Changes {
		if err := s.apply(u, gw, ch); err != nil {
			return err
		}
	}
	return nil
}

// Follow delivers the entries after the cursor that another writer added, in
// order, as they come. It returns nil when the context has ended or 128 entries
// were delivered, fewer if they are large ([rows.Heard]; listen anew then from what is
// known).
func (s *Store) Follow(ctx context.Context, g string, after int64, writer string, deliver func([]iris.Entry)) error {
	for all := (rows.Heard{}); !all.Enough(); {
		if ctx.Err() != nil {
			return nil
		}
		batch, last, added := s.news(g, after, writer)
		after = last
		if len(batch) > 0 {
			all.Add(batch)
			deliver(batch)
			continue
		}
		select {
		case <-added:
		case <-ctx.Done():
		}
	}
	return nil
}

// news returns what others wrote after the cursor, the newest cursor seen, and
// a channel that is closed when there is more.
func (s *Store) news(g string, after int64, writer string) (batch []iris.Entry, last int64, added <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gw := s.at(g)
	from, found := gw.find(after)
	if found {
		from++
	}
	last = after
	for _, e := range gw.entries[from:] {
		last = e.Cursor
		if e.Writer != writer {
			batch = append(batch, rows.Entry(*e))
		}
	}
	return batch, last, gw.added
}

// insert adds an entry and reports whether its cursor was free. Like remove it
// leaves what an older gw.entries shows as it was, so that keeping the slice is
// enough to undo; both are cheap where the log grows and where it is dropped.
func (gw *gateway) insert(e *iris.Entry) bool {
	i, taken := gw.find(e.Cursor)
	switch {
	case taken:
		return false
	case i == len(gw.entries):
		gw.entries = append(gw.entries, e)
	default:
		gw.entries = slices.Concat(gw.entries[:i], []*iris.Entry{e}, gw.entries[i:])
	}
	return true
}

// remove takes an entry out and reports whether it was there.
func (gw *gateway) remove(cursor int64) bool {
	i, found := gw.find(cursor)
	switch {
	case !found:
		return false
	case i == 0:
		gw.entries = gw.entries[1:]
	default:
		gw.entries = slices.Concat(gw.entries[:i], gw.entries[i+1:])
	}
	return true
}

// find returns the place of the cursor in gw.entries and whether it is there.
func (gw *gateway) find(cursor int64) (int, bool) {
	return slices.BinarySearchFunc(gw.entries, cursor, func(e *iris.Entry, c int64) int {
		return cmp.Compare(e.Cursor, c)
	})
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", iris.ErrRefused, fmt.Sprintf(format, args...))
}
