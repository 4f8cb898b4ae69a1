package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// ExportMessages returns the messages of a gateway behind a place, in the order
// in which they came into the log: of limit rows at most, and of fewer when they are
// large ([rows.Page]).
func (s *Store) ExportMessages(ctx context.Context, g string, after iris.ExportPlace, limit int) (iris.ExportPage, error) {
	if err := alive(ctx); err != nil {
		return iris.ExportPage{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []iris.Message
	for _, m := range s.at(g).messages {
		if after == (iris.ExportPlace{}) || exported(rows.ExportPlace(m), after) > 0 {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b iris.Message) int { return exported(rows.ExportPlace(a), rows.ExportPlace(b)) })
	page := rows.MessagePage(limit)
	for _, m := range found {
		if !page.Take(rows.Message(m)) {
			break
		}
	}
	return rows.ExportPage(page, s.Now()), nil
}

// exported sorts places of an export.
func exported(a, b iris.ExportPlace) int {
	return cmp.Or(cmp.Compare(a.Cursor, b.Cursor), a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
}

// CountMessages counts the messages of a gateway, tombstones left out.
func (s *Store) CountMessages(ctx context.Context, g string) (n int, err error) {
	if err := alive(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.at(g).messages {
		if !m.Deleted {
			n++
		}
	}
	return n, nil
}

// MediaPage implements media.Rows.
func (s mediaRows) MediaPage(ctx context.Context, g, after string, limit int) ([]media.Row, error) {
	all, err := s.mediaRows(ctx, g, func(r media.Row) bool { return after == "" || rows.DocID(r.ID) > rows.DocID(after) })
	slices.SortFunc(all, func(a, b media.Row) int { return strings.Compare(rows.DocID(a.ID), rows.DocID(b.ID)) })
	return all[:min(len(all), limit)], err
}
