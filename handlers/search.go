package handlers

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"regexp"
	"slices"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
	"iris-gateway/search"
)

// handleSearch answers with a page of the messages that have what was asked
// for, newest first. A page looks at a bounded number of rows: has_more says
// that there is more, found or not looked at, and next goes on there.
func (d *deviceSession) handleSearch(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.SearchRequest](req)
	if err != nil {
		return err
	}
	var where iris.Lane // everywhere; a lane without a thread is a channel with all of its threads
	if p.Scope == wire.ScopeChat {
		if where, err = d.lane(ctx, req.Lane); err != nil {
			return err
		}
	}
	after, err := readPlace(p.Next)
	if err != nil {
		return err
	}
	var now *hub.State // never changed, only replaced
	if err := d.gateway.Call(ctx, func(a *hub.Actor) { now = a.State() }); err != nil {
		return err
	}
	q := search.Parse(p.Query)
	found, err := d.server.cfg.Store.Search(ctx, d.gateway.ID, iris.Search{
		Terms: q.Terms(), ChatID: where.ChatID, ThreadID: where.ThreadID, After: after,
		Accept: func(m iris.Message) bool {
			return remains(now, m) && q.Match(m.Text)
		},
	})
	if err != nil {
		return err
	}
	page := wire.SearchResults{Query: p.Query, Scope: p.Scope, Hits: []wire.SearchHit{}, HasMore: found.More}
	if found.More {
		page.Next = writePlace(found.Next)
	}
	for _, m := range found.Messages {
		page.Hits = append(page.Hits, wire.SearchHit{
			MessageID: m.ID, ChatID: m.Lane.ChatID, ThreadID: m.Lane.ThreadID,
			Role: m.Role, Snippet: q.Snippet(m.Text), TS: millis(m.At),
		})
	}
	return d.gateway.Call(ctx, func(a *hub.Actor) {
		page.Hits = slices.DeleteFunc(page.Hits, func(h wire.SearchHit) bool {
			return !remains(a.State(), iris.Message{ID: h.MessageID, Lane: iris.Lane{ChatID: h.ChatID, ThreadID: h.ThreadID}})
		})
		d.answer(req, where, page)
	})
}

// rowID is what the store's names of rows look like: as a document id from
// outside, anything else could be a path.
var rowID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// writePlace makes a place something that a device gives back as it is.
func writePlace(p iris.Place) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.At.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(b, p.Row...))
}

// readPlace reads what writePlace has made; "" is the beginning.
func readPlace(text string) (iris.Place, error) {
	if text == "" {
		return iris.Place{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(b) > 8 && rowID.Match(b[8:]) {
		at := time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()
		if at.Year() >= 1 && at.Year() <= 9999 { // what a store can compare with
			return iris.Place{At: at, Row: string(b[8:])}, nil
		}
	}
	return iris.Place{}, iris.Errorf(iris.CodeUnsupported, "next is not what an answer gave: %q", printable(text))
}
