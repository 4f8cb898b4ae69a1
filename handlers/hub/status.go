package hub

import (
	"strings"
	"time"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// hostPatience is how long the host may leave a message lying. A host that died
// together with its instance stays attached in the log for up to an hour; the
// first message that it does not take tells the truth.
const hostPatience = 20 * time.Second

// presence is what the devices were told of the host. It belongs to the actor.
type presence struct {
	online bool // what the devices were told last
	silent bool // the host does not take its messages
	timer  *time.Timer
}

// messageItem is how a person's message begins among the inbound of an entry
// (link.EncodeItem writes the kind first).
const messageItem = `{"kind":"message"`

// lastMessage returns the cursor of e if it holds a message for the host, else
// what was known before.
func lastMessage(e iris.Entry, before int64) int64 {
	for _, item := range e.Inbound {
		if strings.HasPrefix(item, messageItem) {
			return e.Cursor
		}
	}
	return before
}

// HostOnline reports whether a host is attached, here or elsewhere.
func (a *Actor) HostOnline() bool { return a.state.HostLink.Alive(time.Now()) }

// Status returns the status frame for a device that connects.
func (a *Actor) Status() string {
	state := wire.StateDegraded
	if a.HostOnline() && !a.presence.silent {
		state = wire.StateOnline
	}
	return wire.Encode(iris.Lane{}, wire.Status{State: state})
}

// tellStatus tells the devices when the host came, went, or does not answer.
func (a *Actor) tellStatus() {
	p := &a.presence
	a.watchHost()
	online := a.HostOnline() && !p.silent
	if online == p.online {
		return
	}
	p.online = online
	for _, d := range a.devices {
		d.Socket.Send(a.Status())
	}
}

// watchHost looks whether the host takes its messages.
func (a *Actor) watchHost() {
	p := &a.presence
	message := a.state.LastMessage
	if message <= max(a.received, a.state.Host.Received) || !a.HostOnline() {
		if p.timer != nil {
			p.timer.Stop()
			p.timer = nil
		}
		p.silent = false
		return
	}
	if p.timer != nil || p.silent {
		return
	}
	p.timer = time.AfterFunc(hostPatience, func() {
		a.g.later(func(a *Actor) {
			p.timer = nil
			p.silent = max(a.received, a.state.Host.Received) < message
			a.tellStatus()
		})
	})
}
