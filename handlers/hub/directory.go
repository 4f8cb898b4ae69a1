package hub

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// frameHead begins every encoded frame; the type follows it.
const frameHead = `{"v":1,"type":"`

// frameType reads the type of an encoded frame.
func frameType(frame string) string {
	rest, ok := strings.CutPrefix(frame, frameHead)
	if !ok {
		return ""
	}
	kind, _, _ := strings.Cut(rest, `"`)
	return kind
}

// Payload reads the payload of an encoded frame, if it is of P's type.
func Payload[P wire.Payload](frame string) (p P, ok bool) {
	if frameType(frame) != p.FrameType() {
		return p, false
	}
	f := struct{ Payload *P }{&p}
	return p, json.Unmarshal([]byte(frame), &f) == nil
}

// foldDirectory takes over what a frame says about channels, threads and what
// was read: every instance has the directory, whoever changed it.
func (s *State) foldDirectory(frame string) {
	if f, ok := Payload[wire.ChannelCreated](frame); ok {
		s.own()
		lane := iris.Lane{ChatID: f.ChatID, ThreadID: f.ThreadID}
		s.lanes[lane] = iris.Channel{Lane: lane, Name: f.Name, Kind: f.Kind, Auto: f.Auto}
	}
	if f, ok := Payload[wire.ChannelRenamed](frame); ok {
		s.edit(iris.Lane{ChatID: f.ChatID, ThreadID: f.ThreadID}, func(c *iris.Channel) { c.Name, c.Auto = f.Name, false })
	}
	if f, ok := Payload[wire.ChannelDeleted](frame); ok {
		s.own()
		gone := func(lane iris.Lane) bool {
			return lane.ChatID == f.ChatID && (f.ThreadID == "" || lane.ThreadID == f.ThreadID)
		}
		maps.DeleteFunc(s.lanes, func(lane iris.Lane, _ iris.Channel) bool { return gone(lane) })
		maps.DeleteFunc(s.pickers, func(_ string, p iris.Picker) bool { return gone(p.Lane) })
	}
	if f, ok := Payload[wire.ChannelList](frame); ok {
		for _, c := range f.Channels {
			if c.IsDefault {
				s.Gateway.DefaultChat = c.ChatID
			}
		}
	}
	if f, ok := Payload[wire.ReadReceipt](frame); ok && f.DeviceID != "" {
		s.edit(laneOf(frame), func(c *iris.Channel) { c.ReadMessageID, c.ReadAt = f.MessageID, time.UnixMilli(f.TS) })
	}
}

// edit changes a channel or thread, if it exists.
func (s *State) edit(lane iris.Lane, change func(*iris.Channel)) {
	c, ok := s.lanes[lane]
	if !ok {
		return
	}
	s.own()
	change(&c)
	s.lanes[lane] = c
}

// foldPicker takes over that a picker was opened or closed.
func (s *State) foldPicker(frame string) {
	p, closed, ok := PickerOf(frame)
	if !ok {
		return
	}
	s.own()
	if closed {
		delete(s.pickers, p.ID)
		return
	}
	s.pickers[p.ID] = p
}

// Picker returns an open picker.
func (s *State) Picker(id string) (iris.Picker, bool) {
	p, ok := s.pickers[id]
	return p, ok
}

// Pickers returns the open pickers, oldest first.
func (s *State) Pickers() []iris.Picker {
	return slices.SortedFunc(maps.Values(s.pickers), func(a, b iris.Picker) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// Count returns how many channels and how many threads the directory has.
func (s *State) Count() (channels, threads int) {
	for lane := range s.lanes {
		if lane.ThreadID == "" {
			channels++
		} else {
			threads++
		}
	}
	return channels, threads
}

// Registered returns the devices that have the registration token of that hash.
func (s *State) Registered(push string) []string {
	var devices []string
	for device, hash := range s.push {
		if push != "" && hash == push {
			devices = append(devices, device)
		}
	}
	return devices
}

// Device reports whether a device is paired.
func (s *State) Device(id string) bool {
	_, ok := s.devices[id]
	return ok
}

// HostOnline reports whether a host is attached, here or elsewhere.
func (s *State) HostOnline() bool { return s.HostLink.Alive(time.Now()) }

// PickerOf reads which picker an encoded frame opens or closes.
func PickerOf(frame string) (p iris.Picker, closed, ok bool) {
	kind := frameType(frame)
	if !strings.HasPrefix(kind, "picker.") {
		return p, false, false
	}
	var f struct {
		Payload struct {
			PickerID string `json:"picker_id"`
		} `json:"payload"`
	}
	if json.Unmarshal([]byte(frame), &f) != nil {
		return p, false, false
	}
	p = iris.Picker{ID: f.Payload.PickerID, Lane: laneOf(frame), Frame: frame, At: time.Now()}
	return p, kind == wire.PickerClosed{}.FrameType(), true
}
