package storetest

import (
	"fmt"
	"slices"
	"time"

	"iris-gateway/iris"
)

// A removal takes all that a gateway has, in any number of steps, and nothing
// can be added meanwhile or afterwards: an appender that slept does not bring
// anything back. Other gateways keep what they have.
func testRemoval(f *fixture) {
	gw, _ := f.gateway()
	lane := iris.Lane{ChatID: iris.DefaultChat}
	for range 3 {
		var texts [][2]string
		for range 250 {
			texts = append(texts, [2]string{iris.NewID("m_"), "marker"})
		}
		f.say(lane, texts...)
	}
	f.append(5, 350, "w")
	device := f.pair()
	f.pair()
	noError(f.T, f.BindToken(f.ctx, device, iris.Device{ID: "d"}))
	noError(f.T, f.CreateLive(f.ctx, f.g, iris.Live{Turn: "t", Lane: lane}))
	noError(f.T, f.Append(f.ctx, f.g, iris.Commit{Entry: iris.Entry{Cursor: 351, Writer: "w"}, Changes: []iris.Change{
		iris.PutPicker{Picker: iris.Picker{ID: "p", Lane: lane}}, iris.BeginDeletion{Deletion: iris.Deletion{ID: "x", Lane: lane}},
	}}))
	bystander := &fixture{T: f.T, Store: f.Store, ctx: f.ctx, g: iris.NewID("g_")}
	bystander.gateway()
	bystander.say(lane, [2]string{"theirs", "marker"})

	code(f, f.BeginRemoval(f.ctx, iris.Removal{Gateway: "none"}, gw.HostToken), iris.CodeNotFound)
	begun := iris.Removal{Gateway: f.g, Name: "Home", At: stored(time.Now())}
	f.removedHosts()
	noError(f.T, f.BeginRemoval(f.ctx, begun, gw.HostToken))
	code(f, f.BeginRemoval(f.ctx, begun, gw.HostToken), iris.CodeNotFound)
	all, err := f.Removals(f.ctx)
	noError(f.T, err)
	equal(f, "removals", all, []iris.Removal{begun})
	_, err = f.Gateway(f.ctx, f.g)
	code(f, err, iris.CodeNotFound)

	removed := 0
	for steps := 0; ; steps++ {
		f.addNothing(device)
		n, err := f.RemoveSome(f.ctx, f.g)
		noError(f.T, err)
		if removed += n; n == 0 {
			break
		}
		if steps > 100 {
			f.Fatal("it does not end")
		}
	}
	// 350 entries, 750 messages, 2 tokens, and one of a device, channel, live
	// document, picker and deletion.
	equal(f, "removed", removed, 350+750+2+5)
	equal(f, "log", f.cursors(), []int64{351})
	// Somebody who slept appends behind the entry before the last one.
	outcome(f, f.Append(f.ctx, f.g, iris.Commit{Entry: iris.Entry{Cursor: 351, Writer: "slept"}, Guard: 300}), iris.ErrRefused)

	noError(f.T, f.EndRemoval(f.ctx, f.g))
	f.addNothing(device)
	for cursor := int64(351); cursor <= 352; cursor++ {
		outcome(f, f.Append(f.ctx, f.g, iris.Commit{
			Entry: iris.Entry{Cursor: cursor, Writer: "slept"}, Guard: cursor - 1, Changes: []iris.Change{
				iris.CreateMessage{Message: iris.Message{ID: fmt.Sprint("ghost", cursor), Lane: lane}},
			},
		}), iris.ErrRefused)
	}
	equal(f, "log", f.cursors(), []int64{})
	f.holdsNothing()
	noError(f.T, f.EndRemoval(f.ctx, f.g))
	all, err = f.Removals(f.ctx)
	noError(f.T, err)
	equal(f, "removals", len(all), 0)
	// What is left of it tells nothing of its owner.
	host := iris.Token{
		Hash: gw.HostToken, Kind: iris.TokenRemoved, Gateway: f.g, Created: begun.At, Expires: begun.At.Add(iris.OrderLifetime),
	}
	f.removedHosts(host)
	token, err := f.Token(f.ctx, gw.HostToken)
	noError(f.T, err)
	equal(f, "the host's token", token, host)
	for range 2 {
		noError(f.T, f.DropRemovedHost(f.ctx, gw.HostToken))
	}
	f.removedHosts()
	_, err = f.Token(f.ctx, gw.HostToken)
	code(f, err, iris.CodeAuth)
	found, _ := bystander.find("marker", iris.Lane{}, iris.Place{})
	equal(f, "the other gateway's", found, []string{"theirs"})
	_, err = f.Gateway(f.ctx, bystander.g)
	noError(f.T, err)
}

// A host that was never there is not waited for.
func testRemovalWithoutHost(f *fixture) {
	gw, _ := f.gateway()
	noError(f.T, f.BeginRemoval(f.ctx, iris.Removal{Gateway: f.g, At: time.Now()}, ""))
	f.removedHosts()
	for n := 1; n > 0; {
		var err error
		n, err = f.RemoveSome(f.ctx, f.g)
		noError(f.T, err)
	}
	_, err := f.Token(f.ctx, gw.HostToken)
	code(f, err, iris.CodeAuth)
}

// removedHosts fails unless these are the hosts of the gateway that are still to
// be told.
func (f *fixture) removedHosts(want ...iris.Token) {
	f.Helper()
	all, err := f.RemovedHosts(f.ctx)
	noError(f.T, err)
	mine := slices.DeleteFunc(all, func(t iris.Token) bool { return t.Gateway != f.g })
	equal(f, "removed hosts", append([]iris.Token{}, mine...), append([]iris.Token{}, want...))
}

// addNothing tries all that adds documents, or changes them, without the log.
func (f *fixture) addNothing(token string) {
	f.Helper()
	code(f, f.CreateToken(f.ctx, iris.Token{Hash: iris.HashToken(iris.NewToken()), Gateway: f.g}), iris.CodeNotFound)
	code(f, f.CreateLive(f.ctx, f.g, iris.Live{Turn: "ghost"}), iris.CodeNotFound)
	if _, err := f.Token(f.ctx, token); err != nil { // else a device may still be added: it goes after the tokens
		code(f, f.BindToken(f.ctx, token, iris.Device{ID: "ghost"}), iris.CodeAuth)
	}
}

// holdsNothing fails if anything of the gateway can be read.
func (f *fixture) holdsNothing() {
	f.Helper()
	channels, err := f.Channels(f.ctx, f.g)
	noError(f.T, err)
	devices, err := f.Devices(f.ctx, f.g)
	noError(f.T, err)
	pickers, err := f.Pickers(f.ctx, f.g)
	noError(f.T, err)
	lives, err := f.Lives(f.ctx, f.g)
	noError(f.T, err)
	pairings, err := f.Pairings(f.ctx, f.g)
	noError(f.T, err)
	deletions, err := f.Deletions(f.ctx, f.g)
	noError(f.T, err)
	messages, _ := f.find("marker", iris.Lane{}, iris.Place{})
	equal(f, "left", []int{len(channels), len(devices), len(pickers), len(lives), len(pairings), len(deletions), len(messages)}, make([]int, 7))
}
