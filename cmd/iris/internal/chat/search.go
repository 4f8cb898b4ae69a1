package chat

import (
	"time"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// search looks for messages in all channels; without a text it goes on with
// what was looked for last.
func (c *chat) search(text string) {
	switch {
	case text != "":
		c.searched = wire.SearchRequest{Query: text, Scope: wire.ScopeAll}
	case c.searched.Next == "":
		c.say("/search WORDS: looks for messages that have all of them")
		return
	}
	c.request(request{kind: wire.TypeSearch}, c.searched)
}

// results shows what was found, newest first.
func (c *chat) results(f device.Frame) error {
	return with(f, func(p wire.SearchResults) {
		c.searched.Next = p.Next
		for _, h := range p.Hits {
			where := c.view.name(iris.Lane{ChatID: h.ChatID, ThreadID: h.ThreadID})
			mark := time.UnixMilli(h.TS).Format("2006-01-02 15:04") + " [" + where + "] " + string(h.Role) + ": "
			c.view.block(mark, terminal.CleanLine(h.Snippet), c.view.style.Dim, plain)
		}
		switch {
		case p.HasMore:
			c.say("there is more: /search")
		case len(p.Hits) == 0:
			c.say("nothing found")
		}
	})
}
