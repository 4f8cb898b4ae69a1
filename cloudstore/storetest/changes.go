package storetest

import (
	"time"

	"iris-gateway/iris"
)

// change appends the next entry with these changes.
func (f *fixture) change(changes ...iris.Change) error {
	f.Helper()
	head, err := f.Head(f.ctx, f.g)
	noError(f.T, err)
	c := entry(head.Cursor+1, "w")
	c.Changes = changes
	return f.Append(f.ctx, f.g, c)
}

func fullMessage() iris.Message {
	return iris.Message{
		ID: "m_1", Lane: iris.Lane{ChatID: "android:default", ThreadID: "t_1"}, Role: iris.RoleAssistant,
		Commentary: true, Text: "hello\n🐢", Reasoning: "because", ReplyTo: "m_0", Model: "a/b", Tokens: 77,
		Media: []iris.Media{
			{ID: "md_1", Kind: "image", MIME: "image/png", Size: 5, SHA256: "ab", Filename: "b🐢.png", Created: time.Unix(5, 0).UTC()},
			{ID: "md_2", Kind: "document", Size: 1 << 40},
		},
		Runtime: &iris.Runtime{Model: "m", ContextPct: 5, Cwd: "/tmp", Latency: 1.25, Cost: 0.003},
		At:      time.Date(2026, 5, 6, 7, 8, 9, 123_456_789, time.FixedZone("", 3600)),
	}
}

// sameMessage compares messages, what Runtime points to included.
func sameMessage(f *fixture, what string, got, want iris.Message) {
	f.Helper()
	if got.Runtime != nil && want.Runtime != nil {
		equal(f, what+": runtime", *got.Runtime, *want.Runtime)
		got.Runtime, want.Runtime = nil, nil
	}
	equal(f, what, got, want)
}

// "Its row is written with Create in the same batch: the database, not a
// look-up, makes it land once."
func testCreateMessage(f *fixture) {
	f.append(1, 4, "w")
	want := fullMessage()
	want.Cursor = 99 // not the caller's to say
	noError(f.T, f.change(iris.CreateMessage{Message: want}))
	got, err := f.Message(f.ctx, f.g, "m_1")
	noError(f.T, err)
	want.Cursor, want.At = 5, stored(want.At)
	sameMessage(f, "message", got, want)

	again := want
	again.Text = "again"
	outcome(f, f.change(iris.CreateMessage{Message: again}), iris.ErrRefused)
	got, err = f.Message(f.ctx, f.g, "m_1")
	noError(f.T, err)
	sameMessage(f, "message", got, want)
	equal(f, "log", f.cursors(), seq(1, 5))

	// Twice in one commit is no conflict but a mistake of its sender, who must
	// take the group apart: the row it would wait for will not be there.
	other := iris.CreateMessage{Message: iris.Message{ID: "m_2"}}
	outcome(f, f.change(other, other), iris.ErrRejected)
	outcome(f, f.change(iris.PutMessage(other), other), iris.ErrRejected)
	_, err = f.Message(f.ctx, f.g, "m_2")
	code(f, err, iris.CodeNotFound)
}

func testPutMessage(f *fixture) {
	m := fullMessage()
	noError(f.T, f.change(iris.PutMessage{Message: m}))
	// A tombstone replaces all: nothing of the text may stay.
	tomb := iris.Message{ID: m.ID, Lane: m.Lane, Deleted: true, At: m.At}
	noError(f.T, f.change(iris.PutMessage{Message: tomb}))
	got, err := f.Message(f.ctx, f.g, m.ID)
	noError(f.T, err)
	tomb.At, tomb.Cursor = stored(tomb.At), 2
	equal(f, "tombstone", got, tomb)
	// The id stays taken.
	outcome(f, f.change(iris.CreateMessage{Message: m}), iris.ErrRefused)
}

func testChannels(f *fixture) {
	f.gateway()
	def := iris.Channel{Lane: iris.Lane{ChatID: iris.DefaultChat}, Name: "Default", Kind: iris.KindChannel}
	thread := iris.Channel{
		Lane: iris.Lane{ChatID: iris.DefaultChat, ThreadID: "t_1"}, Name: "Näme", Kind: iris.KindThread,
		Auto: true, ReadMessageID: "m_1", Busy: "turn_0",
	}
	// "a" + NUL + "b" and "a" NUL "b": lanes that a careless key would mix up.
	odd := iris.Channel{Lane: iris.Lane{ChatID: "a", ThreadID: "b"}, Name: "odd", Kind: iris.KindThread}
	noError(f.T, f.change(iris.PutChannel{Channel: thread}, iris.PutChannel{Channel: odd}))
	f.channels(odd, def, thread)

	noError(f.T, f.change(iris.SetBusy{Lane: def.Lane, Turn: "turn_1"}, iris.SetBusy{Lane: thread.Lane}))
	def.Busy, thread.Busy = "turn_1", ""
	f.channels(odd, def, thread)

	outcome(f, f.change(iris.SetBusy{Lane: iris.Lane{ChatID: "gone"}, Turn: "x"}), iris.ErrRefused)
	f.channels(odd, def, thread)

	// Replacing leaves nothing of the old row.
	thread = iris.Channel{Lane: thread.Lane, Name: "renamed", Kind: iris.KindThread}
	noError(f.T, f.change(iris.PutChannel{Channel: thread}))
	f.channels(odd, def, thread)
}

func (f *fixture) channels(want ...iris.Channel) {
	f.Helper()
	got, err := f.Channels(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "channels", got, want)
}

func testDeviceLink(f *fixture) {
	f.gateway()
	noError(f.T, f.BindToken(f.ctx, f.pair(), iris.Device{ID: "d1", Name: "Pixel", Cursor: 7, FCMToken: "fcm"}))
	now := time.Now()
	link := iris.Link{ID: "l1", Instance: "i1", At: now}
	noError(f.T, f.change(iris.SetDeviceLink{Device: "d1", Link: link, Seen: now}))
	got, err := f.Device(f.ctx, f.g, "d1")
	noError(f.T, err)
	link.At = stored(link.At)
	want := iris.Device{ID: "d1", Name: "Pixel", Token: got.Token, Cursor: 7, FCMToken: "fcm", Link: link, Seen: stored(now)}
	equal(f, "device", got, want)

	noError(f.T, f.change(iris.SetDeviceLink{Device: "d1", Name: "Pixel 9", Seen: now}))
	got, err = f.Device(f.ctx, f.g, "d1")
	noError(f.T, err)
	want.Link, want.Name = iris.Link{}, "Pixel 9"
	equal(f, "device", got, want)
	if got.Link.Alive(now) {
		f.Fatal("the zero link is alive")
	}
	outcome(f, f.change(iris.SetDeviceLink{Device: "d2", Link: link}), iris.ErrRefused)
	_, err = f.Device(f.ctx, f.g, "d2")
	code(f, err, iris.CodeNotFound)
}

func testHost(f *fixture) {
	// A gateway that is gone takes nothing.
	outcome(f, f.change(iris.SetHost{Host: iris.Host{Version: "1"}}), iris.ErrRefused)
	outcome(f, f.change(iris.SetHostLink{Link: iris.Link{ID: "l"}}), iris.ErrRefused)
	_, err := f.Gateway(f.ctx, f.g)
	code(f, err, iris.CodeNotFound)

	want, _ := f.gateway()
	want.Created = stored(want.Created)
	now := time.Now()
	host := iris.Host{
		Link: iris.Link{ID: "l1", Instance: "i1", At: now}, Version: "0.19.0", Model: "p/m",
		Commands: []byte(`[{"name":"/new"}]`), Seen: now,
	}
	noError(f.T, f.change(iris.SetHost{Host: host}))
	host.Link.At, host.Seen = stored(now), stored(now)
	want.Host = host
	got, err := f.Gateway(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "after SetHost", got, want)

	later := now.Add(time.Minute)
	noError(f.T, f.change(iris.SetHostLink{Seen: later})) // detached
	want.Host.Link, want.Host.Seen = iris.Link{}, stored(later)
	got, err = f.Gateway(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "after SetHostLink", got, want)

	noError(f.T, f.change(iris.SetHost{Host: iris.Host{Version: "2"}}))
	want.Host = iris.Host{Version: "2"}
	got, err = f.Gateway(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "after another SetHost", got, want)
}

// Group commit puts what belongs to several requests into one batch: later
// changes see earlier ones.
func testTwoChangesOfOneRow(f *fixture) {
	f.gateway()
	lane := iris.Lane{ChatID: "c"}
	noError(f.T, f.change(
		iris.PutChannel{Channel: iris.Channel{Lane: lane, Name: "C", Kind: iris.KindChannel}},
		iris.SetBusy{Lane: lane, Turn: "t1"},
		iris.SetBusy{Lane: lane, Turn: "t2"},
		iris.CreateMessage{Message: iris.Message{ID: "m", Lane: lane, Text: "one"}},
		iris.PutMessage{Message: iris.Message{ID: "m", Lane: lane, Text: "two"}},
		iris.SetHost{Host: iris.Host{Version: "1"}},
		iris.SetHostLink{Link: iris.Link{ID: "l"}},
	))
	channels, err := f.Channels(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "busy", channels[1].Busy, "t2")
	m, err := f.Message(f.ctx, f.g, "m")
	noError(f.T, err)
	equal(f, "text", m.Text, "two")
	gw, err := f.Gateway(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "host", gw.Host.Version+gw.Host.Link.ID, "1l")
}
