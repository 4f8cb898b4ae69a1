package chat

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// ownCommand does what is for this program and not for the agent, and reports
// whether that was so.
func (c *chat) ownCommand(text string) bool {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch {
	case name == "/stop" && rest == "":
		c.request(request{kind: wire.TypeAgentStop, idle: !c.view.busy}, wire.AgentStop{})
	case name == "/go":
		c.goTo(strings.TrimSpace(rest))
	case name == "/send":
		c.send(rest)
	case name == "/save":
		c.save(strings.TrimSpace(rest))
	case name == "/delete":
		c.delete(strings.TrimSpace(rest))
	case name == "/search":
		c.search(strings.TrimSpace(rest))
	default:
		return false
	}
	return true
}

// request is one that has no answer yet.
type request struct {
	kind   string
	idle   bool   // nothing ran when it was made
	picker string // that it answers
}

// request asks the gateway something and notes that its answer is due.
func (c *chat) request(r request, payload any) {
	id, err := c.client.Request(r.kind, c.view.lane, payload)
	if err != nil {
		c.refuse(err)
		return
	}
	c.due[id] = r
	c.view.pending(r.picker, true)
}

// reply answers the question that waits, and reports whether the line was
// meant for it.
func (c *chat) reply(text string) bool {
	p, open := c.view.question()
	if !open || strings.HasPrefix(strings.TrimSpace(text), "/") {
		return false
	}
	answer, ok := p.choose(text)
	if !ok {
		if _, err := strconv.Atoi(strings.TrimSpace(text)); err != nil || len(p.options) == 0 {
			return false // words: a message like any other
		}
		c.refuse(fmt.Errorf("there is no answer %s: type a number from 1 to %d", strings.TrimSpace(text), len(p.options)))
		return true
	}
	c.request(request{kind: wire.TypePickerSelect, picker: p.id}, answer)
	if !c.opts.Interactive {
		c.overdue = after(c.opts.Wait)
		if c.turn == nil { // a command's question: what follows is its answer
			c.turn = newExchange("", false, c.opts.Quiet)
		}
	}
	return true
}

// answer takes the answer to a request of this chat, and reports whether the
// frame is to be shown, too.
func (c *chat) answer(f device.Frame) (show bool, err error) {
	r, due := c.due[f.ID]
	if !due {
		return true, nil
	}
	delete(c.due, f.ID)
	if f.Type == (wire.Error{}).FrameType() {
		c.view.pending(r.picker, false)
		if c.turn.is("") {
			c.turn = nil
		}
		return false, with(f, func(e wire.Error) { c.refuse(errors.New(e.Message)) })
	}
	switch r.kind {
	case wire.TypeSearch:
		return false, c.results(f)
	case wire.TypeAgentStop:
		if r.idle {
			c.say("nothing is running")
		}
		return false, nil // all devices are told of the end of a turn
	case wire.TypeMessageDelete, wire.TypeChannelDelete:
		return true, nil
	}
	if c.turn.is("") {
		c.turn.settle()
	}
	return true, nil
}

// goTo moves to another channel or thread, by its name; without one it lists
// them.
func (c *chat) goTo(name string) {
	lane, err := c.view.find(name)
	if name == "" || err != nil {
		if err != nil {
			c.say(err.Error())
		}
		c.say("/go NAME: " + strings.Join(c.view.laneNames(), " · "))
		return
	}
	if lane == c.view.lane {
		return
	}
	c.view.enter(lane)
	c.say("now in " + c.view.name(lane))
	if p, open := c.view.question(); open {
		c.view.showPicker(p)
	}
	if c.opts.History > 0 {
		id, err := c.client.Request(wire.TypeHistory, lane, wire.HistoryRequest{Limit: c.opts.History})
		if err != nil {
			c.refuse(err)
			return
		}
		c.history, c.ready = id, false
	}
}

// name is what people call a lane.
func (v *view) name(lane iris.Lane) string {
	name := v.names[lane]
	if name == "" {
		name = lane.ChatID
	}
	if lane.ThreadID != "" {
		if channel := v.names[iris.Lane{ChatID: lane.ChatID}]; channel != "" {
			name = channel + " › " + name
		}
	}
	return terminal.CleanLine(name)
}

// laneNames lists what can be gone to.
func (v *view) laneNames() []string {
	var list []string
	for lane := range v.names {
		list = append(list, v.name(lane))
	}
	slices.Sort(list)
	return list
}

// find returns the lane with a name: all of it, or that of a thread alone.
func (v *view) find(name string) (iris.Lane, error) {
	var found []iris.Lane
	for lane, short := range v.names {
		if v.name(lane) == name {
			return lane, nil
		}
		if strings.EqualFold(terminal.CleanLine(short), name) {
			found = append(found, lane)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return iris.Lane{}, fmt.Errorf("there is no channel or thread %q", name)
	default:
		return iris.Lane{}, fmt.Errorf("several are called %q: give the whole name", name)
	}
}

// enter makes a lane the one that is shown as it lives.
func (v *view) enter(lane iris.Lane) {
	v.idle()
	v.lane, v.busy = lane, v.working[lane]
}

// listed takes over what a list of all channels says.
func (v *view) listed(channels []wire.Channel) {
	for _, ch := range channels {
		v.names[iris.Lane{ChatID: ch.ChatID, ThreadID: ch.ThreadID}] = ch.Name
		if ch.IsDefault {
			v.standard = ch.ChatID
		}
	}
}

// directory follows the channels and threads.
func (v *view) directory(f device.Frame) error {
	switch f.Type {
	case "channel.created":
		return with(f, func(p wire.ChannelCreated) { v.names[iris.Lane{ChatID: p.ChatID, ThreadID: p.ThreadID}] = p.Name })
	case "channel.renamed":
		return with(f, func(p wire.ChannelRenamed) { v.names[iris.Lane{ChatID: p.ChatID, ThreadID: p.ThreadID}] = p.Name })
	case "channel.deleted":
		return with(f, v.removed)
	case "channel.list":
		return with(f, func(p wire.ChannelList) { v.listed(p.Channels) })
	}
	return nil
}
