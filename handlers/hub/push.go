package hub

import (
	"slices"
	"strings"

	"iris-gateway/iris"
)

// Notifier wakes the devices that an entry does not reach (log.md, "Push").
// Neither method may block.
type Notifier interface {
	// Opened tells of a gateway that was opened here, with the rows of its
	// devices and the newest entry as they were then.
	Opened(g *Gateway, devices []iris.Device, head int64)
	// Notify runs on the actor for each entry that deserves a push, once it
	// has been passed on; own says that this instance wrote it.
	Notify(a *Actor, e iris.Entry, own bool)
}

// Target is a device with a push registration, as far as the log tells.
type Target struct {
	Device    string
	Link      iris.Link // its newest
	FCM, Ntfy bool      // which registrations it has
}

// Targets returns the devices with a push registration, by id.
func (s *State) Targets() []Target {
	var all []Target
	for device, l := range s.devices {
		if t := (Target{device, l, s.push[device] != "", s.topics[device] != ""}); t.FCM || t.Ntfy {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b Target) int { return strings.Compare(a.Device, b.Device) })
	return all
}

// Attached returns the connection of a device here, nil if there is none.
func (a *Actor) Attached(device string) *Device { return a.devices[device] }

// notify tells the notifier of an entry.
func (a *Actor) notify(e iris.Entry, own bool) {
	if n := a.g.hub.cfg.Notifier; n != nil && e.Notify {
		n.Notify(a, e, own)
	}
}

// Hold keeps the gateway open until release is called, unless it is closing
// already: what is pending for it ends before it does.
func (g *Gateway) Hold() (release func(), ok bool) {
	h := g.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.slot == nil || h.gateways[g.ID] != g.slot {
		return nil, false
	}
	s := g.slot
	s.users++
	return func() { h.release(g.ID, s) }, true
}
