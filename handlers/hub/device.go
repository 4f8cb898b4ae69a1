package hub

import (
	"errors"
	"time"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Device is one connection of a device, attached to its gateway here. Its
// fields but the first five belong to the gateway's actor.
type Device struct {
	ID     string
	Link   iris.Link
	Socket *Socket
	Synced func() // called once the device's receipts count (log.md, "Readers")
	// Received tells how far the device has confirmed the log; it may be
	// called from any goroutine, also after the connection.
	Received func() int64

	live bool  // entries and live frames are passed on as they come
	pos  int64 // entries up to here were sent, or need not be
	gone bool  // detached, perhaps before the attachment was in the log
}

// Attach makes d the device's connection: it appends the attachment, and then
// calls attached on the actor. A device that is fresh follows the log at once.
func (a *Actor) Attach(d *Device, name string, fresh bool, attached func(a *Actor, cursor int64, err error)) {
	d.Link.Instance = a.writer
	a.Propose(Proposal{
		Decide: func(s *State) (Draft, error) {
			switch {
			case d.gone || d.Socket.closes(): // or it would replace the connection that its device has by now
				return Draft{}, errGone
			case late(d.Link, s.devices[d.ID]):
				return Draft{}, errSuperseded
			}
			return Draft{
				Control: []iris.Control{{Kind: iris.DeviceAttached, Device: d.ID, Link: d.Link}},
				Changes: []iris.Change{iris.SetDeviceLink{Device: d.ID, Link: d.Link, Name: name, Seen: d.Link.At}},
			}, nil
		},
		Done: func(a *Actor, r Result) {
			if r.Err == nil && a.state.devices[d.ID].ID != d.Link.ID { // a newer one is in the same entry, or came with a reload
				r.Err = errSuperseded
			}
			switch {
			case errors.Is(r.Err, errSuperseded):
				d.Socket.Close(wire.CloseSuperseded, deviceSuperseded)
			case r.Err == nil:
				d.pos, d.live = r.Cursor, fresh
				a.devices[d.ID] = d
				a.watchLives()
			}
			attached(a, r.Cursor, r.Err)
			if d.gone {
				a.Detach(d)
			}
		},
	})
}

// Detach ends what Attach began. Nothing happens if a newer connection of the
// device has taken over.
func (a *Actor) Detach(d *Device) {
	d.gone = true
	if a.devices[d.ID] != d {
		return
	}
	delete(a.devices, d.ID)
	a.watchLives()
	seen := time.Now()
	a.Propose(Proposal{Decide: func(s *State) (Draft, error) {
		if s.devices[d.ID].ID != d.Link.ID { // the row names a newer one
			return Draft{}, nil
		}
		return Draft{
			Control: []iris.Control{{Kind: iris.DeviceDetached, Device: d.ID, Link: d.Link}},
			Changes: []iris.Change{iris.SetDeviceLink{Device: d.ID, Link: ended(d.Link), Seen: seen}},
		}, nil
	}})
}

// refuse tells a device why its connection ends, and ends it.
func refuse(s *Socket, why string) {
	s.Send(wire.Encode(iris.Lane{}, wire.Error{Code: iris.CodeAuth, Message: why}))
	s.Close(wire.CloseAuth, why)
}

// Reasons of the close code 4409.
const (
	deviceSuperseded = "a newer connection of this device took over"
	hostSuperseded   = "a newer connection of this host took over"
)

// linkSlack is how far the clocks of two instances may be apart. They are set by
// NTP; the longer it is, the more likely one that dials anew at once is sent away
// for its older connection.
const linkSlack = 500 * time.Millisecond

// late reports whether a connection comes too late to be attached, because the
// log has, or had, one that was made after it: attaching may take long, and the
// peer may have dialed anew meanwhile. One instance knows the order of its own.
func late(l, newest iris.Link) bool {
	if l.Instance == newest.Instance {
		return newest.At.After(l.At)
	}
	return newest.At.Sub(l.At) > linkSlack
}

// Why a connection was not attached: it was replaced, or has ended, before.
var (
	errSuperseded = iris.Errorf(iris.CodeUnavailable, "a newer connection took over")
	errGone       = iris.Errorf(iris.CodeUnavailable, "the connection has ended")
)

// supersede closes the connections that newer ones, attached here (own) or
// elsewhere, have replaced, and those that have lost their token.
func (a *Actor) supersede(control []iris.Control, own bool) {
	for _, c := range control {
		switch c.Kind {
		case iris.DeviceAttached:
			if d := a.devices[c.Device]; d != nil && d.Link.ID != c.Link.ID {
				delete(a.devices, c.Device)
				d.Socket.Close(wire.CloseSuperseded, deviceSuperseded)
			}
		case iris.DeviceRevoked:
			if d := a.devices[c.Device]; d != nil {
				delete(a.devices, c.Device)
				refuse(d.Socket, "the device has been revoked: pair again")
			}
		case iris.HostRevoked:
			if h := a.host; h != nil {
				a.leaveHost(h)
				h.Refuse("the host's token was replaced: set IRIS_TOKEN to the new one")
			}
		case iris.HostAttached:
			if h := a.host; h != nil && h.Link.ID != c.Link.ID {
				a.leaveHost(h)
				h.Socket.Close(wire.CloseSuperseded, hostSuperseded)
			}
			if !own { // another instance knows better what runs
				a.turns = nil
				a.dropLive()
			}
		}
	}
}

// Hold stops passing the log on to d until it has caught up. It returns the
// cursor up to which d was sent everything, or need not be: at first, its
// attachment.
func (a *Actor) Hold(d *Device) (since int64) {
	d.live = false
	return d.pos
}

// CatchUp lets d follow the log from cursor on, if that is where the log is;
// otherwise it reports false, and there are entries to be read first. It runs
// send before anything live is passed on. From a sync that d asked for on, d's
// receipts count.
func (a *Actor) CatchUp(d *Device, cursor int64, asked bool, send func()) bool {
	if cursor > a.state.Cursor && a.flight == nil {
		a.backfill() // what runs now must not be told from a state that is older than the replay
	}
	if cursor != a.state.Cursor {
		return false
	}
	send()
	d.pos, d.live = cursor, true
	if asked && d.Synced != nil {
		d.Synced()
	}
	d.Socket.Mark(cursor)
	return true
}
