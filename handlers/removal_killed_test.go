package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// Whichever call of the store the removal dies at, calling again goes on, and
// nothing is left once the host has come.
func TestDeleteGatewayKilledAtEachStep(t *testing.T) {
	t.Parallel()
	const steps = 10 // calls of the store that a removal makes
	for step := int64(1); step <= steps+1; step++ {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			mem := memstore.New()
			dying := &dyingStore{Store: mem}
			r := newRemovable(t, dying, mem)
			r.hostLeaves()
			dying.step.Store(step)
			want := http.StatusInternalServerError
			if step > steps {
				want = http.StatusOK
			}
			status := remove(r.in, r.g)
			if dying.step.Store(0); status != want {
				t.Fatalf("status %d, want %d", status, want)
			}
			if step <= steps {
				r.again()
			}
			if gateways, hosts := r.in.removals(); gateways != 0 || hosts != 1 {
				t.Errorf("%d gateways and %d hosts are listed, want only the host", gateways, hosts)
			}
			r.ordered(r.there).erased()
			r.closed()
			if n, err := mem.RemoveSome(t.Context(), r.g); n != 0 || err != nil || len(mem.Objects()) > 0 {
				t.Errorf("%d rows and %v are left, %v", n, mem.Objects(), err)
			}
			if head, err := mem.Head(t.Context(), r.g); err != nil || head.Cursor != 0 {
				t.Errorf("the log still has %d, %v", head.Cursor, err)
			}
		})
	}
}

// again finishes a removal on the other instance.
func (r *removable) again() {
	r.Helper()
	if gateways, hosts := r.there.removals(); gateways+hosts == 0 {
		r.Error("the operator cannot see that it goes on")
	}
	if status := remove(r.there, r.g); status != http.StatusOK {
		r.Errorf("again: %d, want 200", status)
	}
}

// dyingStore is a store of which one call of a removal fails.
type dyingStore struct {
	*memstore.Store
	step atomic.Int64 // which, from 1; 0 for none
}

var errDied = errors.New("died")

func (m *dyingStore) die() error {
	if m.step.Load() > 0 && m.step.Add(-1) == 0 {
		return errDied
	}
	return nil
}

func (m *dyingStore) Removals(ctx context.Context) ([]iris.Removal, error) {
	all, err := m.Store.Removals(ctx)
	return all, errors.Join(err, m.die())
}

func (m *dyingStore) BeginRemoval(ctx context.Context, r iris.Removal, host string) error {
	if err := m.die(); err != nil {
		return err
	}
	return errors.Join(m.Store.BeginRemoval(ctx, r, host), m.die()) // dies before, and after
}

func (m *dyingStore) RemovedHosts(ctx context.Context) ([]iris.Token, error) {
	all, err := m.Store.RemovedHosts(ctx)
	return all, errors.Join(err, m.die())
}

func (m *dyingStore) DropRemovedHost(ctx context.Context, hash string) error {
	if err := m.die(); err != nil {
		return err
	}
	return errors.Join(m.Store.DropRemovedHost(ctx, hash), m.die())
}

func (m *dyingStore) RemoveSome(ctx context.Context, g string) (int, error) {
	n, err := m.Store.RemoveSome(ctx, g)
	return n, errors.Join(err, m.die())
}

func (m *dyingStore) DeleteMediaObjects(ctx context.Context, g string) error {
	return errors.Join(m.Store.DeleteMediaObjects(ctx, g), m.die())
}

func (m *dyingStore) EndRemoval(ctx context.Context, g string) error {
	if err := m.die(); err != nil {
		return err
	}
	return m.Store.EndRemoval(ctx, g)
}
