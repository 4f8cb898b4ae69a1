package cloudstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// mediaDoc is gateways/{g}/media/{docID}: a medium, or one that is being sent.
type mediaDoc struct {
	mediaRefDoc
	Key     string    `firestore:"key"`     // of its upload
	Ready   bool      `firestore:"ready"`   // complete
	Attempt string    `firestore:"attempt"` // a part of its object's name
	Expires time.Time `firestore:"expires,omitempty"`
	Review  time.Time `firestore:"review,omitempty"` // when to look whether any message has it
}

func newMediaDoc(r media.Row) mediaDoc {
	return mediaDoc{
		mediaRefDoc: mediaRefDoc(rows.Media(r.Media)), Key: r.Key, Ready: r.Ready, Attempt: r.Attempt,
		Expires: rows.Time(r.Expires), Review: rows.Time(r.Review),
	}
}

// mediaRows are the rows of media in Firestore. A row's version is the time of
// its last write.
type mediaRows struct{ *Store }

func (s mediaRows) doc(g, id string) *firestore.DocumentRef {
	return s.gateway(g).Collection("media").Doc(docID(id))
}

func mediaRow(snap *firestore.DocumentSnapshot) (media.Row, error) {
	var doc mediaDoc
	if err := snap.DataTo(&doc); err != nil {
		return media.Row{}, fmt.Errorf("%s: %w", snap.Ref.Path, err)
	}
	return media.Row{
		Media: iris.Media(doc.mediaRefDoc), Key: doc.Key, Ready: doc.Ready, Attempt: doc.Attempt, Expires: doc.Expires, Review: doc.Review,
		Version: snap.UpdateTime,
	}, nil
}

// MediaRow implements media.Rows.
func (s mediaRows) MediaRow(ctx context.Context, g, id string) (media.Row, bool, error) {
	snap, err := s.doc(g, id).Get(ctx)
	s.spend(Read, "media", 1)
	if missing(err) {
		return media.Row{}, false, nil
	}
	if err != nil {
		return media.Row{}, false, wrap(ctx, err, "reading medium %s", id)
	}
	row, err := mediaRow(snap)
	return row, err == nil, err
}

// UploadRows implements media.Rows.
func (s mediaRows) UploadRows(ctx context.Context, g, key string) ([]media.Row, error) {
	return s.query(ctx, g, s.all(g).Where("key", "==", key))
}

// UnfinishedRows implements media.Rows.
func (s mediaRows) UnfinishedRows(ctx context.Context, g string) ([]media.Row, error) {
	return s.query(ctx, g, s.all(g).Where("ready", "==", false))
}

// ExpiredRows implements media.Rows.
func (s mediaRows) ExpiredRows(ctx context.Context, g string, now time.Time) ([]media.Row, error) {
	return s.query(ctx, g, s.all(g).Where("expires", "<=", rows.Time(now)).Limit(100))
}

// ReviewRows implements media.Rows. They are few: an upload waits until each has been
// looked at, and brings one more at most.
func (s mediaRows) ReviewRows(ctx context.Context, g string, now time.Time) ([]media.Row, error) {
	return s.query(ctx, g, s.all(g).Where("review", "<=", rows.Time(now)).Limit(10))
}

func (s mediaRows) all(g string) *firestore.CollectionRef { return s.gateway(g).Collection("media") }

func (s mediaRows) query(ctx context.Context, g string, q firestore.Query) ([]media.Row, error) {
	snaps, err := q.Documents(ctx).GetAll()
	s.spend(Read, "media", max(1, len(snaps)))
	if err != nil {
		return nil, wrap(ctx, err, "looking for media of %s", g)
	}
	var all []media.Row
	for _, snap := range snaps {
		row, err := mediaRow(snap)
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}

// CreateMediaRow implements media.Rows.
func (s mediaRows) CreateMediaRow(ctx context.Context, g string, r media.Row) (any, error) {
	ref := s.doc(g, r.ID)
	at, err := s.within(ctx, g, ref, func(tx *firestore.Transaction, _ gatewayDoc) error { return tx.Create(ref, newMediaDoc(r)) })
	if status.Code(err) == codes.AlreadyExists {
		return nil, rows.MediaExists(r.ID)
	}
	if err != nil {
		return nil, wrap(ctx, err, "adding medium %s", r.ID)
	}
	return at, nil
}

// ReplaceMediaRow implements media.Rows.
func (s mediaRows) ReplaceMediaRow(ctx context.Context, g string, r media.Row) (any, error) {
	ref := s.doc(g, r.ID)
	up := []firestore.Update{
		{Path: "kind", Value: r.Kind}, {Path: "mime", Value: r.MIME}, {Path: "sha256", Value: r.SHA256},
		{Path: "ready", Value: r.Ready}, {Path: "attempt", Value: r.Attempt}, {Path: "key", Value: r.Key},
	}
	review := firestore.Update{Path: "review", Value: rows.Time(r.Review)}
	if r.Review.IsZero() {
		review.Value = firestore.Delete
	}
	up = append(up, review)
	res, err := ref.Update(ctx, up, firestore.LastUpdateTime(r.Version.(time.Time)))
	s.spent(Write, ref, err)
	if stale(err) {
		return nil, rows.UploadTaken(r.ID)
	}
	if err != nil {
		return nil, wrap(ctx, err, "changing medium %s", r.ID)
	}
	return res.UpdateTime, nil
}

// DeleteMediaRow implements media.Rows.
func (s mediaRows) DeleteMediaRow(ctx context.Context, g string, r media.Row) error {
	ref := s.doc(g, r.ID)
	_, err := ref.Delete(ctx, firestore.LastUpdateTime(r.Version.(time.Time)))
	s.spent(Delete, ref, err)
	if stale(err) {
		return nil
	}
	return wrap(ctx, err, "removing medium %s", r.ID)
}

// MediaBytes implements media.Rows. It costs one read for 1,000 media.
func (s mediaRows) MediaBytes(ctx context.Context, g string) (int64, error) {
	const field = "bytes"
	result, err := s.gateway(g).Collection("media").NewAggregationQuery().WithSum("size", field).Get(ctx)
	s.spend(Read, "media", 1)
	if err != nil {
		return 0, wrap(ctx, err, "adding up the media of %s", g)
	}
	sum, ok := result[field].(*firestorepb.Value)
	if !ok {
		return 0, errors.New("cloudstore: Firestore's sum is no value")
	}
	return sum.GetIntegerValue(), nil // a sum of nothing is null, which has the integer 0
}
