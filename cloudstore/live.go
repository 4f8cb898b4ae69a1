package cloudstore

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// liveDoc is gateways/{g}/live/{turn} (log.md, "Live documents").
type liveDoc struct {
	Turn     string    `firestore:"turn"`
	ChatID   string    `firestore:"chat_id"`
	ThreadID string    `firestore:"thread_id"`
	Writer   string    `firestore:"writer"`
	Data     string    `firestore:"data"`
	At       time.Time `firestore:"at"`
}

func newLiveDoc(l iris.Live) liveDoc {
	return liveDoc{l.Turn, l.Lane.ChatID, l.Lane.ThreadID, l.Writer, l.Data, rows.Time(l.At)}
}

func (d liveDoc) noun() iris.Live {
	return iris.Live{Turn: d.Turn, Lane: iris.Lane{ChatID: d.ChatID, ThreadID: d.ThreadID}, Writer: d.Writer, Data: d.Data, At: d.At}
}

func lives(c *firestore.Client, g string) *firestore.CollectionRef {
	return gateway(c, g).Collection("live")
}

func (s *Store) live(g, turn string) *firestore.DocumentRef {
	return lives(s.client, g).Doc(docID(turn))
}

// CreateLive adds the live document of a turn, or replaces it; CodeNotFound
// when the gateway is gone, or its host is not attached to the writer: whoever
// it is attached to by now has read the documents, and would not know of this
// one. It costs a read and a write.
func (s *Store) CreateLive(ctx context.Context, g string, l iris.Live) error {
	ref, elsewhere := s.live(g, l.Turn), false
	_, err := s.within(ctx, g, ref, func(tx *firestore.Transaction, gw gatewayDoc) error {
		if elsewhere = gw.Host.Link.Instance != l.Writer; elsewhere {
			return rows.NotAttached(l)
		}
		return tx.Set(ref, newLiveDoc(l))
	})
	if elsewhere {
		return rows.NotAttached(l)
	}
	return wrap(ctx, err, "creating the live document of %s", l.Turn)
}

// UpdateLive replaces what a turn's live document says; CodeNotFound when the
// turn has ended. It costs one write.
func (s *Store) UpdateLive(ctx context.Context, g string, l iris.Live) error {
	ref := s.live(g, l.Turn)
	_, err := ref.Update(ctx, []firestore.Update{
		{Path: "writer", Value: l.Writer}, {Path: "data", Value: l.Data}, {Path: "at", Value: rows.Time(l.At)},
	})
	s.spent(Write, ref, err)
	if missing(err) {
		return rows.NoLive(l.Turn)
	}
	return wrap(ctx, err, "updating the live document of %s", l.Turn)
}

// DropLive removes the live document of a turn, if there is one.
func (s *Store) DropLive(ctx context.Context, g, turn string) error {
	ref := s.live(g, turn)
	_, err := ref.Delete(ctx)
	s.spent(Delete, ref, err)
	return wrap(ctx, err, "dropping the live document of %s", turn)
}

// Lives returns the live documents of a gateway.
func (s *Store) Lives(ctx context.Context, g string) ([]iris.Live, error) {
	docs, err := list[liveDoc](ctx, s, "live", lives(s.client, g).Query)
	if err != nil {
		return nil, wrap(ctx, err, "listing the live documents of %s", g)
	}
	return nouns(docs, liveDoc.noun), nil
}

// FollowLive delivers all live documents of a gateway, now and after each
// change, until ctx ends (nil) or the listener breaks (an error).
func (s *Store) FollowLive(ctx context.Context, g string, deliver func([]iris.Live)) error {
	listening, stop := listening(ctx)
	defer stop()
	it := lives(s.listen, g).Snapshots(listening)
	defer it.Stop()
	for least := 1; ; least = 0 { // a query that finds nothing is a read too
		snap, err := it.Next()
		if ctx.Err() != nil {
			return nil
		}
		var found []iris.Live
		if err == nil {
			s.spend(Read, purposeLive, max(least, heard(snap.Changes)))
			found, err = livesOf(snap)
		}
		if err != nil {
			return wrap(ctx, err, "following the live documents of %s", g)
		}
		deliver(found)
	}
}

func livesOf(snap *firestore.QuerySnapshot) ([]iris.Live, error) {
	docs, err := snap.Documents.GetAll()
	if err != nil {
		return nil, err
	}
	found := make([]iris.Live, 0, len(docs))
	for _, d := range docs {
		var doc liveDoc
		if err := d.DataTo(&doc); err != nil {
			return nil, err
		}
		found = append(found, doc.noun())
	}
	return found, nil
}
