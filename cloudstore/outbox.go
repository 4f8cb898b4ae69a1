package cloudstore

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// Head returns the newest entry of g's log, the zero Entry when it is empty.
// It costs one read.
func (s *Store) Head(ctx context.Context, g string) (iris.Entry, error) {
	newest, err := list[entryDoc](ctx, s, "outbox", s.outbox(g).OrderBy("cursor", firestore.Desc).Limit(1))
	if err != nil {
		return iris.Entry{}, wrap(ctx, err, "reading the head of %s", g)
	}
	if len(newest) == 0 {
		return iris.Entry{}, nil
	}
	return newest[0].noun(), nil
}

// Entries returns the first entries after the cursor, ascending: limit at most,
// and fewer when they are large ([rows.Page]), but one at least if there is any. It
// costs one read for each.
func (s *Store) Entries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error) {
	if limit <= 0 {
		return nil, nil
	}
	page := rows.EntryPage(limit)
	err := read(ctx, s, "outbox", s.outbox(g).Where("cursor", ">", after).OrderBy("cursor", firestore.Asc).Limit(limit),
		func(doc entryDoc) bool { return page.Take(doc.noun()) })
	if err != nil {
		return nil, wrap(ctx, err, "reading the entries of %s after %d", g, after)
	}
	return page.Rows, nil
}

// Entry returns the entry at the cursor and whether the log has it. It costs one
// read.
func (s *Store) Entry(ctx context.Context, g string, cursor int64) (iris.Entry, bool, error) {
	doc, err := get[entryDoc](ctx, s, s.entry(g, cursor))
	switch {
	case missing(err):
		return iris.Entry{}, false, nil
	case err != nil:
		return iris.Entry{}, false, wrap(ctx, err, "reading entry %d of %s", cursor, g)
	}
	return doc.noun(), true, nil
}

// Append writes the commit, all of it or nothing (log.md, "Commit"): the entry,
// which must be new, the guard and the drops, which must exist, then the
// changes. The error wraps exactly one of [iris.ErrRefused],
// [iris.ErrNoAnswer] and [iris.ErrRejected].
//
// The order matters: it decides which refusal is reported. Writes of one row
// are done one after the other, but a message cannot be created after the same
// commit has written it: that is a rejection, as Firestore has it.
func (s *Store) Append(ctx context.Context, g string, c iris.Commit) error {
	c, err := rows.Commit(c, s.retention)
	if err != nil {
		return err
	}
	b := s.batch()
	b.Create(s.entry(g, c.Entry.Cursor), newEntryDoc(c.Entry))
	if c.Guard != 0 {
		b.Guard(s.entry(g, c.Guard))
	}
	for _, cursor := range c.Drop {
		b.Delete(s.entry(g, cursor), firestore.Exists)
	}
	for _, ch := range c.Changes {
		if err := s.apply(b, g, ch); err != nil {
			return err
		}
	}
	if err := b.Commit(ctx); err != nil {
		return fmt.Errorf("%w: %w", outcome(err), wrap(ctx, err, "appending entry %d to %s", c.Entry.Cursor, g))
	}
	return nil
}
