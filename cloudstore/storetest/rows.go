package storetest

import (
	"fmt"
	"strings"
	"time"

	"iris-gateway/iris"
)

func testGateways(f *fixture) {
	_, err := f.Gateway(f.ctx, f.g)
	code(f, err, iris.CodeNotFound)
	gw, host := f.gateway()
	gw.Created, host.Created = stored(gw.Created), stored(host.Created)
	got, err := f.Gateway(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "gateway", got, gw)
	token, err := f.Token(f.ctx, host.Hash)
	noError(f.T, err)
	equal(f, "host token", token, host)
	f.channels(iris.Channel{Lane: iris.Lane{ChatID: iris.DefaultChat}, Name: "Default", Kind: iris.KindChannel})

	older := iris.Gateway{ID: iris.NewID("g_"), Name: "Older", DefaultChat: iris.DefaultChat, Created: gw.Created.Add(-time.Hour)}
	noError(f.T, f.CreateGateway(f.ctx, older, iris.Token{Hash: iris.HashToken("x" + older.ID), Kind: iris.TokenHost, Gateway: older.ID}))
	all, err := f.Gateways(f.ctx)
	noError(f.T, err)
	equal(f, "all", all, []iris.Gateway{older, gw})
	// A log without a row is no gateway.
	noError(f.T, f.Append(f.ctx, "g_none", entry(1, "w")))
	all, err = f.Gateways(f.ctx)
	noError(f.T, err)
	equal(f, "all", len(all), 2)
}

func testGatewayConflict(f *fixture) {
	gw, host := f.gateway()
	fresh := iris.Token{Hash: iris.HashToken(iris.NewToken()), Kind: iris.TokenHost, Gateway: f.g}
	code(f, f.CreateGateway(f.ctx, gw, fresh), iris.CodeConflict)
	_, err := f.Token(f.ctx, fresh.Hash)
	code(f, err, iris.CodeAuth)
	other := gw
	other.ID = iris.NewID("g_")
	code(f, f.CreateGateway(f.ctx, other, host), iris.CodeConflict)
	_, err = f.Gateway(f.ctx, other.ID)
	code(f, err, iris.CodeNotFound)
	channels, err := f.Channels(f.ctx, other.ID)
	noError(f.T, err)
	equal(f, "channels", len(channels), 0)
}

// page is a page of history as ids.
func (f *fixture) page(lane iris.Lane, before *iris.Message, limit int) (ids string, first *iris.Message) {
	f.Helper()
	msgs, more, err := f.History(f.ctx, f.g, lane, before, limit)
	noError(f.T, err)
	var out []string
	for _, m := range msgs {
		out = append(out, m.ID)
	}
	if len(msgs) > 0 {
		first = &msgs[0]
	}
	return fmt.Sprint(strings.Join(out, " "), " ", more), first
}

func testHistory(f *fixture) {
	lane := iris.Lane{ChatID: "c"}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var changes []iris.Change
	put := func(id string, lane iris.Lane, minute int, deleted bool) {
		changes = append(changes, iris.PutMessage{Message: iris.Message{
			ID: id, Lane: lane, Role: iris.RoleUser, At: at.Add(time.Duration(minute) * time.Minute), Deleted: deleted,
		}})
	}
	put("e", lane, 5, false)
	put("a", lane, 1, false)
	put("x", lane, 2, true)
	put("b", lane, 2, false)
	put("d", lane, 4, false)
	put("c", lane, 3, false)
	put("y", lane, 6, true)
	put("t", iris.Lane{ChatID: "c", ThreadID: "t"}, 3, false)
	put("o", iris.Lane{ChatID: "other"}, 3, false)
	noError(f.T, f.change(changes...))

	page, first := f.page(lane, nil, 2)
	equal(f, "newest", page, "d e true")
	page, first = f.page(lane, first, 2)
	equal(f, "before d", page, "b c true")
	page, first = f.page(lane, first, 2)
	equal(f, "before b", page, "a false")
	page, _ = f.page(lane, first, 2)
	equal(f, "before a", page, " false")
	page, _ = f.page(lane, nil, 5)
	equal(f, "exactly all", page, "a b c d e false")
	page, _ = f.page(lane, nil, 0)
	equal(f, "none", page, " false")
	page, _ = f.page(iris.Lane{ChatID: "c", ThreadID: "t"}, nil, 5)
	equal(f, "thread", page, "t false")
	// What it is asked for before need not be there any more.
	gone := iris.Message{ID: "zz", At: at.Add(3 * time.Minute)}
	page, _ = f.page(lane, &gone, 5)
	equal(f, "before a message that is gone", page, "a b c false")
	m, _ := f.page(lane, nil, 1)
	equal(f, "one", m, "e true")
}

// Messages that began in the same microsecond are sorted by id; a page may end
// between them, and nothing is shown twice or never.
func testHistoryEqualTimes(f *fixture) {
	lane := iris.Lane{ChatID: "c"}
	var changes []iris.Change
	var want []string
	for i := range 10 {
		id := fmt.Sprintf("m%d", (i*7)%10)
		at := time.Date(2026, 1, 1, 0, 0, 0, 5_000+i, time.UTC) // same microsecond
		changes = append(changes, iris.CreateMessage{Message: iris.Message{ID: id, Lane: lane, At: at}})
		want = append(want, fmt.Sprintf("m%d", i))
	}
	zero := iris.Message{ID: "zero", Lane: lane} // a time that was never set is the oldest
	changes = append(changes, iris.CreateMessage{Message: zero})
	noError(f.T, f.change(changes...))
	var got []string
	var before *iris.Message
	for more := true; more; {
		var msgs []iris.Message
		var err error
		msgs, more, err = f.History(f.ctx, f.g, lane, before, 3)
		noError(f.T, err)
		var ids []string
		for _, m := range msgs {
			ids = append(ids, m.ID)
		}
		got = append(ids, got...)
		before = &msgs[0]
	}
	equal(f, "pages together", got, append([]string{"zero"}, want...))
	if !before.At.IsZero() {
		f.Fatalf("a zero time came back as %v", before.At)
	}
}

// Every id that comes from outside is opaque: "__x__" is refused by Firestore
// as a document id, and "a/b" is a path.
func testOddIDs(f *fixture) {
	ids := []string{
		"__x__", "__", "a/b", "/", "a//b", ".", "..", "🐢", "é", "e\u0301", " ", "\x00", "%2F", "a", "A",
		strings.Repeat("k", 1024), strings.Repeat("k", 1023) + "l",
	}
	for _, id := range ids {
		f.g = id
		gw, _ := f.gateway()
		got, err := f.Gateway(f.ctx, id)
		noError(f.T, err)
		equal(f, "gateway id", got.ID, gw.ID)
		noError(f.T, f.BindToken(f.ctx, f.pair(), iris.Device{ID: id}))
	}
	f.g = "g"
	var changes []iris.Change
	f.gateway()
	for _, id := range ids {
		lane := iris.Lane{ChatID: id, ThreadID: id}
		changes = append(changes,
			iris.CreateMessage{Message: iris.Message{ID: id, Lane: lane, Text: id}},
			iris.PutChannel{Channel: iris.Channel{Lane: lane, Name: id, Kind: iris.KindThread}},
			iris.SetBusy{Lane: lane, Turn: id})
		noError(f.T, f.BindToken(f.ctx, f.pair(), iris.Device{ID: id, Name: id}))
		changes = append(changes, iris.SetDeviceLink{Device: id, Link: iris.Link{ID: id}})
	}
	noError(f.T, f.change(changes...))
	for _, id := range ids {
		m, err := f.Message(f.ctx, f.g, id)
		noError(f.T, err)
		equal(f, "message", m.ID+m.Text, id+id)
		msgs, more, err := f.History(f.ctx, f.g, iris.Lane{ChatID: id, ThreadID: id}, nil, 5)
		noError(f.T, err)
		equal(f, "history", fmt.Sprint(len(msgs), more), "1 false")
		d, err := f.Device(f.ctx, f.g, id)
		noError(f.T, err)
		equal(f, "device", d.ID+d.Name+d.Link.ID, id+id+id)
		noError(f.T, f.SetDeviceCursor(f.ctx, f.g, id, 5))
	}
	channels, err := f.Channels(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "channels", len(channels), len(ids)+1)
	devices, err := f.Devices(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "devices", len(devices), len(ids))
	all, err := f.Gateways(f.ctx)
	noError(f.T, err)
	equal(f, "gateways", len(all), len(ids)+1)
}

// What a caller does with its values afterwards is not written anywhere.
func testCopies(f *fixture) {
	f.gateway()
	e := fullEntry(2)
	m := fullMessage()
	host := iris.Host{Commands: []byte("abc")}
	noError(f.T, f.Append(f.ctx, f.g, iris.Commit{Entry: e, Changes: []iris.Change{
		iris.CreateMessage{Message: m}, iris.SetHost{Host: host},
	}}))
	spoil := func(e iris.Entry, m iris.Message, h iris.Host) {
		e.Frames[0], e.Inbound[0], e.Messages[0] = "spoilt", "spoilt", "spoilt"
		e.Control[0].Device, e.Lanes[0].ChatID = "spoilt", "spoilt"
		m.Runtime.Cwd = "spoilt"
		h.Commands[0] = 'X'
	}
	spoil(e, m, host)
	w := f.follow(1, "mine") // what is delivered is a copy as well
	spoil(<-w.got, fullMessage(), iris.Host{Commands: []byte("x")})
	for range 2 { // what was read is spoilt too, and read again
		gotE, _, err := f.Entry(f.ctx, f.g, 2)
		noError(f.T, err)
		gotM, err := f.Message(f.ctx, f.g, m.ID)
		noError(f.T, err)
		gw, err := f.Gateway(f.ctx, f.g)
		noError(f.T, err)
		equal(f, "runtime", gotM.Runtime.Cwd, "/tmp")
		equal(f, "commands", string(gw.Host.Commands), "abc")
		if all := fmt.Sprintf("%+v", gotE); strings.Contains(all, "spoilt") {
			f.Fatalf("the entry is its writer's: %s", all)
		}
		spoil(gotE, gotM, gw.Host)
	}
}

func testReady(f *fixture) { noError(f.T, f.Ready(f.ctx)) }
