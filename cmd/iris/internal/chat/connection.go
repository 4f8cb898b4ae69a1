package chat

import (
	"errors"
	"fmt"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

func (c *chat) lost(e device.Lost) {
	why := terminal.CleanLine(e.Err.Error())
	if why == c.trouble || c.host == wire.StateRestarting { // told already
		return
	}
	c.trouble = why
	c.say(why + "; trying again")
}

func (c *chat) say(text string) {
	if !c.opts.Live {
		fmt.Fprintln(c.opts.Notes, "· "+text)
		return
	}
	c.typed = ""
	c.view.block("· ", text, c.view.style.Dim, c.view.style.Dim)
}

func (c *chat) connected(e device.Connected) {
	c.trouble, c.host, c.online = "", "", true
	if len(c.due) > 0 {
		for _, r := range c.due {
			c.view.pending(r.picker, false)
		}
		clear(c.due)
		c.refuse(errors.New("the connection broke: perhaps it did not arrive, try again"))
	}
	c.view.listed(e.Ack.Channels)
	for _, ch := range e.Ack.Channels {
		c.view.working[iris.Lane{ChatID: ch.ChatID, ThreadID: ch.ThreadID}] = ch.Busy
	}
	if c.view.lane.ChatID == "" { // else the person has chosen
		c.view.lane = iris.Lane{ChatID: c.view.standard}
	}
	c.view.busy = c.view.working[c.view.lane]
}

func (c *chat) synced(e device.Synced) error {
	if !e.First && e.Complete && c.ready {
		return nil
	}
	if c.opts.History <= 0 {
		return c.begin()
	}
	id, err := c.client.Request(wire.TypeHistory, c.view.lane, wire.HistoryRequest{Limit: c.opts.History})
	c.history = id
	return err
}

func (c *chat) begin() error {
	c.ready = true
	held := c.held
	c.held = nil
	for _, f := range held {
		if err := c.show(f); err != nil {
			return err
		}
	}
	return nil
}

func (c *chat) status(s wire.State) {
	if s == c.host {
		return
	}
	before := c.host
	c.host = s
	switch {
	case s == wire.StateRestarting:
		c.say("the gateway restarts")
	case s == wire.StateDegraded:
		c.say("connected; the host is away: messages wait for it")
	case s == wire.StateOnline && before == wire.StateDegraded:
		c.say("the host is there")
	case s == wire.StateOnline && before == "":
		c.say("connected")
	}
}
