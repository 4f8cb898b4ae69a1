package handlers

import (
	"context"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

const (
	syncWait   = 2 * time.Second // how long live frames wait for a first sync
	maxSyncs   = 8               // syncs of one connection that may wait
	tailWait   = 20 * time.Millisecond
	replayPace = 100 // frames of a replay between looks at the queue
)

// syncRequest is a replay that is to be done.
type syncRequest struct {
	id     wire.RequestID
	cursor *int64 // nil: from the device's cursor
	asked  bool   // by the device, who gets sync.done
}

// handleSync queues a replay.
func (d *deviceSession) handleSync(req wire.Request) error {
	p, err := wire.DecodePayload[wire.Sync](req)
	if err != nil {
		return err
	}
	select {
	case d.syncs <- syncRequest{id: req.ID, cursor: p.Cursor, asked: true}:
		return nil
	default:
		return iris.Errorf(iris.CodeRateLimited, "%d syncs of this connection are waiting already", maxSyncs)
	}
}

// serveSyncs does one replay after the other. If no sync comes in time, what
// was held since the attachment is sent without one.
func (d *deviceSession) serveSyncs(ctx context.Context) {
	timer := time.NewTimer(syncWait)
	defer timer.Stop()
	for {
		var req syncRequest
		select {
		case req = <-d.syncs:
			timer.Stop()
		case <-timer.C:
			if d.fresh {
				continue
			}
		case <-ctx.Done():
			return
		}
		if err := d.replay(ctx, req); err != nil && ctx.Err() == nil {
			d.reply(req.id, err)
			d.socket.Close(wire.CloseSlow, "sync failed: connect again")
			return
		}
	}
}

// replay sends what lies behind the requested cursor, from the store, until
// the device can follow the log.
func (d *deviceSession) replay(ctx context.Context, req syncRequest) error {
	cursor, complete, err := d.replayStart(ctx, req)
	if err != nil {
		return err
	}
	pickers := &replayed{closed: map[string]bool{}}
	var entries []iris.Entry
	for {
		var done bool
		err := d.gateway.Call(ctx, func(a *hub.Actor) {
			a.Read(entries)
			pickers.state = a.State() // a state is never changed, only replaced
			done = a.CatchUp(d.dev, cursor, req.asked, func() {
				d.syncDone(req, cursor, complete)
				d.sendOpen(a, pickers.closed)
				for _, frame := range a.Snapshot() {
					d.socket.Send(frame)
				}
			})
		})
		if err != nil || done {
			return err
		}
		if entries, err = d.gateway.Page(ctx, cursor); err != nil {
			return err
		}
		if len(entries) == 0 { // the tail is behind, and on its way
			sleep(ctx, tailWait)
		}
		if len(entries) > 0 && entries[0].Cursor != cursor+1 {
			complete = false // older entries are gone
		}
		for _, e := range entries {
			if err := d.replayEntry(ctx, e, pickers); err != nil {
				return err
			}
			cursor = e.Cursor
		}
	}
}

// replayStart holds live frames and says where to begin. A cursor beyond the
// tail is not of this log: the device's attachment is in the tail, and behind
// everything that its earlier connections were sent by other instances.
func (d *deviceSession) replayStart(ctx context.Context, req syncRequest) (cursor int64, complete bool, err error) {
	cursor = d.device.Cursor
	if req.cursor != nil {
		cursor = *req.cursor
	}
	var known, held int64
	err = d.gateway.Call(ctx, func(a *hub.Actor) { known, held = a.State().Cursor, a.Hold(d.dev) })
	if !req.asked {
		return held, true, err
	}
	return min(cursor, known), cursor <= known, err
}

func (d *deviceSession) replayEntry(ctx context.Context, e iris.Entry, pickers *replayed) error {
	for i, frame := range e.Frames {
		if i%replayPace == 0 {
			if err := d.socket.WaitIdle(ctx); err != nil {
				return err
			}
		}
		if !pickers.leaveOut(frame, e.Cursor) {
			d.socket.Send(wire.WithCursor(frame, e.Cursor))
		}
	}
	return nil
}

// syncDone ends a replay.
func (d *deviceSession) syncDone(req syncRequest, cursor int64, complete bool) {
	if req.asked {
		done := wire.SyncDone{Cursor: cursor, Complete: complete}
		d.socket.Send(wire.WithID(wire.Encode(iris.Lane{}, done), req.id))
	}
}
