package memstore

import (
	"context"
	"maps"
	"slices"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// BeginRemoval removes the row of a gateway, and notes that the rest is to go.
// From now on nothing can be added that needs the row. The token whose hash is
// host becomes one of kind [iris.TokenRemoved], which stays until
// DropRemovedHost; "" when there is nobody to be told. CodeNotFound when there is
// no such row.
func (s *Store) BeginRemoval(ctx context.Context, r iris.Removal, host string) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at(r.Gateway).row == nil {
		return rows.NoGateway(r.Gateway)
	}
	r.At = rows.Time(r.At)
	s.at(r.Gateway).row = nil
	s.removals[r.Gateway] = r
	if host != "" {
		s.tokens[host] = rows.RemovedHost(r, host)
	}
	return nil
}

// RemovedHosts returns the tokens of hosts that have not confirmed that they
// have erased what they have of a removed gateway, oldest first.
func (s *Store) RemovedHosts(ctx context.Context) ([]iris.Token, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []iris.Token
	for _, t := range s.tokens {
		if t.Kind == iris.TokenRemoved {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, rows.CompareTokens)
	return out, nil
}

// DropRemovedHost removes the token of a host that has erased all.
func (s *Store) DropRemovedHost(ctx context.Context, hash string) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, hash)
	return nil
}

// Removals returns the removals that have begun and not ended, oldest first.
func (s *Store) Removals(ctx context.Context) ([]iris.Removal, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.removals), rows.CompareRemovals), nil
}

// RemoveSome removes what a gateway has, but the newest entry of its log and the
// token of a host that is still to be told, and returns how much that was: none
// is left when it is 0.
func (s *Store) RemoveSome(ctx context.Context, g string) (int, error) {
	if err := alive(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gw := s.at(g)
	n := len(gw.channels) + len(gw.messages) + len(gw.devices) + len(gw.pickers) + len(gw.media) + len(gw.deletions)
	clear(gw.channels)
	clear(gw.messages)
	clear(gw.devices)
	clear(gw.pickers)
	clear(gw.media)
	clear(gw.deletions)
	if last := len(gw.entries) - 1; last > 0 {
		n += last
		gw.entries = gw.entries[last:]
	}
	for turn := range gw.lives {
		n++
		gw.dropLive(turn)
	}
	for hash, t := range s.tokens {
		if t.Gateway == g && t.Kind != iris.TokenRemoved {
			n++
			delete(s.tokens, hash)
		}
	}
	return n, nil
}

// EndRemoval removes what is left of the log, and the note of the removal.
func (s *Store) EndRemoval(ctx context.Context, g string) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(g).entries = nil
	delete(s.removals, g)
	return nil
}

// within reports whether something can be added to a gateway. Call with s.mu
// held.
func (s *Store) within(g string) error {
	if s.at(g).row == nil {
		return rows.NoGateway(g)
	}
	return nil
}
