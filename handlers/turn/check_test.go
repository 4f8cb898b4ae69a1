package turn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"iris-gateway/handlers/turn"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// check walks the frames that devices got and returns what is wrong with them:
// the rules of issue "Everything hermes says", that hold for every sequence.
func check(frames []turn.Frame) (faults []string) {
	c := checker{
		open: map[string]iris.Lane{}, over: map[string]bool{}, text: map[string]string{},
		reason: map[iris.Lane]string{}, asked: map[string]iris.Lane{}, closed: map[string]bool{},
		busy: map[iris.Lane]bool{}, tools: map[iris.Lane]map[int]bool{}, index: map[iris.Lane]int{},
	}
	for _, f := range frames {
		c.frame(f)
	}
	for id := range c.open {
		c.fault("%s was started and never stopped", id)
	}
	for lane, tools := range c.tools {
		for i := range tools {
			c.fault("tool %d of %v never ended", i, lane)
		}
	}
	if len(c.offers) > 0 {
		c.fault("offered, but in no message: %v", c.offers)
	}
	for lane, reason := range c.reason {
		c.fault("%v stays busy: %s", lane, reason)
	}
	return c.faults
}

type checker struct {
	open   map[string]iris.Lane // messages that were started
	over   map[string]bool      // messages that were stopped
	text   map[string]string    // their last update
	busy   map[iris.Lane]bool
	reason map[iris.Lane]string       // of the last agent.busy, until agent.idle
	asked  map[string]iris.Lane       // pickers that are open
	closed map[string]bool            // pickers that were closed
	tools  map[iris.Lane]map[int]bool // open tools
	index  map[iris.Lane]int          // highest index of the busy time
	offers []wire.Media               // that no message contains yet
	faults []string
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *checker) frame(f turn.Frame) {
	durable := false
	switch p := f.Payload.(type) {
	case nil: // the device connected anew
		c.text = map[string]string{}
	case wire.AgentBusy:
		durable = f.Durable // a snapshot repeats it
		c.busy[f.Lane], c.reason[f.Lane] = true, p.Reason
	case wire.AgentIdle:
		durable = true
		c.idle(f.Lane)
	case wire.MessageStart:
		c.inTurn(f.Lane, "message.start of "+p.MessageID)
		if c.over[p.MessageID] {
			c.fault("%s starts after its end", p.MessageID)
		}
		c.open[p.MessageID] = f.Lane
	case wire.MessageUpdate:
		c.update(f, p)
	case wire.MessageStop:
		durable = true
		c.inTurn(f.Lane, "message.stop of "+p.MessageID)
		c.stop(f, p.MessageID, p.FinalText)
	case wire.Message:
		durable = true
		if _, open := c.open[p.MessageID]; open {
			c.fault("message of %s, which is open", p.MessageID)
		}
		c.stop(f, p.MessageID, p.Text)
		c.contain(p, f)
	case wire.MediaOffer:
		durable = true
		c.offers = append(c.offers, wire.Media(p))
	case wire.Commentary:
		durable = true
		c.stop(f, p.MessageID, p.Text)
	case wire.ToolStart:
		durable = f.Durable
		c.toolStart(f, p.Index)
	case wire.ToolEnd:
		durable = true
		c.inTurn(f.Lane, "tool.end")
		if !c.tools[f.Lane][p.Index] {
			c.fault("tool %d of %v ends without a start in front of it", p.Index, f.Lane)
		}
		delete(c.tools[f.Lane], p.Index)
	case wire.Notification, wire.MessageDeleted:
		durable = true
	case wire.PickerApproval, wire.PickerClarify, wire.PickerConfirm, wire.PickerChoice, wire.PickerModel:
		durable = true
		c.ask(f)
	case wire.PickerClosed:
		durable = true
		c.closePicker(f.Lane, p.PickerID)
	}
	if f.Durable != durable {
		c.fault("%s durable: %v", f.Payload.FrameType(), f.Durable)
	}
}

// contain holds that a message contains exactly what was offered before it, and
// its row too.
func (c *checker) contain(p wire.Message, f turn.Frame) {
	if !slices.Equal(p.Media, c.offers) {
		c.fault("%s contains %v, offered were %v", p.MessageID, p.Media, c.offers)
	}
	c.offers = nil
	if len(f.Changes) != 1 {
		return // a fault already
	}
	row, _ := f.Changes[0].(iris.PutMessage)
	same := func(m iris.Media, w wire.Media) bool {
		return wire.Media{MediaID: m.ID, Kind: m.Kind, Mime: m.MIME, Size: m.Size, Filename: m.Filename} == w
	}
	if !slices.EqualFunc(row.Message.Media, p.Media, same) {
		c.fault("%s contains %v, its row %v", p.MessageID, p.Media, row.Message.Media)
	}
}

func (c *checker) inTurn(lane iris.Lane, what string) {
	if !c.busy[lane] {
		c.fault("%s while %v is idle", what, lane)
	}
}

func (c *checker) idle(lane iris.Lane) {
	c.inTurn(lane, "agent.idle")
	c.busy[lane], c.index[lane] = false, 0
	delete(c.reason, lane)
	for id, l := range c.open {
		if l == lane {
			c.fault("%s is open when %v gets idle", id, lane)
		}
	}
	for i := range c.tools[lane] {
		c.fault("tool %d is open when %v gets idle", i, lane)
	}
}

// ask takes a picker, which is asked once.
func (c *checker) ask(f turn.Frame) {
	id := pickerID(f.Payload)
	if _, open := c.asked[id]; open || c.closed[id] {
		c.fault("%s is asked twice", id)
	}
	c.asked[id] = f.Lane
}

// pickerID returns the id of a picker's frame.
func pickerID(p wire.Payload) string {
	var b struct {
		ID string `json:"picker_id"`
	}
	if data, err := json.Marshal(p); err != nil || json.Unmarshal(data, &b) != nil {
		panic(err)
	}
	return b.ID
}

// closePicker takes the end of a picker: each has one at most.
func (c *checker) closePicker(lane iris.Lane, id string) {
	if asked, open := c.asked[id]; !open || asked != lane {
		c.fault("%s is closed in %v, but not open there", id, lane)
	}
	delete(c.asked, id)
	c.closed[id] = true
}

func (c *checker) update(f turn.Frame, p wire.MessageUpdate) {
	if _, open := c.open[p.MessageID]; !open {
		c.fault("update of %s, which is not open", p.MessageID)
	}
	old := c.text[p.MessageID]
	if strings.HasPrefix(old, p.Text) && len(p.Text) < len(old) {
		c.fault("%s shrinks from %q to %q", p.MessageID, old, p.Text)
	}
	c.text[p.MessageID] = p.Text
	c.clean(p.MessageID, p.Text)
}

func (c *checker) stop(f turn.Frame, id, text string) {
	if c.over[id] {
		c.fault("%s ends twice", id)
	}
	c.over[id] = true
	delete(c.open, id)
	c.clean(id, text)
	if len(f.Changes) != 1 || len(f.Messages) != 1 || f.Messages[0] != id {
		c.fault("%s ends with changes %v, messages %v", id, f.Changes, f.Messages)
		return
	}
	put, ok := f.Changes[0].(iris.PutMessage)
	if !ok || put.Message.ID != id || put.Message.Text != text || put.Message.Lane != f.Lane || put.Message.At.UnixMilli() <= 0 {
		c.fault("%s: row %+v does not fit the frame", id, f.Changes[0])
	}
}

func (c *checker) clean(id, text string) {
	if strings.Contains(text, "▉") || strings.HasPrefix(text, "\n") {
		c.fault("%s is not clean: %q", id, text)
	}
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if !fenced && strings.HasPrefix(line, "MEDIA:/") {
			c.fault("%s has a media line: %q", id, text)
		}
	}
}

// toolStart counts the indices of the durable frames: after a restart a live
// one may run ahead of those that the host repeats.
func (c *checker) toolStart(f turn.Frame, index int) {
	c.inTurn(f.Lane, "tool.start")
	if c.tools[f.Lane] == nil {
		c.tools[f.Lane] = map[int]bool{}
	}
	c.tools[f.Lane][index] = true
	if !f.Durable {
		return
	}
	if index != c.index[f.Lane]+1 {
		c.fault("tool %d of %v ends after tool %d", index, f.Lane, c.index[f.Lane])
	}
	c.index[f.Lane] = index
}
