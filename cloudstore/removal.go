package cloudstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// removalDoc is removals/{docID of the gateway}.
type removalDoc struct {
	Gateway string    `firestore:"gateway"`
	Name    string    `firestore:"name"`
	At      time.Time `firestore:"at"`
}

func (doc removalDoc) noun() iris.Removal { return iris.Removal(doc) }

func (s *Store) removal(g string) *firestore.DocumentRef {
	return s.client.Collection("removals").Doc(docID(g))
}

// BeginRemoval removes the row of a gateway, and notes that the rest is to go.
// From now on nothing can be added that needs the row: see [Store.within].
// CodeNotFound when there is no such row.
func (s *Store) BeginRemoval(ctx context.Context, r iris.Removal) error {
	b := s.batch()
	b.Set(s.removal(r.Gateway), removalDoc{r.Gateway, r.Name, rows.Time(r.At)})
	b.Delete(s.gateway(r.Gateway), firestore.Exists)
	err := b.Commit(ctx)
	if stale(err) {
		return rows.NoGateway(r.Gateway)
	}
	return wrap(ctx, err, "beginning to remove %s", r.Gateway)
}

// Removals returns the removals that have begun and not ended, oldest first.
func (s *Store) Removals(ctx context.Context) ([]iris.Removal, error) {
	docs, err := list[removalDoc](ctx, s, "removals", s.client.Collection("removals").Query)
	if err != nil {
		return nil, wrap(ctx, err, "listing what is being removed")
	}
	out := nouns(docs, removalDoc.noun)
	slices.SortFunc(out, rows.CompareRemovals)
	return out, nil
}

// removeAtOnce is how many documents one step of a removal takes.
const removeAtOnce = 300

// RemoveSome removes some documents of a gateway and returns how many; none are
// left when it is 0, but the newest entry of the log. It costs a read and a
// delete for each.
//
// The order matters. The log goes first, oldest entry first: without older ones
// nobody appends who has not read the newest, which says that it is over. Then
// the tokens, by which devices are added, and then all the rest.
func (s *Store) RemoveSome(ctx context.Context, g string) (int, error) {
	entries := s.outbox(g).OrderBy("cursor", firestore.Asc)
	if n, err := s.removePage(ctx, g, entries, 1); n > 0 || err != nil {
		return n, err
	}
	tokens := s.client.Collection("tokens").Where("gateway", "==", g)
	if n, err := s.removePage(ctx, g, tokens, 0); n > 0 || err != nil {
		return n, err
	}
	all, err := s.gateway(g).Collections(ctx).GetAll()
	s.spend(Read, "collections", 1)
	if err != nil {
		return 0, wrap(ctx, err, "listing what %s has", g)
	}
	for _, c := range all {
		if c.ID == "outbox" {
			continue
		}
		if n, err := s.removePage(ctx, g, c.Query, 0); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// removePage removes the first documents of a query, but the last keep of all.
func (s *Store) removePage(ctx context.Context, g string, q firestore.Query, keep int) (int, error) {
	snaps, err := q.Select().Limit(removeAtOnce + keep).Documents(ctx).GetAll()
	if err != nil {
		return 0, wrap(ctx, err, "listing what %s has", g)
	}
	s.spend(Read, "removals", max(1, len(snaps)))
	snaps = snaps[:max(0, len(snaps)-keep)]
	if len(snaps) == 0 {
		return 0, nil
	}
	b := s.batch()
	for _, snap := range snaps {
		b.Delete(snap.Ref)
	}
	if err := b.Commit(ctx); err != nil {
		return 0, wrap(ctx, err, "removing %s", strings.TrimSuffix(snaps[0].Ref.Parent.Path, "/"))
	}
	return len(snaps), nil
}

// EndRemoval removes what is left of the log, and the note of the removal.
func (s *Store) EndRemoval(ctx context.Context, g string) error {
	b := s.batch()
	left, err := s.outbox(g).Select().Limit(removeAtOnce).Documents(ctx).GetAll()
	if err != nil {
		return wrap(ctx, err, "ending the removal of %s", g)
	}
	for _, snap := range left {
		b.Delete(snap.Ref)
	}
	b.Delete(s.removal(g))
	return wrap(ctx, b.Commit(ctx), "ending the removal of %s", g)
}

// within adds a document that belongs to a gateway, unless that is gone:
// CodeNotFound then. What is added from outside of the log needs this, or a
// removal would leave it behind. It costs a read and a write, and returns when
// that was.
func (s *Store) within(ctx context.Context, g string, ref *firestore.DocumentRef, add func(*firestore.Transaction, gatewayDoc) error) (time.Time, error) {
	gone, done := false, new(firestore.CommitResponse)
	err := s.client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		snap, err := tx.Get(s.gateway(g))
		s.spend(Read, "gateways", 1)
		if gone = missing(err); err != nil {
			return err
		}
		var doc gatewayDoc
		if err := snap.DataTo(&doc); err != nil {
			return err
		}
		return add(tx, doc)
	}, firestore.WithCommitResponseTo(done))
	s.spent(Write, ref, err)
	switch {
	case gone:
		return time.Time{}, rows.NoGateway(g)
	case err != nil:
		return time.Time{}, err
	}
	written, err := done.WriteResults()
	if err != nil {
		return time.Time{}, err
	}
	return written[0].UpdateTime, nil
}
