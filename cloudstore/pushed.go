package cloudstore

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// pushDoc is the field push of a device's row.
type pushDoc struct {
	Outcome string    `firestore:"outcome"`
	Detail  string    `firestore:"detail"`
	At      time.Time `firestore:"at"`
	Tried   int64     `firestore:"tried"`
	By      string    `firestore:"by,omitempty"`
	Until   time.Time `firestore:"until"`
}

func newPushDoc(p iris.PushState) *pushDoc {
	p = rows.PushState(p)
	return &pushDoc{Outcome: string(p.Outcome), Detail: p.Detail, At: p.At, Tried: p.Tried, By: p.By, Until: p.Until}
}

func (doc *pushDoc) noun() iris.PushState {
	return iris.PushState{
		Outcome: iris.PushOutcome(doc.Outcome), Detail: doc.Detail, At: doc.At, Tried: doc.Tried, By: doc.By, Until: doc.Until,
	}
}

// NotifyEntries returns the newest entries after the cursor that deserve a push,
// newest first (log.md, "Push"): limit at most, and fewer when they are large
// ([rows.Page]). It costs one read for each, at least one.
func (s *Store) NotifyEntries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error) {
	page := rows.NotifyPage(limit)
	err := read(ctx, s, "outbox", s.outbox(g).
		Where("notify", "==", true).Where("cursor", ">", after).OrderBy("cursor", firestore.Desc).Limit(limit),
		func(doc entryDoc) bool { return page.Take(doc.noun()) })
	if err != nil {
		return nil, wrap(ctx, err, "reading the entries of %s to push after %d", g, after)
	}
	return page.Rows, nil
}

// NotePush notes what became of a push: how far the device was reached by push,
// which only moves forward, and the state. CodeNotFound when the device is gone.
func (s *Store) NotePush(ctx context.Context, g, d string, pushed int64, state iris.PushState) error {
	ref := s.device(g, d)
	up := []firestore.Update{{Path: "push", Value: newPushDoc(state)}}
	if pushed > 0 {
		up = append(up, firestore.Update{Path: "last_pushed_cursor", Value: firestore.FieldTransformMaximum(pushed)})
	}
	_, err := ref.Update(ctx, up)
	s.spent(Write, ref, err)
	if missing(err) {
		return rows.NoDevice(d)
	}
	return wrap(ctx, err, "noting a push to device %s", d)
}

// ClaimPush lets one of several instances take a push on. It writes the state
// that decide makes of the device's row, unless decide declines, and returns the
// row as it was. Somebody else's write in between has it decided again. It costs
// a read, and a write when there is something to do; CodeNotFound when the
// device is gone.
func (s *Store) ClaimPush(ctx context.Context, g, d string, decide func(iris.Device) (iris.PushState, bool)) (iris.Device, bool, error) {
	for {
		row, at, err := s.knownDevice(ctx, g, d)
		switch {
		case err != nil:
			return iris.Device{}, false, wrap(ctx, err, "claiming a push to device %s", d)
		case row == nil:
			return iris.Device{}, false, rows.NoDevice(d)
		}
		state, ok := decide(*row)
		if !ok {
			return *row, false, nil
		}
		ref := s.device(g, d)
		_, err = ref.Update(ctx, []firestore.Update{{Path: "push", Value: newPushDoc(state)}}, firestore.LastUpdateTime(at))
		s.spent(Write, ref, err)
		switch code := status.Code(err); {
		case err == nil:
			return *row, true, nil
		case code != codes.FailedPrecondition && code != codes.NotFound && code != codes.Aborted:
			return *row, false, wrap(ctx, err, "claiming a push to device %s", d)
		}
	}
}
