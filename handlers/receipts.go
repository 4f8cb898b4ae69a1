package handlers

import (
	"context"
	"sync/atomic"
	"time"
)

// Rhythm of the receipts (log.md, "Readers").
const (
	pingEvery = time.Second      // at most, while something is unconfirmed
	pongWait  = 30 * time.Second // then the connection is dead
	saveEvery = 5 * time.Second  // at most
)

// receipts finds out how far a device has received the log: the pong of a ping
// that was sent behind the frames is the receipt.
type receipts struct {
	session *deviceSession
	sent    atomic.Int64  // everything up to here was written to the connection
	counts  atomic.Bool   // a sync was answered, or the device is fresh
	has     atomic.Int64  // everything up to here was confirmed
	wake    chan struct{} // has room for one
}

func newReceipts(d *deviceSession) *receipts {
	return &receipts{session: d, wake: make(chan struct{}, 1)}
}

// written is told that everything up to cursor was written.
func (r *receipts) written(cursor int64) {
	r.sent.Store(max(cursor, r.sent.Load()))
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// count makes pongs move the device's cursor from now on.
func (r *receipts) count() { r.counts.Store(true) }

// run pings and saves until ctx ends; then it saves what is not yet saved.
func (r *receipts) run(ctx context.Context) {
	d := r.session
	saved, confirmed := d.device.Cursor, d.device.Cursor
	r.has.Store(confirmed)
	defer func() { r.save(context.WithoutCancel(ctx), saved, confirmed) }()
	lastSave := time.Time{}
	timer := time.NewTimer(saveEvery)
	defer timer.Stop()
	for {
		select {
		case <-r.wake:
			cursor, counts := r.sent.Load(), r.counts.Load()
			if cursor <= confirmed || !counts {
				continue
			}
			if !r.ping(ctx) {
				return
			}
			confirmed = cursor
			r.has.Store(confirmed)
			sleep(ctx, pingEvery)
		case <-timer.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return // and save with what time is left
		}
		if wait := saveEvery - time.Since(lastSave); wait <= 0 {
			saved = r.save(ctx, saved, confirmed)
			lastSave = time.Now()
		} else {
			timer.Reset(wait)
		}
	}
}

// ping waits for a pong; without one the connection is cut.
func (r *receipts) ping(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pongWait)
	defer cancel()
	if r.session.ws.Ping(ctx) != nil {
		_ = r.session.ws.CloseNow()
		return false
	}
	return true
}

// save keeps what was confirmed and returns what is kept now.
func (r *receipts) save(ctx context.Context, saved, confirmed int64) int64 {
	if confirmed <= saved {
		return saved
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	d := r.session
	if err := d.gateway.SaveCursor(ctx, d.device.ID, confirmed); err != nil {
		d.log.Warn("save cursor", "cursor", confirmed, "err", err)
		return saved
	}
	return confirmed
}
