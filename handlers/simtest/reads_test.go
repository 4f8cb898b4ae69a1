package simtest

import (
	"context"

	"iris-gateway/iris"
)

// The reads and small writes of the store, each with the way there.

func (s *flaky) Head(ctx context.Context, g string) (iris.Entry, error) {
	if err := s.read(ctx); err != nil {
		return iris.Entry{}, err
	}
	return s.Store.Head(ctx, g)
}

func (s *flaky) Entry(ctx context.Context, g string, cursor int64) (iris.Entry, bool, error) {
	if err := s.read(ctx); err != nil {
		return iris.Entry{}, false, err
	}
	return s.Store.Entry(ctx, g, cursor)
}

func (s *flaky) Entries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	all, err := s.Store.Entries(ctx, g, after, min(limit, s.world.plan.Page))
	if err == nil { // the way back: what was read is old by then
		err = s.travel(ctx)
	}
	return all, err
}

func (s *flaky) Gateway(ctx context.Context, g string) (iris.Gateway, error) {
	if err := s.read(ctx); err != nil {
		return iris.Gateway{}, err
	}
	return s.Store.Gateway(ctx, g)
}

func (s *flaky) Channels(ctx context.Context, g string) ([]iris.Channel, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	return s.Store.Channels(ctx, g)
}

func (s *flaky) Devices(ctx context.Context, g string) ([]iris.Device, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	return s.Store.Devices(ctx, g)
}

func (s *flaky) Device(ctx context.Context, g, d string) (iris.Device, error) {
	if err := s.read(ctx); err != nil {
		return iris.Device{}, err
	}
	return s.Store.Device(ctx, g, d)
}

func (s *flaky) SetDeviceCursor(ctx context.Context, g, d string, cursor int64) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	return s.Store.SetDeviceCursor(ctx, g, d, cursor)
}

func (s *flaky) Token(ctx context.Context, hash string) (iris.Token, error) {
	if err := s.read(ctx); err != nil {
		return iris.Token{}, err
	}
	return s.Store.Token(ctx, hash)
}

func (s *flaky) BindToken(ctx context.Context, hash string, d iris.Device) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	return s.Store.BindToken(ctx, hash, d)
}

func (s *flaky) Message(ctx context.Context, g, id string) (iris.Message, error) {
	if err := s.read(ctx); err != nil {
		return iris.Message{}, err
	}
	return s.Store.Message(ctx, g, id)
}

func (s *flaky) CreateLive(ctx context.Context, g string, l iris.Live) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	return s.Store.CreateLive(ctx, g, l)
}

func (s *flaky) UpdateLive(ctx context.Context, g string, l iris.Live) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	return s.Store.UpdateLive(ctx, g, l)
}

func (s *flaky) DropLive(ctx context.Context, g, turn string) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	return s.Store.DropLive(ctx, g, turn)
}

func (s *flaky) Lives(ctx context.Context, g string) ([]iris.Live, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	return s.Store.Lives(ctx, g)
}

func (s *flaky) Pickers(ctx context.Context, g string) ([]iris.Picker, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	return s.Store.Pickers(ctx, g)
}
