package cloudstore

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// ExportMessages returns the messages of a gateway behind a place, in the order
// in which they came into the log: of limit rows at most, and of fewer when they are
// large ([rows.Page]). It costs a read for each row.
func (s *Store) ExportMessages(ctx context.Context, g string, after iris.ExportPlace, limit int) (iris.ExportPage, error) {
	q := s.gateway(g).Collection("messages").
		OrderBy("cursor", firestore.Asc).OrderBy("ts", firestore.Asc).OrderBy("id", firestore.Asc).Limit(limit)
	if after != (iris.ExportPlace{}) {
		q = q.StartAfter(after.Cursor, rows.Time(after.At), after.ID)
	}
	page := rows.MessagePage(limit)
	if err := read(ctx, s, "messages", q, func(doc messageDoc) bool { return page.Take(doc.noun()) }); err != nil {
		return iris.ExportPage{}, wrap(ctx, err, "exporting the messages of %s", g)
	}
	return rows.ExportPage(page, time.Now()), nil
}

// CountMessages counts the messages of a gateway, tombstones left out. It costs
// one read for each thousand.
func (s *Store) CountMessages(ctx context.Context, g string) (int, error) {
	n, err := s.count(ctx, s.gateway(g).Collection("messages").Where("deleted", "==", false))
	return int(n), wrap(ctx, err, "counting the messages of %s", g)
}

// MediaPage implements media.Rows.
func (s mediaRows) MediaPage(ctx context.Context, g, after string, limit int) ([]media.Row, error) {
	q := s.all(g).OrderBy(firestore.DocumentID, firestore.Asc).Limit(limit)
	if after != "" {
		q = q.StartAfter(docID(after))
	}
	return s.query(ctx, g, q)
}
