package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// deletes is how many messages one command deletes at most.
const deletes = 200

// delete deletes the newest messages of what is shown, one or as many as are
// asked for; or all of it, if its name is given.
func (c *chat) delete(what string) {
	name, whole := strings.CutPrefix(what, "all ")
	n, err := strconv.Atoi(what)
	switch lane := c.view.lane; {
	case whole && strings.TrimSpace(name) == c.view.name(lane):
		c.request(request{kind: wire.TypeChannelDelete}, wire.ChannelDelete{})
		return
	case what == "":
		n = 1
	case err != nil || n < 1 || n > deletes:
		c.say(fmt.Sprintf("/delete deletes the newest message, /delete NUMBER so many, 1 to %d; /delete all %s deletes this chat for good",
			deletes, c.view.name(lane)))
		return
	}
	ids := c.view.said[c.view.lane]
	if ids = ids[max(0, len(ids)-n):]; len(ids) == 0 {
		c.say("there is no message here: those that were shown can be deleted")
		return
	}
	c.request(request{kind: wire.TypeMessageDelete}, wire.MessageDelete{MessageIDs: ids})
}

// finish remembers a message that is whole: it is not shown again, and can be
// deleted.
func (v *view) finish(lane iris.Lane, id string) {
	v.done[id] = true
	v.said[lane] = append(v.said[lane], id)
}

// deleted follows what was deleted. What stands on the screen stays there.
func (v *view) deleted(f device.Frame) error {
	return with(f, func(p wire.MessageDeleted) {
		gone := func(id string) bool { return slices.Contains(p.MessageIDs, id) }
		n := len(v.said[f.Lane])
		v.said[f.Lane] = slices.DeleteFunc(v.said[f.Lane], gone)
		if n -= len(v.said[f.Lane]); n == 1 {
			v.line(v.style.Dim("  (a message above was deleted)"))
		} else if n > 1 {
			v.line(v.style.Dim(fmt.Sprintf("  (%d messages above were deleted)", n)))
		}
	})
}

// removed follows that a channel or thread is gone.
func (v *view) removed(p wire.ChannelDeleted) {
	for lane := range v.names {
		if lane.ChatID != p.ChatID || p.ThreadID != "" && lane.ThreadID != p.ThreadID {
			continue
		}
		if lane == v.lane {
			v.line(v.style.Dim("  (" + v.name(lane) + " was deleted)"))
			v.enter(iris.Lane{ChatID: v.home(p)})
		}
		delete(v.said, lane)
	}
	for lane := range v.names {
		if lane.ChatID == p.ChatID && (p.ThreadID == "" || lane.ThreadID == p.ThreadID) {
			delete(v.names, lane)
		}
	}
}

// home is where to go when what is shown is gone: to the thread's channel, or to
// the default one, which cannot be deleted.
func (v *view) home(gone wire.ChannelDeleted) string {
	if gone.ThreadID != "" {
		return gone.ChatID
	}
	return v.standard
}
