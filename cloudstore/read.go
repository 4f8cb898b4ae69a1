package cloudstore

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
)

// list reads a query to its end. It is for rows that are small, or few.
func list[D any](ctx context.Context, s *Store, purpose string, q firestore.Query) (docs []D, err error) {
	err = read(ctx, s, purpose, q, func(doc D) bool { docs = append(docs, doc); return true })
	return docs, err
}

// read reads what a query finds, one document after the other, until take wants no
// more: the stream is stopped, and what has not been sent yet is not read.
func read[D any](ctx context.Context, s *Store, purpose string, q firestore.Query, take func(D) (more bool)) error {
	return each(ctx, s, purpose, q, func(snap *firestore.DocumentSnapshot) (more bool, err error) {
		var doc D
		if err := snap.DataTo(&doc); err != nil {
			return false, fmt.Errorf("%s: %w", snap.Ref.Path, err)
		}
		return take(doc), nil
	})
}

// each is read for those who need the snapshots. A query that finds nothing is a
// read, too.
func each(ctx context.Context, s *Store, purpose string, q firestore.Query, take func(*firestore.DocumentSnapshot) (more bool, err error)) error {
	found := q.Documents(ctx)
	defer found.Stop()
	n := 0
	defer func() { s.spend(Read, purpose, n) }()
	for {
		snap, err := found.Next()
		if errors.Is(err, iterator.Done) {
			n = max(1, n)
			return nil
		}
		if err != nil {
			return err
		}
		n++
		if more, err := take(snap); err != nil || !more {
			s.drain(found)
			return err
		}
	}
}

// drain lets the emulator send the rest of what a query finds, which nobody wants: a
// stream that is stopped while the emulator writes takes the whole connection along
// ("byte distribution write error"), one of three with rows of 600 KiB.
func (s *Store) drain(rest *firestore.DocumentIterator) {
	for s.client.UsesEmulator {
		if _, err := rest.Next(); err != nil {
			return
		}
	}
}

// get reads one document.
func get[D any](ctx context.Context, s *Store, ref *firestore.DocumentRef) (doc D, err error) {
	snap, err := ref.Get(ctx)
	s.spend(Read, ref.Parent.ID, 1)
	if err != nil {
		return doc, err
	}
	if err := snap.DataTo(&doc); err != nil {
		return doc, fmt.Errorf("%s: %w", ref.Path, err)
	}
	return doc, nil
}

func nouns[D, N any](docs []D, noun func(D) N) []N {
	var out []N
	for _, doc := range docs {
		out = append(out, noun(doc))
	}
	return out
}
