package simtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"iris-gateway/iris"
)

// missing says what is still to come before everything is at rest. Call with
// w.mu held.
func (w *world) missing() error {
	for _, in := range w.all {
		if time.Now().Before(in.frozen()) {
			return fmt.Errorf("%s is frozen", in.name)
		}
	}
	for _, d := range w.devices {
		for _, c := range d.conns {
			if !c.ended && time.Now().Before(c.stalled) {
				return fmt.Errorf("%s reads nothing", c)
			}
		}
		c := d.current()
		switch {
		case c == nil:
			return fmt.Errorf("%s is not connected", d.name)
		case !c.check.live:
			return fmt.Errorf("%s has not synced", c)
		}
		c.check.skip()
		if c.check.pos != w.log.head() {
			return fmt.Errorf("%s has received up to %d, the head is %d", c, c.check.pos, w.log.head())
		}
		for _, s := range d.sends {
			if s.answered == "" && !s.dropped {
				return fmt.Errorf("%s: %q was not answered", d.name, s.text)
			}
		}
	}
	if w.host.current() == nil {
		return fmt.Errorf("the host is not connected")
	}
	if n := len(w.host.spool); n > 0 {
		return fmt.Errorf("%d events are not acknowledged, the first is %s", n, w.host.spool[0].frame)
	}
	for _, e := range w.log.entries {
		for i := range e.Inbound {
			if !w.host.delivered[item{e.Cursor, i}] {
				return fmt.Errorf("inbound %d/%d has not reached the host", e.Cursor, i)
			}
		}
	}
	return w.missingReceipts()
}

// missingReceipts looks for messages whose read.receipt is still to come.
func (w *world) missingReceipts() error {
	for _, d := range w.devices {
		for _, s := range d.sends {
			if s.dropped {
				continue
			}
			if n, _ := w.log.count("read.receipt", s.answered); n == 0 {
				return fmt.Errorf("%s: no read.receipt for %s", d.name, s.answered)
			}
		}
	}
	return nil
}

// checkAll checks what must be true of the whole log, of the rows and of
// everybody who is connected, once everything is at rest. Call with w.mu held.
func (w *world) checkAll() {
	w.checkKept()
	w.checkMessages()
	w.checkEvents()
	w.checkRows()
	for _, d := range w.devices {
		w.checkConnections(d)
	}
	var open []string
	for _, c := range w.host.conns {
		if !c.ended && !c.silent {
			open = append(open, c.String())
		}
	}
	if len(open) != 1 {
		w.failf("the host has the connections %v, only the newest may be open", strings.Join(open, ", "))
	}
}

// checkMessages: each message of a person once, its receipt once.
func (w *world) checkMessages() {
	for _, d := range w.devices {
		for _, s := range d.sends {
			want := 1
			if s.dropped {
				want = 0
			}
			if s.text == poison {
				continue // they all have one text
			}
			if n, _ := w.log.count("message", fmt.Sprintf("%q", s.text)); n != want {
				w.failf("%s: %q is %d times in the log, want %d", d.name, s.text, n, want)
			}
			if n, _ := w.log.count("read.receipt", s.answered); s.answered != "" && n != 1 {
				w.failf("%s: %q has %d read receipts, want 1", d.name, s.text, n)
			}
		}
	}
	if n, _ := w.log.count("message", poison); n != 0 {
		w.failf("a rejected message is in the log")
	}
}

// checkEvents: each event of the host once, in order.
func (w *world) checkEvents() {
	var epoch string
	var last int64
	for _, e := range w.host.events {
		if e.epoch != epoch {
			epoch, last = e.epoch, 0
		}
		if e.kind == "" {
			continue
		}
		n, cursor := w.log.count(e.kind, e.text)
		switch {
		case n > 1 || n == 0 && !e.lost:
			w.failf("event %s/%d (%s %s) is %d times in the log", e.epoch, e.seq, e.kind, e.text, n)
		case e.anywhere:
		case n == 1 && cursor < last:
			w.failf("event %s/%d is in entry %d, an earlier one in %d", e.epoch, e.seq, cursor, last)
		case n == 1:
			last = cursor
		}
	}
}

// checkRows: the rows say what the log says.
func (w *world) checkRows() {
	ctx := context.Background()
	channels, err := w.base.Channels(ctx, gatewayID)
	if err != nil {
		w.failf("%v", err)
	}
	for _, c := range channels {
		if c.Busy != "" {
			w.failf("lane %v is busy with %s in the end", c.Lane, c.Busy)
		}
	}
	if lives, err := w.base.Lives(ctx, gatewayID); err != nil || len(lives) > 0 {
		w.failf("live documents are left: %v, %v", lives, err)
	}
	row, err := w.base.Gateway(ctx, gatewayID)
	if err != nil {
		w.failf("%v", err)
	}
	if link := w.newestLink(iris.HostAttached, iris.HostDetached, ""); row.Host.Link.ID != link.ID {
		w.failf("the row names host link %v, the log %v", row.Host.Link, link)
	}
	for _, d := range w.devices {
		row, err := w.base.Device(ctx, gatewayID, d.name)
		if err != nil {
			w.failf("%v", err)
		}
		idle := false // a fresh one that got nothing has no receipt yet
		if c := d.current(); c != nil {
			idle = c.check.fresh && w.log.beyond(c.check.acked) == w.log.head()
		}
		if row.Cursor > w.log.head() || !idle && w.log.beyond(row.Cursor) != w.log.head() {
			w.failf("%s: the row says it has received %d, the head is %d", d.name, row.Cursor, w.log.head())
		}
		if link := w.newestLink(iris.DeviceAttached, iris.DeviceDetached, d.name); row.Link.ID != link.ID {
			w.failf("%s: the row names link %v, the log %v", d.name, row.Link, link)
		}
	}
}

// newestLink returns the connection that the log says a device or host has.
func (w *world) newestLink(attached, detached iris.ControlKind, device string) iris.Link {
	var link iris.Link
	for _, e := range w.log.entries {
		for _, c := range e.Control {
			switch {
			case c.Device != device:
			case c.Kind == attached:
				link = c.Link
			case c.Kind == detached && c.Link.ID == link.ID:
				link = iris.Link{}
			}
		}
	}
	return link
}

// checkConnections: one connection is left, and knows that the host is there.
func (w *world) checkConnections(d *device) {
	var open []string
	for _, c := range d.conns {
		if !c.ended && !c.muted {
			open = append(open, c.String())
		}
	}
	if len(open) != 1 {
		w.failf("%s has the connections %v, only the newest may be open", d.name, strings.Join(open, ", "))
	}
	if c := d.current(); c != nil && c.status != "online" {
		w.failf("%s: status %q, but the host is connected", c, c.status)
	}
}
