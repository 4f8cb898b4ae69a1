package cloudstore

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"

	"iris-gateway/iris"
)

// relisten is after how many entries [Store.Follow] returns: the client keeps
// all that a listener has seen in memory (log.md, "Tail").
const relisten = 128

// Follow delivers the entries after the cursor that another writer added, in
// order, as they come. It returns nil when the context has ended or 128 entries
// were delivered (listen anew then from what is known), and an error when the
// listener broke, which some codes do for good.
//
// Only added documents count: a guard and a scrub change entries too. It costs
// one read for each entry of others, and one when there is none.
func (s *Store) Follow(ctx context.Context, g string, after int64, writer string, deliver func([]iris.Entry)) error {
	listening, stop := context.WithCancel(ctx)
	defer stop() // ends the stream; Stop alone would only say that nothing more is sent
	it := outbox(s.listen, g).
		Where("cursor", ">", after).Where("writer", "!=", writer).
		OrderBy("cursor", firestore.Asc).Snapshots(listening)
	defer it.Stop()
	for delivered := 0; delivered < relisten; {
		snap, err := it.Next()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return wrap(ctx, err, "following %s", g)
		}
		batch, err := added(snap.Changes)
		if err != nil {
			return wrap(ctx, err, "following %s", g)
		}
		if len(batch) > 0 {
			delivered += len(batch)
			deliver(batch)
		}
	}
	return nil
}

// added returns the entries that a snapshot brings, in the query's order.
func added(changes []firestore.DocumentChange) ([]iris.Entry, error) {
	var batch []iris.Entry
	for _, ch := range changes {
		if ch.Kind != firestore.DocumentAdded {
			continue
		}
		var doc entryDoc
		if err := ch.Doc.DataTo(&doc); err != nil {
			return nil, fmt.Errorf("%s: %w", ch.Doc.Ref.Path, err)
		}
		batch = append(batch, doc.noun())
	}
	return batch, nil
}
