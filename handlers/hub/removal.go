package hub

import (
	"context"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// ErrRemoved ends what is proposed to, or connected with, a gateway that is no
// more.
var ErrRemoved = iris.Errorf(iris.CodeAuth, "this gateway was deleted")

// removed reports whether an entry is the last one of its log. Nobody appends
// behind it: who has read it knows, and who has not is refused by it.
func removed(e iris.Entry) bool {
	for _, c := range e.Control {
		if c.Kind == iris.GatewayRemoved {
			return true
		}
	}
	return false
}

// remove takes over that the gateway is no more: what waits to be told of any of
// its lanes is void.
func (s *State) remove() {
	s.Removed, s.owned = true, true
	s.lanes, s.devices, s.pickers = map[iris.Lane]iris.Channel{}, map[string]iris.Link{}, map[string]iris.Picker{}
	s.push, s.topics, s.pending = map[string]string{}, map[string]string{}, nil
}

// leaveRemoved ends every connection to the gateway, which is no more. Its host
// is to come again: then it hears what it has to do.
func (a *Actor) leaveRemoved() {
	a.state = a.state.fork()
	a.state.remove()
	for id, d := range a.devices {
		delete(a.devices, id)
		refuse(d.Socket, ErrRemoved.Message)
	}
	if h := a.host; h != nil {
		a.leaveHost(h)
		h.Socket.Close(wire.CloseGoingAway, ErrRemoved.Message+", connect again")
	}
	a.watchLives()
}

// vanished reports whether a refused commit met no log at all. That is so only
// when the gateway was removed, and this instance was not told.
func (g *Gateway) vanished(ctx context.Context) (bool, error) {
	head, err := g.hub.cfg.Store.Head(ctx, g.ID)
	return err == nil && head.Cursor == 0, err
}
