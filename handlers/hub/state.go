package hub

import (
	"maps"
	"slices"
	"strings"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// State is what the log says up to Cursor: the fold of its entries, begun from
// the rows. Decisions are made on it.
type State struct {
	Gateway     iris.Gateway // its row when the gateway was opened
	Cursor      int64        // newest entry that is part of the state
	First       int64        // oldest entry kept
	Host        iris.HostMark
	Loads       int       // how often it was read anew from the rows: what lies between is not known
	HostLink    iris.Link // newest link of the host
	LastInbound int64     // newest entry with inbound
	LastMessage int64     // newest entry with a message for the host, as far as this instance knows
	Removed     bool      // the gateway is no more

	size    int64 // entries that the log keeps
	lanes   map[iris.Lane]iris.Channel
	devices map[string]iris.Link // newest link of each device, by device id
	push    map[string]string    // hash of the registration token of each device that has one, by device id
	topics  map[string]string    // the same of ntfy topics
	pickers map[string]iris.Picker
	owned   bool // the maps belong to this copy alone
	erased
}

// unknownTurn marks a lane as busy with a turn whose id the log does not tell.
const unknownTurn = "?"

// rowsRead is what a state begins from.
type rowsRead struct {
	gateway  iris.Gateway
	channels []iris.Channel
	devices  []iris.Device
	pickers  []iris.Picker

	deletions []iris.Deletion
}

// newState begins a state from the rows and the newest entry.
func newState(r rowsRead, head iris.Entry, size int) *State {
	s := &State{
		Gateway: r.gateway, HostLink: r.gateway.Host.Link, size: int64(size), owned: true,
		lanes: make(map[iris.Lane]iris.Channel, len(r.channels)), devices: make(map[string]iris.Link, len(r.devices)),
		push: map[string]string{}, topics: map[string]string{}, pickers: make(map[string]iris.Picker, len(r.pickers)),
	}
	for _, d := range r.devices {
		s.devices[d.ID] = d.Link
		if d.FCMToken != "" {
			s.push[d.ID] = iris.HashToken(d.FCMToken)
		}
		if d.NtfyTopic != "" {
			s.topics[d.ID] = iris.HashToken(d.NtfyTopic)
		}
	}
	for _, p := range r.pickers {
		s.pickers[p.ID] = p
	}
	for _, c := range r.channels {
		s.lanes[c.Lane] = c
	}
	for _, d := range r.deletions {
		s.begin(d)
	}
	s.carry(head)
	s.Removed = removed(head)
	s.LastMessage = s.LastInbound // its kind is not known; a message, if in doubt
	return s
}

// fork returns a copy that can be changed without touching s.
func (s *State) fork() *State {
	f := *s
	f.owned = false
	return &f
}

// carry takes over what each entry carries forward.
func (s *State) carry(e iris.Entry) {
	s.Cursor, s.First, s.Host, s.LastInbound = e.Cursor, e.First, e.Host, e.LastInbound
}

// apply folds an entry, and the changes if it was written here.
func (s *State) apply(e iris.Entry, changes []iris.Change) {
	s.carry(e)
	s.LastMessage = lastMessage(e, s.LastMessage)
	s.fold(e.Frames, e.Control, changes)
}

// fold takes over what frames, control items and changes mean for the state.
func (s *State) fold(frames []string, control []iris.Control, changes []iris.Change) {
	for _, c := range control {
		s.foldControl(c)
	}
	for _, f := range frames {
		s.foldFrame(f)
	}
	for _, c := range changes {
		if c, ok := c.(iris.SetBusy); ok {
			s.setBusy(c.Lane, c.Turn)
		}
	}
}

// ended is what is kept of a connection that is gone: nothing is connected, but
// one that was made before it may still want to be attached (see late).
func ended(l iris.Link) iris.Link { return iris.Link{At: l.At} }

func (s *State) foldControl(c iris.Control) {
	switch c.Kind {
	case iris.HostAttached:
		s.HostLink = c.Link
	case iris.HostDetached:
		if s.HostLink.ID == c.Link.ID {
			s.HostLink = ended(c.Link)
		}
	case iris.DeviceAttached:
		s.own()
		s.devices[c.Device] = c.Link
	case iris.DeviceDetached:
		if s.devices[c.Device].ID == c.Link.ID {
			s.own()
			s.devices[c.Device] = ended(c.Link)
		}
	case iris.HostRevoked:
		s.HostLink = iris.Link{}
	case iris.GatewayRemoved:
		s.remove()
	case iris.DeviceRevoked:
		s.own()
		delete(s.devices, c.Device)
		delete(s.push, c.Device)
		delete(s.topics, c.Device)
	case iris.PushRegistered:
		s.own()
		for _, other := range s.Registered(c.Push) { // the newest keeps it
			delete(s.push, other)
		}
		s.push[c.Device] = c.Push
	case iris.PushTopic:
		s.own()
		s.topics[c.Device] = c.Push
	case iris.DeletionBegun, iris.DeletionEnded:
		s.foldDeletion(c)
	}
}

// foldFrame takes over what a frame means, by its type.
func (s *State) foldFrame(frame string) {
	switch kind, _, _ := strings.Cut(frameType(frame), "."); kind {
	case "agent":
		switch frameType(frame) {
		case wire.AgentBusy{}.FrameType():
			s.setBusy(laneOf(frame), unknownTurn)
		case wire.AgentIdle{}.FrameType():
			s.setBusy(laneOf(frame), "")
		}
	case "picker":
		s.foldPicker(frame)
	case "channel", "read":
		s.foldDirectory(frame)
	}
}

func (s *State) setBusy(lane iris.Lane, turn string) {
	c, ok := s.lanes[lane]
	if !ok || c.Busy == turn {
		return
	}
	c.Busy = turn
	s.own()
	s.lanes[lane] = c
}

func (s *State) own() {
	if !s.owned {
		s.lanes, s.devices = maps.Clone(s.lanes), maps.Clone(s.devices)
		s.push, s.topics = maps.Clone(s.push), maps.Clone(s.topics)
		s.pickers, s.owned = maps.Clone(s.pickers), true
	}
}

// Channel returns the channel or thread of a lane.
func (s *State) Channel(lane iris.Lane) (iris.Channel, bool) {
	c, ok := s.lanes[lane]
	return c, ok
}

// Channels returns the directory: the default channel first, then by id.
func (s *State) Channels() []iris.Channel {
	return slices.SortedFunc(maps.Values(s.lanes), func(a, b iris.Channel) int {
		aDefault, bDefault := a.Lane.ChatID == s.Gateway.DefaultChat, b.Lane.ChatID == s.Gateway.DefaultChat
		if aDefault != bDefault {
			if aDefault {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Lane.Key(), b.Lane.Key())
	})
}

// Full reports whether the log has grown as far as it may for a host that is
// away and does not fetch its inbound.
func (s *State) Full() bool {
	return s.Cursor+1-s.First >= holdFactor*s.size
}

// anyBusy reports whether a turn runs in any lane.
func (s *State) anyBusy() bool {
	for _, c := range s.lanes {
		if c.Busy != "" {
			return true
		}
	}
	return false
}
