package cloudstore

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// countLimit is up to how many rows a term is counted: as many as cost one read.
const countLimit = 1000

// Search returns a page of the messages that have a term and are accepted,
// newest first. It costs a read for each row that it looks at, SearchRows at
// most and fewer when they are large ([rows.Page]), and one for each term when there
// are several: of these it takes the rarest.
func (s *Store) Search(ctx context.Context, g string, q iris.Search) (iris.Found, error) {
	if len(q.Terms) == 0 {
		return iris.Found{}, nil
	}
	term, err := s.rarest(ctx, g, q)
	if err != nil {
		return iris.Found{}, wrap(ctx, err, "counting what search terms find in %s", g)
	}
	// Not the terms, which are most of a row, nor what is not looked at.
	page := rows.MessagePage(iris.SearchRows)
	err = read(ctx, s, "messages", s.having(g, q, term).
		Select("id", "lane", "chat_id", "thread_id", "role", "kind", "text", "ts", "cursor", "deleted", "expires").
		Limit(iris.SearchRows), func(doc messageDoc) bool { return page.Take(doc.noun()) })
	if err != nil {
		return iris.Found{}, wrap(ctx, err, "searching %s", g)
	}
	return rows.Found(page, q.Accept, time.Now()), nil
}

// having asks for the messages that have a term, where q looks, newest first.
func (s *Store) having(g string, q iris.Search, term string) firestore.Query {
	found := s.gateway(g).Collection("messages").Where("terms", "array-contains", term)
	switch {
	case q.ThreadID != "":
		found = found.Where("lane", "==", laneID(iris.Lane{ChatID: q.ChatID, ThreadID: q.ThreadID}))
	case q.ChatID != "":
		found = found.Where("chat_id", "==", q.ChatID)
	}
	found = found.OrderBy("ts", firestore.Desc).OrderBy(firestore.DocumentID, firestore.Desc)
	if !q.After.Zero() {
		found = found.StartAfter(rows.Time(q.After.At), q.After.Row)
	}
	return found
}

// rarest returns the term that the fewest messages have.
func (s *Store) rarest(ctx context.Context, g string, q iris.Search) (string, error) {
	if len(q.Terms) == 1 {
		return q.Terms[0], nil
	}
	counts := make([]int64, len(q.Terms))
	counting, ctx := errgroup.WithContext(ctx)
	for i, term := range q.Terms {
		counting.Go(func() (err error) {
			counts[i], err = s.count(ctx, s.having(g, q, term).Limit(countLimit))
			return err
		})
	}
	if err := counting.Wait(); err != nil {
		return "", err
	}
	best := 0
	for i, n := range counts {
		if n < counts[best] {
			best = i
		}
	}
	return q.Terms[best], nil
}

// count counts what a query finds. It costs one read for each thousand rows.
func (s *Store) count(ctx context.Context, q firestore.Query) (int64, error) {
	const name = "n"
	res, err := q.NewAggregationQuery().WithCount(name).Get(ctx)
	if err != nil {
		return 0, err
	}
	v, ok := res[name].(*firestorepb.Value)
	if !ok {
		return 0, fmt.Errorf("a count came as %T", res[name])
	}
	n := v.GetIntegerValue()
	s.spend(Read, "messages", 1+int(max(0, n-1))/countLimit)
	return n, nil
}
