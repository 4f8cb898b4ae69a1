package memstore

import (
	"context"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// NotifyEntries returns the newest entries after the cursor that deserve a push,
// newest first (log.md, "Push"): limit at most, and fewer when they are large
// ([rows.Page]).
func (s *Store) NotifyEntries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	page := rows.NotifyPage(limit)
	entries := s.at(g).entries
	for i := len(entries) - 1; i >= 0 && !page.Full() && entries[i].Cursor > after; i-- {
		if entries[i].Notify {
			page.Take(rows.Entry(*entries[i]))
		}
	}
	return page.Rows, nil
}

// NotePush notes what became of a push: how far the device was reached by push,
// which only moves forward, and the state. CodeNotFound when the device is gone.
func (s *Store) NotePush(ctx context.Context, g, d string, pushed int64, state iris.PushState) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row, found := s.at(g).devices[d]
	if !found {
		return rows.NoDevice(d)
	}
	row.LastPushed = max(row.LastPushed, pushed)
	row.Push = rows.PushState(state)
	s.at(g).devices[d] = row
	return nil
}

// ClaimPush lets one of several instances take a push on. It writes the state
// that decide makes of the device's row, unless decide declines, and returns the
// row as it was. CodeNotFound when the device is gone.
func (s *Store) ClaimPush(ctx context.Context, g, d string, decide func(iris.Device) (iris.PushState, bool)) (iris.Device, bool, error) {
	if err := alive(ctx); err != nil {
		return iris.Device{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row, found := s.at(g).devices[d]
	if !found {
		return iris.Device{}, false, rows.NoDevice(d)
	}
	state, ok := decide(row)
	if !ok {
		return row, false, nil
	}
	claimed := row
	claimed.Push = rows.PushState(state)
	s.at(g).devices[d] = claimed
	return row, true, nil
}
