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
// From now on nothing can be added that needs the row: see [Store.within]. The
// token whose hash is host becomes one of kind [iris.TokenRemoved], which stays
// until DropRemovedHost; "" when there is nobody to be told. CodeNotFound when
// there is no such row.
func (s *Store) BeginRemoval(ctx context.Context, r iris.Removal, host string) error {
	b := s.batch()
	if host != "" {
		b.Set(s.token(host), newTokenDoc(rows.RemovedHost(r, host)))
	}
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

// RemovedHosts returns the tokens of hosts that have not confirmed that they
// have erased what they have of a removed gateway, oldest first.
func (s *Store) RemovedHosts(ctx context.Context) ([]iris.Token, error) {
	docs, err := list[tokenDoc](ctx, s, "tokens", s.client.Collection("tokens").Where("kind", "==", string(iris.TokenRemoved)))
	if err != nil {
		return nil, wrap(ctx, err, "listing the hosts of removed gateways")
	}
	out := nouns(docs, tokenDoc.noun)
	slices.SortFunc(out, rows.CompareTokens)
	return out, nil
}

// DropRemovedHost removes the token of a host that has erased all.
func (s *Store) DropRemovedHost(ctx context.Context, hash string) error {
	ref := s.token(hash)
	_, err := ref.Delete(ctx)
	s.spent(Delete, ref, err)
	return wrap(ctx, err, "dropping the token of a removed gateway")
}

// RemoveSome removes some documents of a gateway and returns how many; none are
// left when it is 0, but the newest entry of the log, and the token of a host
// that is still to be told. It costs a read and a delete for each.
//
// The order matters. The log goes first, oldest entry first: without older ones
// nobody appends who has not read the newest, which says that it is over. Then
// the tokens, by which devices are added, and then all the rest.
func (s *Store) RemoveSome(ctx context.Context, g string) (int, error) {
	entries := s.outbox(g).OrderBy("cursor", firestore.Asc)
	if n, err := s.removePage(ctx, g, entries, 1); n > 0 || err != nil {
		return n, err
	}
	if n, err := s.removeTokens(ctx, g); n > 0 || err != nil {
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
	return s.removeAll(ctx, snaps[:max(0, len(snaps)-keep)])
}

// removeTokens removes the first tokens of a gateway, but that of its host if it
// is still to be told.
func (s *Store) removeTokens(ctx context.Context, g string) (int, error) {
	snaps, err := s.client.Collection("tokens").Where("gateway", "==", g).Select("kind").Limit(removeAtOnce).Documents(ctx).GetAll()
	if err != nil {
		return 0, wrap(ctx, err, "listing the tokens of %s", g)
	}
	s.spend(Read, "removals", max(1, len(snaps)))
	return s.removeAll(ctx, slices.DeleteFunc(snaps, func(snap *firestore.DocumentSnapshot) bool {
		return snap.Data()["kind"] == string(iris.TokenRemoved)
	}))
}

func (s *Store) removeAll(ctx context.Context, snaps []*firestore.DocumentSnapshot) (int, error) {
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
