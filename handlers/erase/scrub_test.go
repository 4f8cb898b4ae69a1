package erase_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"iris-gateway/handlers/erase"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// TestScrub: what is left in the log of each frame and each item for the host, when
// a message is deleted, and when its channel is: as much as everybody still needs.
func TestScrub(t *testing.T) {
	t.Parallel()
	c, th, other := iris.Lane{ChatID: "c"}, iris.Lane{ChatID: "c", ThreadID: "t"}, iris.Lane{ChatID: "o"}
	gone := map[string]iris.Deletion{
		"message": {ID: "del_1", Lane: c, Messages: []string{"m1"}, Names: []string{erase.HashName(secret)}, Media: []string{"md1"}},
		"channel": {ID: "del_1", Lane: c, Threads: []string{"t"}, Names: []string{erase.HashName(secret)}},
	}
	frame := wire.Encode
	item := func(kind string, l iris.Lane, body any) string {
		return link.EncodeItem(link.Item{Kind: kind, ChatID: l.ChatID, ThreadID: l.ThreadID, Body: body})
	}
	blank := func(l iris.Lane) string { return item(link.InboundDeleted, l, struct{}{}) }
	list := func(names ...string) wire.ChannelList {
		p := wire.ChannelList{Channels: []wire.Channel{}}
		for i, name := range names {
			p.Channels = append(p.Channels, wire.Channel{ChatID: []string{"o", "c"}[i], Name: name, Kind: iris.KindChannel})
		}
		return p
	}
	quoting := func(text, id, chat string) link.Message {
		return link.Message{MessageID: "m9", Text: "what?", ReplyTo: &link.ReplyTo{MessageID: id, Text: text, ChatID: chat}}
	}
	cron := func(id, body string) string {
		return frame(other, wire.Message{MessageID: id, Role: iris.RoleCron, Text: body}) + "\n" + frame(other, wire.Notification{Kind: "cron", Body: body})
	}
	thread := func(name string) link.Message {
		return link.Message{MessageID: "m7", Text: "x", Channel: link.Channel{Name: "o", ThreadName: name}}
	}
	elsewhere := iris.Lane{ChatID: "o", ThreadID: "t2"}
	type left struct {
		name, before     string // lines: an entry may hold several
		message, channel string // what is left when the message goes, and when the channel does; "" for nothing
	}
	same := func(name, s string) left { return left{name, s, s, s} }
	said := frame(c, wire.Message{MessageID: "m2", Role: iris.RoleUser, Text: "another"})
	frames := []left{
		{"the message", frame(c, wire.Message{MessageID: "m1", Role: iris.RoleUser, Text: secret}), "", ""},
		{"another message", said, said, ""},
		{"its end", frame(c, wire.MessageStop{MessageID: "m1", FinalText: secret}), "", ""},
		{"a beat", frame(c, wire.Commentary{MessageID: "m1", Text: secret}), "", ""},
		{"its file", frame(c, wire.MediaOffer{MediaID: "md1", Filename: secret}), "", ""},
		{"in a thread", frame(th, wire.Message{MessageID: "m3", Text: "x"}), frame(th, wire.Message{MessageID: "m3", Text: "x"}), ""},
		same("elsewhere", frame(other, wire.Message{MessageID: "m4", Text: "x"})),
		same("that a message was deleted", frame(c, wire.MessageDeleted{MessageIDs: []string{"m0"}})),
		same("that a channel was deleted", frame(c, wire.ChannelDeleted{ChatID: "c", ThreadIDs: []string{}})),
		{"a name", frame(c, wire.ChannelRenamed{ChatID: "c", Name: secret}), frame(c, wire.ChannelRenamed{ChatID: "c", Name: erase.Unnamed}), ""},
		{"the directory", frame(iris.Lane{}, list("o", secret)), frame(iris.Lane{}, list("o", erase.Unnamed)), frame(iris.Lane{}, list("o"))},
		{"a directory without it", frame(iris.Lane{}, list("o")), frame(iris.Lane{}, list("o")), frame(iris.Lane{}, list("o"))},
		{"a new channel", frame(c, wire.ChannelCreated{ChatID: "c", Name: secret}), frame(c, wire.ChannelCreated{ChatID: "c", Name: erase.Unnamed}), ""},
		same("another name", frame(other, wire.ChannelRenamed{ChatID: "o", Name: "o"})),
		same("another new channel", frame(other, wire.ChannelCreated{ChatID: "o", Name: "o"})),
		{"a report", cron("m1", secret), "", cron("m1", secret)},
		same("another report", cron("m5", "x")),
		same("a notice", frame(other, wire.Notification{Kind: "generic", Body: "x"})),
		same("what is no frame", "?"),
	}
	inbound := []left{
		{"the message", item(link.InboundMessage, c, link.Message{MessageID: "m1", Text: secret}), blank(c), blank(c)},
		{"another message", item(link.InboundMessage, c, link.Message{MessageID: "m2"}), item(link.InboundMessage, c, link.Message{MessageID: "m2"}), blank(c)},
		{"a steer", item(link.InboundSteer, c, link.Steer{MessageID: "m1", Text: secret}), blank(c), blank(c)},
		same("a steer elsewhere", item(link.InboundSteer, other, link.Steer{MessageID: "m8", Text: "x", ExpiresAt: 7})),
		{"a stop", item(link.InboundStop, c, struct{}{}), item(link.InboundStop, c, struct{}{}), blank(c)},
		same("a stop elsewhere", item(link.InboundStop, other, struct{}{})),
		same("a deletion", item(link.InboundDelete, c, map[string]any{"messages": []string{"m0"}})),
		same("a channel's deletion", item(link.InboundLaneDelete, c, struct{}{})),
		same("what was deleted", blank(c)),
		{"a quote", item(link.InboundMessage, other, quoting(secret, "m1", "c")), item(link.InboundMessage, other, quoting("", "m1", "c")), item(link.InboundMessage, other, quoting("", "m1", "c"))},
		{"a quote of another", item(link.InboundMessage, other, quoting("x", "m2", "c")), item(link.InboundMessage, other, quoting("x", "m2", "c")), item(link.InboundMessage, other, quoting("", "m2", "c"))},
		{"a thread's name", item(link.InboundMessage, elsewhere, thread(secret)), item(link.InboundMessage, elsewhere, thread(erase.Unnamed)), item(link.InboundMessage, elsewhere, thread(erase.Unnamed))},
		same("another thread's name", item(link.InboundMessage, elsewhere, thread("t2"))),
		same("a quote from elsewhere", item(link.InboundMessage, other, quoting("x", "m4", "o"))),
		same("what is no item", "?"),
	}
	for what, d := range gone {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				want := func(l left) string {
					if what == "message" {
						return l.message
					}
					return l.channel
				}
				var all []iris.Entry // one for each frame, one for each item
				for _, f := range frames {
					all = append(all, iris.Entry{Frames: strings.Split(f.before, "\n")})
				}
				for _, in := range inbound {
					all = append(all, iris.Entry{Inbound: []string{in.before}})
				}
				for i, e := range all {
					e.Cursor, e.First, e.Writer, e.Messages, e.Lanes = int64(2+i), 1, "w", []string{"m1"}, []iris.Lane{c, th, {}}
					if err := s.Append(t.Context(), gateway, iris.Commit{Entry: e}); err != nil {
						t.Fatal(err)
					}
				}
				begun := iris.Commit{
					Entry:   iris.Entry{Cursor: int64(2 + len(all)), First: 1, Writer: "w", Control: []iris.Control{{Kind: iris.DeletionBegun, Deletion: &d}}},
					Changes: []iris.Change{iris.BeginDeletion{Deletion: d}},
				}
				if err := s.Append(t.Context(), gateway, begun); err != nil {
					t.Fatal(err)
				}
				defer open(t, s, s).close()
				synctest.Wait()
				check := func(l left, i int, of func(iris.Entry) []string) {
					e, _, err := s.Entry(t.Context(), gateway, int64(2+i))
					wanted := slices.DeleteFunc(strings.Split(want(l), "\n"), func(s string) bool { return s == "" })
					if got := of(e); err != nil || fmt.Sprint(got) != fmt.Sprint(wanted) {
						t.Errorf("%s: left is %v, %v; want %v", l.name, got, err, wanted)
					}
				}
				for i, f := range frames {
					check(f, i, func(e iris.Entry) []string { return e.Frames })
				}
				for i, in := range inbound {
					check(in, len(frames)+i, func(e iris.Entry) []string { return e.Inbound })
				}
			})
		})
	}
}
