package cloudstore

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// Message returns a message, tombstones too; CodeNotFound when its id was
// never taken, or the message has expired.
func (s *Store) Message(ctx context.Context, g, id string) (iris.Message, error) {
	doc, err := get[messageDoc](ctx, s, s.message(g, id))
	switch {
	case missing(err):
		return iris.Message{}, rows.NoMessage(id)
	case err != nil:
		return iris.Message{}, wrap(ctx, err, "reading message %s", id)
	case rows.Expired(doc.Expires, time.Now()):
		return iris.Message{}, rows.NoMessage(id)
	}
	return doc.noun(), nil
}

// MediaMessages returns the messages that have a medium, by their ids: limit of
// them at most, in no order. Tombstones have none. It costs a read each, one at
// least.
func (s *Store) MediaMessages(ctx context.Context, g, media string, limit int) ([]string, error) {
	docs, err := list[messageDoc](ctx, s, "messages", s.gateway(g).Collection("messages").
		Where("media_ids", "array-contains", media).Select("id").Limit(limit))
	if err != nil {
		return nil, wrap(ctx, err, "looking for the messages of medium %s", media)
	}
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.ID
	}
	return ids, nil
}

// History returns the newest messages of a lane that began before the given one
// (nil: the newest of all), oldest first, without tombstones and what has expired,
// and whether there are older ones: limit at most, and fewer when they say more than
// [iris.HistoryBytes], but one at least if there is any. Messages are sorted by time,
// then id. It costs a read for each and one more, and those of expired rows that the
// database has not removed yet.
func (s *Store) History(ctx context.Context, g string, lane iris.Lane, before *iris.Message, limit int) (msgs []iris.Message, more bool, err error) {
	if limit <= 0 {
		return nil, false, nil
	}
	q := s.gateway(g).Collection("messages").
		Where("lane", "==", laneID(lane)).Where("deleted", "==", false).
		OrderBy("ts", firestore.Desc).OrderBy("id", firestore.Desc).
		Limit(limit + 1)
	page := rows.NewHistory(limit, time.Now())
	for range expiredPages {
		if before != nil {
			q = q.StartAfter(rows.Time(before.At), before.ID)
		}
		last, n, room := iris.Message{}, 0, true
		err := read(ctx, s, "messages", q, func(doc messageDoc) bool {
			last, n = doc.noun(), n+1
			room = page.Take(last)
			return room
		})
		if err != nil {
			return nil, false, wrap(ctx, err, "reading the history of %s", g)
		}
		if !room || n <= limit {
			break
		}
		before = &last
	}
	msgs, more = page.Page()
	return msgs, more, nil
}

// expiredPages bounds how far History looks behind expired rows. What is older
// has mostly expired as well.
const expiredPages = 5
