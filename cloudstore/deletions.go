package cloudstore

import (
	"context"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// deletionDoc is gateways/{g}/deletions/{docID}: it exists while the deletion is
// under way.
type deletionDoc struct {
	ID       string    `firestore:"id"`
	ChatID   string    `firestore:"chat_id"`
	ThreadID string    `firestore:"thread_id"`
	Messages []string  `firestore:"messages,omitempty"`
	Threads  []string  `firestore:"threads,omitempty"`
	Names    []string  `firestore:"names,omitempty"`
	Media    []string  `firestore:"media,omitempty"`
	At       time.Time `firestore:"at"`
}

func newDeletionDoc(d iris.Deletion) deletionDoc {
	return deletionDoc{
		ID: d.ID, ChatID: d.Lane.ChatID, ThreadID: d.Lane.ThreadID,
		Messages: d.Messages, Threads: d.Threads, Names: d.Names, Media: d.Media, At: d.At,
	}
}

func (doc deletionDoc) noun() iris.Deletion {
	return iris.Deletion{
		ID: doc.ID, Lane: iris.Lane{ChatID: doc.ChatID, ThreadID: doc.ThreadID},
		Messages: doc.Messages, Threads: doc.Threads, Names: doc.Names, Media: doc.Media, At: doc.At,
	}
}

func (s *Store) deletion(g, id string) *firestore.DocumentRef {
	return s.gateway(g).Collection("deletions").Doc(docID(id))
}

// Deletions returns the deletions that have begun and not ended, oldest first.
func (s *Store) Deletions(ctx context.Context, g string) ([]iris.Deletion, error) {
	docs, err := list[deletionDoc](ctx, s, "deletions", s.gateway(g).Collection("deletions").Query)
	if err != nil {
		return nil, wrap(ctx, err, "listing the deletions of %s", g)
	}
	out := nouns(docs, deletionDoc.noun)
	slices.SortFunc(out, rows.CompareDeletions)
	return out, nil
}

// scrubPage is how many entries one query finds, so that no stream stays open for
// long; maxAny is how many values one may ask for (Firestore's limit of a
// disjunction), and rowsAtOnce how many messages are read at once.
const (
	scrubPage  = 100
	maxAny     = 30
	rowsAtOnce = 20
)

// Scrub rewrites the entries that touch some of the messages or lanes, oldest
// first: edit returns an entry with other frames and inbound, or false to leave
// it; it may be asked several times about one entry, each time with what that
// says then. Only these two fields are written, and only as long as nobody has
// written the entry since it was read (log.md, "Deleting"); an entry that the
// ring drops meanwhile is done. It costs one read for each entry, at least one
// for each 30 messages or lanes, and one write for each that is changed.
func (s *Store) Scrub(ctx context.Context, g string, t iris.Touching, edit func(iris.Entry) (iris.Entry, bool)) error {
	for ids := range slices.Chunk(t.Messages, maxAny) {
		if err := s.scrub(ctx, g, s.outbox(g).Where("messages", "array-contains-any", ids), edit); err != nil {
			return err
		}
	}
	for lanes := range slices.Chunk(t.Lanes, maxAny) {
		var docs []laneDoc
		for _, l := range lanes {
			docs = append(docs, laneDoc(l))
		}
		if err := s.scrub(ctx, g, s.outbox(g).Where("lanes", "array-contains-any", docs), edit); err != nil {
			return err
		}
	}
	return nil
}

// scrub rewrites the entries that a query finds, each as it comes: all of a page
// may be more than there is memory. They are paged by their ids, which needs no index
// of its own.
func (s *Store) scrub(ctx context.Context, g string, q firestore.Query, edit func(iris.Entry) (iris.Entry, bool)) error {
	q = q.OrderBy(firestore.DocumentID, firestore.Asc).Limit(scrubPage)
	for page := q; ; {
		n, last := 0, ""
		err := each(ctx, s, "outbox", page, func(snap *firestore.DocumentSnapshot) (more bool, err error) {
			n, last = n+1, snap.Ref.ID
			return true, s.rewrite(ctx, snap, edit)
		})
		if err != nil {
			return wrap(ctx, err, "scrubbing the log of %s behind %q", g, last)
		}
		if n < scrubPage {
			return nil
		}
		page = q.StartAfter(last)
	}
}

// rewrite edits one entry, again and again until nobody else has written it in
// between.
func (s *Store) rewrite(ctx context.Context, snap *firestore.DocumentSnapshot, edit func(iris.Entry) (iris.Entry, bool)) error {
	for {
		var doc entryDoc
		if err := snap.DataTo(&doc); err != nil {
			return err
		}
		e, changed := edit(doc.noun())
		if !changed {
			return nil
		}
		_, err := snap.Ref.Update(ctx, []firestore.Update{
			{Path: "frames", Value: fieldOf(e.Frames)}, {Path: "inbound", Value: fieldOf(e.Inbound)},
		}, firestore.LastUpdateTime(snap.UpdateTime))
		s.spent(Write, snap.Ref, err)
		switch code := status.Code(err); {
		case err == nil, code == codes.NotFound: // or the ring has dropped it
			return nil
		case code != codes.FailedPrecondition && code != codes.Aborted:
			return err
		}
		if snap, err = snap.Ref.Get(ctx); missing(err) {
			return nil
		}
		s.spend(Read, "outbox", 1)
		if err != nil {
			return err
		}
	}
}

// fieldOf is how a list is kept: an empty one is left out.
func fieldOf(list []string) any {
	if len(list) == 0 {
		return firestore.Delete
	}
	return list
}

// Messages hands over the messages with these ids, tombstones too, in no order; those
// that do not exist are left out. A few are read at a time. It costs one read for each.
func (s *Store) Messages(ctx context.Context, g string, ids []string, take func(iris.Message)) error {
	for some := range slices.Chunk(ids, rowsAtOnce) {
		if err := s.someMessages(ctx, g, some, take); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) someMessages(ctx context.Context, g string, ids []string, take func(iris.Message)) error {
	refs := make([]*firestore.DocumentRef, len(ids))
	for i, id := range ids {
		refs[i] = s.message(g, id)
	}
	snaps, err := s.client.GetAll(ctx, refs)
	if err != nil {
		return wrap(ctx, err, "reading %d messages of %s", len(ids), g)
	}
	s.spend(Read, "messages", len(ids))
	for _, snap := range snaps {
		if !snap.Exists() {
			continue
		}
		var doc messageDoc
		if err := snap.DataTo(&doc); err != nil {
			return wrap(ctx, err, "reading %s", snap.Ref.Path)
		}
		take(doc.noun())
	}
	return nil
}

// EditLive rewrites what a turn's live document says, as long as nobody has
// written it since it was read; false from edit leaves it. A document that is
// gone is done.
func (s *Store) EditLive(ctx context.Context, g, turn string, edit func(iris.Live) (iris.Live, bool)) error {
	ref := s.live(g, turn)
	for {
		snap, err := ref.Get(ctx)
		s.spend(Read, "live", 1)
		if missing(err) {
			return nil
		}
		var doc liveDoc
		if err == nil {
			err = snap.DataTo(&doc)
		}
		if err != nil {
			return wrap(ctx, err, "editing the live document of %s", turn)
		}
		l, changed := edit(doc.noun())
		if !changed {
			return nil
		}
		_, err = ref.Update(ctx, []firestore.Update{{Path: "data", Value: l.Data}}, firestore.LastUpdateTime(snap.UpdateTime))
		s.spent(Write, ref, err)
		switch code := status.Code(err); {
		case err == nil, code == codes.NotFound:
			return nil
		case code != codes.FailedPrecondition && code != codes.Aborted:
			return wrap(ctx, err, "editing the live document of %s", turn)
		}
	}
}
