package memstore

import (
	"context"
	"slices"
	"sort"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// Search returns a page of the messages that have a term and are accepted,
// newest first. It looks at SearchRows rows at most that have the rarest term.
func (s *Store) Search(ctx context.Context, g string, q iris.Search) (iris.Found, error) {
	if err := alive(ctx); err != nil {
		return iris.Found{}, err
	}
	s.mu.Lock()
	var best []iris.Message
	for i, term := range q.Terms {
		if with := s.at(g).having(q, term); i == 0 || len(with) < len(best) {
			best = with
		}
	}
	s.mu.Unlock()
	slices.SortFunc(best, rows.CompareNewest)
	best = best[:min(len(best), iris.SearchRows)]
	for i := range best {
		best[i] = rows.Message(best[i])
	}
	return rows.Found(best, q.Accept, s.Now()), nil
}

// having returns the messages that have a term, where q looks.
func (gw *gateway) having(q iris.Search, term string) []iris.Message {
	var found []iris.Message
	for _, m := range gw.messages {
		switch i := sort.SearchStrings(m.Terms, term); {
		case i == len(m.Terms) || m.Terms[i] != term,
			q.ChatID != "" && m.Lane.ChatID != q.ChatID,
			q.ThreadID != "" && m.Lane.ThreadID != q.ThreadID,
			!q.After.Zero() && rows.ComparePlaces(rows.PlaceOf(m), q.After) <= 0:
		default:
			found = append(found, m)
		}
	}
	return found
}
