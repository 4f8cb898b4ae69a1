package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// CreateLive adds the live document of a turn, or replaces it; CodeNotFound
// when the gateway is gone, or its host is not attached to the writer: whoever
// it is attached to by now has read the documents, and would not know of this
// one.
func (s *Store) CreateLive(ctx context.Context, g string, l iris.Live) error {
	return s.changeLive(ctx, g, func(gw *gateway) error {
		if err := s.within(g); err != nil {
			return err
		}
		if gw.row.Host.Link.Instance != l.Writer {
			return rows.NotAttached(l)
		}
		gw.setLive(l)
		return nil
	})
}

// UpdateLive replaces what a turn's live document says; CodeNotFound when the
// turn has ended.
func (s *Store) UpdateLive(ctx context.Context, g string, l iris.Live) error {
	return s.changeLive(ctx, g, func(gw *gateway) error {
		if _, ok := gw.lives[l.Turn]; !ok {
			return rows.NoLive(l.Turn)
		}
		gw.setLive(l)
		return nil
	})
}

// DropLive removes the live document of a turn, if there is one.
func (s *Store) DropLive(ctx context.Context, g, turn string) error {
	return s.changeLive(ctx, g, func(gw *gateway) error {
		gw.dropLive(turn)
		return nil
	})
}

// Lives returns the live documents of a gateway.
func (s *Store) Lives(ctx context.Context, g string) ([]iris.Live, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at(g).allLives(), nil
}

// FollowLive delivers all live documents of a gateway, now and after each
// change, until ctx ends.
func (s *Store) FollowLive(ctx context.Context, g string, deliver func([]iris.Live)) error {
	for ctx.Err() == nil {
		s.mu.Lock()
		all, changed := s.at(g).allLives(), s.at(g).liveChanged
		s.mu.Unlock()
		deliver(all)
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

func (s *Store) changeLive(ctx context.Context, g string, change func(*gateway) error) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return change(s.at(g))
}

func (gw *gateway) setLive(l iris.Live) {
	l.At = rows.Time(l.At)
	gw.lives[l.Turn] = l
	gw.tellLive()
}

func (gw *gateway) dropLive(turn string) {
	if _, ok := gw.lives[turn]; ok {
		delete(gw.lives, turn)
		gw.tellLive()
	}
}

// restoreLive returns what makes the live document of a turn as it is now.
func (gw *gateway) restoreLive(turn string) func() {
	if l, ok := gw.lives[turn]; ok {
		return func() { gw.setLive(l) }
	}
	return func() { gw.dropLive(turn) }
}

func (gw *gateway) tellLive() {
	close(gw.liveChanged)
	gw.liveChanged = make(chan struct{})
}

func (gw *gateway) allLives() []iris.Live {
	return slices.SortedFunc(maps.Values(gw.lives), func(a, b iris.Live) int { return cmp.Compare(a.Turn, b.Turn) })
}
