package memstore

import (
	"context"
	"slices"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// Token returns what is kept of a token; CodeAuth when it is unknown. It does
// not look at the expiry: that is the caller's.
func (s *Store) Token(ctx context.Context, hash string) (iris.Token, error) {
	if err := alive(ctx); err != nil {
		return iris.Token{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, found := s.tokens[hash]
	if !found {
		return iris.Token{}, rows.TokenUnknown()
	}
	return t, nil
}

// CreateToken adds a token; CodeConflict when its hash is taken, CodeNotFound
// when its gateway is gone.
func (s *Store) CreateToken(ctx context.Context, t iris.Token) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.tokens[t.Hash]; taken {
		return rows.TokenExists()
	}
	if err := s.within(t.Gateway); err != nil {
		return err
	}
	s.tokens[t.Hash] = rows.Token(t)
	return nil
}

// BindToken binds a device's token to the device that uses it first, and makes
// or updates the device's row in the token's gateway: a known device keeps its
// cursor and all else but name and seen, a new one is d. Its old token, if it
// had another, is deleted. Repeating it changes nothing. CodeAuth when the
// token is unknown, no device's, or bound to another device.
func (s *Store) BindToken(ctx context.Context, hash string, d iris.Device) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, found := s.tokens[hash]
	if !found {
		return rows.TokenUnknown()
	}
	devices := s.at(t.Gateway).devices
	var old *iris.Device
	if row, found := devices[d.ID]; found {
		old = &row
	}
	b, err := rows.Bind(t, d, old)
	if err != nil || b.Done {
		return err
	}
	if b.OldToken != "" {
		delete(s.tokens, b.OldToken)
	}
	s.tokens[hash] = b.Token
	devices[d.ID] = b.Device
	return nil
}

// Device returns a device's row; CodeNotFound when there is none.
func (s *Store) Device(ctx context.Context, g, d string) (iris.Device, error) {
	if err := alive(ctx); err != nil {
		return iris.Device{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row, found := s.at(g).devices[d]
	if !found {
		return iris.Device{}, rows.NoDevice(d)
	}
	return row, nil
}

// Devices returns all devices of a gateway, oldest first.
func (s *Store) Devices(ctx context.Context, g string) ([]iris.Device, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []iris.Device
	for _, d := range s.at(g).devices {
		out = append(out, d)
	}
	slices.SortFunc(out, rows.CompareDevices)
	return out, nil
}

// SetDeviceCursor notes that a device has received everything up to cursor, if
// the row does not say more; CodeNotFound when the device is gone.
func (s *Store) SetDeviceCursor(ctx context.Context, g, d string, cursor int64) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	devices := s.at(g).devices
	row, found := devices[d]
	if !found {
		return rows.NoDevice(d)
	}
	row.Cursor = max(row.Cursor, cursor)
	devices[d] = row
	return nil
}

// Pairings returns the tokens of a gateway that no device has used yet, oldest
// first, those that have expired too.
func (s *Store) Pairings(ctx context.Context, g string) ([]iris.Token, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []iris.Token
	for _, t := range s.tokens {
		if rows.IsPairing(t, g) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, rows.CompareTokens)
	return out, nil
}

// DropPairing removes a token of the gateway that no device has used;
// CodeNotFound when there is none.
func (s *Store) DropPairing(ctx context.Context, g, hash string) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, found := s.tokens[hash]; !found || !rows.IsPairing(t, g) {
		return rows.NoPairing(hash)
	}
	delete(s.tokens, hash)
	return nil
}
