package memstore

import (
	"context"
	"slices"
	"sort"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// Search returns a page of the messages that have a term and are accepted,
// newest first. It looks at SearchRows rows at most, and fewer when they are large
// ([rows.Page]), that have the rarest term.
func (s *Store) Search(ctx context.Context, g string, q iris.Search) (iris.Found, error) {
	if err := alive(ctx); err != nil {
		return iris.Found{}, err
	}
	if len(q.Terms) == 0 {
		return iris.Found{}, nil
	}
	s.mu.Lock()
	gw := s.at(g)
	newest := gw.newest(q, gw.rarest(q))
	s.mu.Unlock()
	page := rows.MessagePage(iris.SearchRows)
	for _, m := range newest {
		if !page.Take(rows.Message(m)) {
			break
		}
	}
	return rows.Found(page, q.Accept, s.Now()), nil
}

// rarest returns the term that the fewest messages have, where q looks.
func (gw *gateway) rarest(q iris.Search) string {
	if len(q.Terms) == 1 {
		return q.Terms[0]
	}
	counts := make([]int, len(q.Terms))
	for _, m := range gw.messages {
		if !within(m, q) {
			continue
		}
		for i, term := range q.Terms {
			if has(m, term) {
				counts[i]++
			}
		}
	}
	return q.Terms[slices.Index(counts, slices.Min(counts))]
}

// newest returns the newest messages that have a term, where q looks, newest
// first: as many as a page looks at.
func (gw *gateway) newest(q iris.Search, term string) []iris.Message {
	var found []iris.Message
	for _, m := range gw.messages {
		full := len(found) == iris.SearchRows
		if full && rows.CompareNewest(m, found[len(found)-1]) > 0 || !within(m, q) || !has(m, term) {
			continue
		}
		if full {
			found = found[:len(found)-1]
		}
		at, _ := slices.BinarySearchFunc(found, m, rows.CompareNewest)
		found = slices.Insert(found, at, m)
	}
	return found
}

// within reports whether a message is where q looks.
func within(m iris.Message, q iris.Search) bool {
	return (q.ChatID == "" || m.Lane.ChatID == q.ChatID) && (q.ThreadID == "" || m.Lane.ThreadID == q.ThreadID) &&
		(q.After.Zero() || rows.ComparePlaces(rows.PlaceOf(m), q.After) > 0)
}

// has reports whether a message has a term; they are sorted.
func has(m iris.Message, term string) bool {
	i := sort.SearchStrings(m.Terms, term)
	return i < len(m.Terms) && m.Terms[i] == term
}
