package chat

import (
	"unicode/utf8"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
)

func (c *chat) sent(e device.Sent) {
	delete(c.waiting, e.ClientID)
	c.view.finish(e.Lane, e.Message.MessageID) // it stands there, typed
	c.unread[e.Message.MessageID] = e.Message.Text
	if c.turn.is(e.ClientID) {
		c.turn.sent()
	}
	if c.host == wire.StateDegraded {
		c.say("the host is away: the gateway keeps the message for it")
	}
}

func (c *chat) frame(f device.Frame) error {
	switch {
	case f.Type == "status":
		return with(f, func(p wire.Status) { c.status(p.State) })
	case f.ID != "" && f.ID == c.history:
		return c.pageOfHistory(f)
	case !c.ready:
		c.held = append(c.held, f)
		return nil
	}
	return c.show(f)
}

func (c *chat) show(f device.Frame) error {
	if show, err := c.answer(f); !show || err != nil {
		return err
	}
	switch f.Type {
	case "read.receipt":
		return with(f, func(p wire.ReadReceipt) {
			if p.DeviceID == "" { // else a person has seen it, and the host may be away
				c.received(p.MessageID)
			}
		})
	case "error":
		if f.ID == "" { // what follows from it comes with the end of the connection
			return nil
		}
	}
	if f.Lane == c.view.lane {
		c.turn.frame(f.Type)
		if c.turn != nil && c.turn.complete {
			c.turn = nil
		}
	}
	if err := c.view.frame(f); err != nil {
		return err
	}
	if f.Type != "agent.busy" && f.Type != "typing" {
		c.typed = ""
	}
	return nil
}

func (c *chat) pageOfHistory(f device.Frame) error {
	c.history = ""
	if f.Type == "error" {
		c.say("the history could not be loaded")
		return c.begin()
	}
	err := with(f, func(p wire.History) {
		if p.HasMore && len(p.Messages) > 0 {
			c.view.line(c.view.style.Dim("  …"))
		}
		for _, m := range p.Messages {
			c.view.message(m)
		}
	})
	if err != nil {
		return err
	}
	return c.begin()
}

// ownLine is what the growing line belongs to while it is an own message.
const ownLine = "own"

func (c *chat) received(messageID string) {
	text, own := c.unread[messageID]
	if !own {
		return
	}
	delete(c.unread, messageID)
	v := c.view
	mark := v.style.Dim(" " + markRead)
	column := utf8.RuneCountInString(markUser+text) + 1
	switch {
	case v.open && v.last == ownLine:
		v.grow(mark)
		v.fresh()
	case c.typed == text && v.live && v.style.Colour && simple(text) && column+3 < v.width():
		v.above(column, mark)
	case c.typed == text: // it stands right above
		v.line(v.style.Dim("  " + markRead))
	default: // something else stands below it: say which one it was
		v.line(v.style.Dim(markRead + " " + cut(terminal.CleanLine(text), min(60, v.columns()-4))))
	}
	c.typed = ""
}

func (c *chat) hint() {
	v := c.view
	dim := v.style.Dim
	switch tool := v.toolHint(); {
	case !c.opts.Live:
	case !c.online || !c.ready:
		v.show("connecting …", dim)
	case tool != "":
		v.show(tool, dim)
	case c.asks():
		v.show(markAsk, v.style.Accent)
	case v.busy:
		v.show("… thinking", dim)
	case len(c.waiting) > 0:
		v.show("✓ …", dim)
	case c.opts.Interactive && c.lines != nil:
		v.show(markUser, v.style.Accent)
	default:
		v.clear()
	}
}

// asks reports whether the agent waits for what is typed next.
func (c *chat) asks() bool {
	_, open := c.view.question()
	return open && c.opts.Interactive && c.lines != nil && len(c.due) == 0
}
