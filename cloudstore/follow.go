package cloudstore

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// Follow delivers the entries after the cursor that another writer added, in
// order, as they come. It returns nil when the context has ended or 128 entries
// were delivered, fewer if they are large ([rows.Heard]; listen anew then from what is
// known), and an error when the listener broke, which some codes do for good.
//
// Only added documents count: a guard and a scrub change entries too. It costs
// one read for each entry of others, and one when there is none.
func (s *Store) Follow(ctx context.Context, g string, after int64, writer string, deliver func([]iris.Entry)) error {
	listening, stop := listening(ctx)
	defer stop() // ends the stream; Stop alone would only say that nothing more is sent
	it := outbox(s.listen, g).
		Where("cursor", ">", after).Where("writer", "!=", writer).
		OrderBy("cursor", firestore.Asc).Snapshots(listening)
	defer it.Stop()
	var caught int64
	var all rows.Heard
	for first := true; !all.Enough(); first = false {
		snap, err := it.Next()
		var batch []iris.Entry
		if err == nil {
			s.spend(Read, purposeListener, heard(snap.Changes))
			batch, err = added(snap.Changes, caught)
		}
		if err == nil && first && s.listen.UsesEmulator {
			batch, caught, err = s.catchUp(ctx, g, after, writer)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return wrap(ctx, err, "following %s", g)
		}
		if len(batch) > 0 {
			all.Add(batch)
			deliver(batch)
		}
	}
	return nil
}

// listening is a context for a stream that ends with ctx, but has no deadline:
// Firestore would know of it, and could end the stream with an error of its own
// a moment before ctx ends.
func listening(ctx context.Context) (context.Context, context.CancelFunc) {
	stream, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	return stream, func() { stop(); cancel() }
}

// catchUp reads what the listener should have been sent by now, and up to which
// cursor. The emulator looks into the log first and listens afterwards: a
// commit in between is sent only with the next one. With 100 listeners opened
// while each log got its first entry, 7 runs of 30 had one that heard nothing.
func (s *Store) catchUp(ctx context.Context, g string, after int64, writer string) ([]iris.Entry, int64, error) {
	docs, err := list[entryDoc](ctx, s, "outbox", s.outbox(g).Where("cursor", ">", after).OrderBy("cursor", firestore.Asc))
	var batch []iris.Entry
	for _, doc := range docs {
		after = doc.Cursor
		if doc.Writer != writer {
			batch = append(batch, doc.noun())
		}
	}
	return batch, after, err
}

// added returns the entries after a cursor that a snapshot brings, in the
// query's order.
func added(changes []firestore.DocumentChange, after int64) ([]iris.Entry, error) {
	var batch []iris.Entry
	for _, ch := range changes {
		if ch.Kind != firestore.DocumentAdded {
			continue
		}
		var doc entryDoc
		if err := ch.Doc.DataTo(&doc); err != nil {
			return nil, fmt.Errorf("%s: %w", ch.Doc.Ref.Path, err)
		}
		if doc.Cursor > after {
			batch = append(batch, doc.noun())
		}
	}
	return batch, nil
}
