package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// CreateGateway adds a gateway with its default channel, the first entry of its
// log, and its host's token. CodeConflict when the gateway or the token exists.
func (s *Store) CreateGateway(ctx context.Context, gw iris.Gateway, host iris.Token) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.at(gw.ID)
	def, first := rows.DefaultChannel(), rows.FirstEntry()
	first.At = rows.Time(s.Now())
	_, tokenTaken := s.tokens[host.Hash]
	_, channelTaken := at.channels[def.Lane]
	_, entryTaken := at.find(first.Cursor)
	if at.row != nil || tokenTaken || channelTaken || entryTaken {
		return rows.GatewayExists(gw.ID)
	}
	row := rows.Gateway(gw)
	at.row = &row
	at.channels[def.Lane] = def
	at.insert(&first)
	s.tokens[host.Hash] = rows.Token(host)
	return nil
}

// Gateway returns the gateway's row; CodeNotFound when there is none.
func (s *Store) Gateway(ctx context.Context, g string) (iris.Gateway, error) {
	if err := alive(ctx); err != nil {
		return iris.Gateway{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.at(g).row
	if row == nil {
		return iris.Gateway{}, rows.NoGateway(g)
	}
	return rows.Gateway(*row), nil
}

// Gateways returns all gateways, oldest first.
func (s *Store) Gateways(ctx context.Context) ([]iris.Gateway, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []iris.Gateway
	for _, gw := range s.gateways {
		if gw.row != nil {
			out = append(out, rows.Gateway(*gw.row))
		}
	}
	slices.SortFunc(out, rows.CompareGateways)
	return out, nil
}

// Channels returns the channels and threads of a gateway, sorted by chat and
// thread.
func (s *Store) Channels(ctx context.Context, g string) ([]iris.Channel, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []iris.Channel
	for _, c := range s.at(g).channels {
		out = append(out, c)
	}
	slices.SortFunc(out, rows.CompareChannels)
	return out, nil
}

// Pickers returns the open pickers of a gateway, oldest first.
func (s *Store) Pickers(ctx context.Context, g string) ([]iris.Picker, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []iris.Picker
	for _, p := range s.at(g).pickers {
		out = append(out, p)
	}
	slices.SortFunc(out, rows.ComparePickers)
	return out, nil
}

// Message returns a message, tombstones too; CodeNotFound when its id was
// never taken, or the message has expired.
func (s *Store) Message(ctx context.Context, g, id string) (iris.Message, error) {
	if err := alive(ctx); err != nil {
		return iris.Message{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, found := s.at(g).messages[id]
	if !found || rows.Expired(m.Expires, s.Now()) {
		return iris.Message{}, rows.NoMessage(id)
	}
	return rows.Message(m), nil
}

// MediaMessages returns the messages that have a medium, by their ids: limit of
// them at most, in no order. Tombstones have none.
func (s *Store) MediaMessages(ctx context.Context, g, media string, limit int) ([]string, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id, m := range s.at(g).messages {
		if len(ids) < limit && slices.Contains(m.MediaIDs(), media) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// History returns the newest messages of a lane that began before the given one
// (nil: the newest of all), oldest first, without tombstones and what has expired,
// and whether there are older ones: limit at most, and fewer when they say more than
// [iris.HistoryBytes], but one at least if there is any. Messages are sorted by time,
// then id.
func (s *Store) History(ctx context.Context, g string, lane iris.Lane, before *iris.Message, limit int) (msgs []iris.Message, more bool, err error) {
	if err := alive(ctx); err != nil {
		return nil, false, err
	}
	if limit <= 0 {
		return nil, false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []iris.Message
	for _, m := range s.at(g).messages {
		if m.Lane == lane && !m.Deleted && (before == nil || older(m, rows.Message(*before)) < 0) {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, older)
	page := rows.NewHistory(limit, s.Now())
	for _, m := range slices.Backward(all) {
		if !page.Take(rows.Message(m)) {
			break
		}
	}
	msgs, more = page.Page()
	return msgs, more, nil
}

// older sorts messages as history shows them.
func older(a, b iris.Message) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
}
