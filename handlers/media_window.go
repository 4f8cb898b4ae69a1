package handlers

import (
	"context"
	"fmt"
	"time"
)

// window bounds the bytes of media that are on their way to a device. A slow
// connection has room for megabytes in its buffers, and whatever is sent then,
// pings for receipts too, would wait behind them for minutes. So a ping follows
// each stretch of bytes, and what lies behind the next stretch waits for its pong.
// A stretch is what takes about a second.
type window struct {
	ping    func(context.Context) error
	run     func(func()) // starts a goroutine that somebody waits for
	stretch int          // bytes
	sent    int          // bytes since the last ping
	pong    chan pong    // of the last ping; nil before the first
}

// pong is what became of a ping.
type pong struct {
	took time.Duration
	err  error
}

// Bounds of the stretch, and of the time that it takes.
const (
	minStretch  = 128 << 10
	maxStretch  = 4 << 20
	stretchTime = time.Second
	stretchWait = 2 * time.Minute // then the device is gone
)

// pass returns when n bytes may be sent.
func (w *window) pass(ctx context.Context, n int) error {
	if w.sent += n; w.sent < w.stretch {
		return nil
	}
	if err := w.await(); err != nil {
		return err
	}
	w.sent = 0
	pongs := make(chan pong, 1)
	w.pong = pongs
	w.run(func() {
		ctx, cancel := context.WithTimeout(ctx, stretchWait)
		defer cancel()
		began := time.Now()
		err := w.ping(ctx)
		pongs <- pong{time.Since(began), err}
	})
	return nil
}

// await waits for the pong of the last stretch, and makes the next one fit.
func (w *window) await() error {
	if w.pong == nil {
		return nil
	}
	p := <-w.pong
	switch {
	case p.err != nil:
		return fmt.Errorf("no pong: %w", p.err)
	case p.took > stretchTime:
		w.stretch = max(w.stretch/2, minStretch)
	case p.took < stretchTime/2:
		w.stretch = min(w.stretch*2, maxStretch)
	}
	return nil
}
