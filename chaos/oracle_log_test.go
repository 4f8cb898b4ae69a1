package chaos

import (
	"context"
	"reflect"

	"iris-gateway/cloudstore"
	"iris-gateway/iris"
)

// checkChain looks at each entry beside the one before: what is carried
// forward, the ring, and links.
func (r *record) checkChain(size int64) {
	links := map[string]string{} // by device, "" for the host
	batches := map[string]int64{}
	var before iris.Entry
	for _, e := range r.entries {
		if e.Batch <= batches[e.Writer] {
			r.t.Errorf("entry %d is batch %d of %s, which had %d before", e.Cursor, e.Batch, e.Writer, batches[e.Writer])
		}
		batches[e.Writer] = e.Batch
		r.checkHostMark(before, e)
		r.checkRing(before, e, size)
		r.checkLinks(links, e)
		before = e
	}
}

func (r *record) checkHostMark(before, e iris.Entry) {
	attach := false
	for _, c := range e.Control {
		attach = attach || c.Kind == iris.HostAttached
	}
	switch b := before.Host; {
	case e.Host.Received < b.Received:
		r.t.Errorf("entry %d: host.received goes back from %d to %d", e.Cursor, b.Received, e.Host.Received)
	case e.Host.Epoch != b.Epoch && !attach:
		r.t.Errorf("entry %d: epoch %q after %q without an attachment", e.Cursor, e.Host.Epoch, b.Epoch)
	case e.Host.Epoch == b.Epoch && e.Host.Seq < b.Seq:
		r.t.Errorf("entry %d: host.seq goes back from %d to %d", e.Cursor, b.Seq, e.Host.Seq)
	}
	want := before.LastInbound
	if len(e.Inbound) > 0 {
		want = e.Cursor
	}
	if e.LastInbound != want {
		r.t.Errorf("entry %d: last_inbound %d, want %d", e.Cursor, e.LastInbound, want)
	}
}

// checkRing: the ring never takes what the host has not received, and keeps
// its size otherwise.
func (r *record) checkRing(before, e iris.Entry, size int64) {
	if before.Cursor == 0 {
		if e.First != 1 {
			r.t.Errorf("the first entry says first %d", e.First)
		}
		return
	}
	if d := e.First - before.First; d < 0 || d > 2 {
		r.t.Errorf("entry %d: first goes from %d to %d", e.Cursor, before.First, e.First)
		return
	}
	for c := before.First; c < e.First; c++ {
		if len(r.entries[c-1].Inbound) > 0 && c > e.Host.Received {
			r.t.Errorf("entry %d drops %d, whose inbound the host does not have (received %d)", e.Cursor, c, e.Host.Received)
		}
	}
	holds := before.First > e.Host.Received && before.LastInbound >= before.First
	if kept := e.Cursor - e.First + 1; !holds && kept > max(size, before.Cursor-before.First+1) {
		r.t.Errorf("entry %d: the log grows to %d entries, it should keep %d", e.Cursor, kept, size)
	}
}

// checkLinks: only the newest connection of a device or host detaches.
func (r *record) checkLinks(links map[string]string, e iris.Entry) {
	for _, c := range e.Control {
		switch c.Kind {
		case iris.DeviceAttached, iris.HostAttached:
			links[c.Device] = c.Link.ID
		case iris.DeviceDetached, iris.HostDetached:
			if links[c.Device] != c.Link.ID {
				r.t.Errorf("entry %d: %s %q of link %s, the newest is %s", e.Cursor, c.Kind, c.Device, c.Link.ID, links[c.Device])
			}
			links[c.Device] = ""
		}
	}
}

// checkStored: the store holds exactly first … head, as it was written, and
// the rows say what the log says.
func (r *record) checkStored(ctx context.Context, store *cloudstore.Store, gateway string) {
	var stored []iris.Entry
	for {
		page, err := store.Entries(ctx, gateway, r.entries[0].Cursor-1+lastCursor(stored), 200)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		stored = append(stored, page...)
	}
	if want := r.entries[r.entries[r.head()-1].First-1:]; !reflect.DeepEqual(stored, want) {
		r.t.Errorf("the store holds %d entries up to %d, want %d … %d unchanged", len(stored), lastCursor(stored), want[0].Cursor, r.head())
	}
	channels, err := store.Channels(ctx, gateway)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range channels {
		if c.Busy != "" {
			r.t.Errorf("lane %v is busy with %s after everything has ended", c.Lane, c.Busy)
		}
	}
	if lives, err := store.Lives(ctx, gateway); err != nil || len(lives) > 0 {
		r.t.Errorf("live documents are left: %v, %v", lives, err)
	}
}

func lastCursor(entries []iris.Entry) int64 {
	if len(entries) == 0 {
		return 0
	}
	return entries[len(entries)-1].Cursor
}
