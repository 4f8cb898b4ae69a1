package storetest

import (
	"time"

	"iris-gateway/iris"
)

// A change of the directory leaves the rest of the row: another instance may
// have written what this one has not read yet.
func testDirectory(f *fixture) {
	f.gateway()
	def := iris.Channel{Lane: iris.Lane{ChatID: iris.DefaultChat}, Name: "Default", Kind: iris.KindChannel}
	thread := iris.Channel{
		Lane: iris.Lane{ChatID: iris.DefaultChat, ThreadID: "t"}, Name: "first words", Kind: iris.KindThread,
		Auto: true, Busy: "turn", ReadMessageID: "m1", ReadAt: time.Now(),
	}
	noError(f.T, f.change(iris.PutChannel{Channel: thread}))
	thread.ReadAt = stored(thread.ReadAt)
	f.channels(def, thread)

	read := time.Now().Add(time.Minute)
	noError(f.T, f.change(
		iris.SetChannelName{Lane: thread.Lane, Name: "Title"},
		iris.SetRead{Lane: thread.Lane, MessageID: "m2", At: read},
	))
	thread.Name, thread.Auto, thread.ReadMessageID, thread.ReadAt = "Title", false, "m2", stored(read)
	f.channels(def, thread)

	gone := iris.Lane{ChatID: "gone"}
	outcome(f, f.change(iris.SetChannelName{Lane: gone, Name: "x"}), iris.ErrRefused)
	outcome(f, f.change(iris.SetRead{Lane: gone, MessageID: "m"}), iris.ErrRefused)
	f.channels(def, thread)

	noError(f.T, f.change(iris.SetDefaultChat{ChatID: "other"}))
	gw, err := f.Gateway(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "default chat", gw.DefaultChat, "other")
}

// "First answer wins, by precondition."
func testPickers(f *fixture) {
	open := func() []iris.Picker {
		f.Helper()
		pickers, err := f.Pickers(f.ctx, f.g)
		noError(f.T, err)
		return pickers
	}
	equal(f, "none", len(open()), 0)
	now := time.Now()
	a := iris.Picker{ID: "a/b", Lane: iris.Lane{ChatID: "c", ThreadID: "t"}, Frame: `{"v":1}`, At: now}
	b := iris.Picker{ID: "__b__", Lane: iris.Lane{ChatID: "c"}, Frame: `{"v":1}`, At: now.Add(-time.Hour)}
	noError(f.T, f.change(iris.PutPicker{Picker: a}, iris.PutPicker{Picker: b}))
	a.At, b.At = stored(a.At), stored(b.At)
	equal(f, "open", open(), []iris.Picker{b, a})

	noError(f.T, f.change(iris.AnswerPicker{ID: a.ID}))
	equal(f, "open", open(), []iris.Picker{b})
	outcome(f, f.change(iris.AnswerPicker{ID: a.ID}), iris.ErrRefused)
	outcome(f, f.change(iris.AnswerPicker{ID: b.ID}, iris.AnswerPicker{ID: "never"}), iris.ErrRefused)
	equal(f, "open", open(), []iris.Picker{b})
}

func testPush(f *fixture) {
	f.gateway()
	noError(f.T, f.BindToken(f.ctx, f.pair(), iris.Device{ID: "d", Name: "Pixel", NtfyTopic: "topic"}))
	fcm, none := "fcm", ""
	noError(f.T, f.change(iris.SetPush{Device: "d", FCMToken: &fcm}))
	want, err := f.Device(f.ctx, f.g, "d")
	noError(f.T, err)
	equal(f, "registered", want.FCMToken+" "+want.NtfyTopic+" "+want.Name, "fcm topic Pixel")

	noError(f.T, f.change(iris.SetPush{Device: "d", FCMToken: &none, NtfyTopic: &fcm}))
	want.FCMToken, want.NtfyTopic = "", "fcm"
	got, err := f.Device(f.ctx, f.g, "d")
	noError(f.T, err)
	equal(f, "device", got, want)

	noError(f.T, f.change(iris.SetPush{Device: "d"}))
	outcome(f, f.change(iris.SetPush{Device: "gone", FCMToken: &fcm}), iris.ErrRefused)
	outcome(f, f.change(iris.SetPush{Device: "gone"}), iris.ErrRefused)
}

// "Token gone, push registration removed", in the commit that tells everybody.
func testRevocation(f *fixture) {
	f.gateway()
	hash := f.pair()
	noError(f.T, f.BindToken(f.ctx, hash, iris.Device{ID: "d", FCMToken: "fcm"}))
	noError(f.T, f.change(iris.DropDevice{Device: "d"}, iris.DropToken{Hash: hash}))
	_, err := f.Device(f.ctx, f.g, "d")
	code(f, err, iris.CodeNotFound)
	_, err = f.Token(f.ctx, hash)
	code(f, err, iris.CodeAuth)
	outcome(f, f.change(iris.DropDevice{Device: "d"}), iris.ErrRefused)
	code(f, f.SetDeviceCursor(f.ctx, f.g, "d", 4), iris.CodeNotFound)

	other := f.pair()
	outcome(f, f.change(iris.DropToken{Hash: other}, iris.DropDevice{Device: "d"}), iris.ErrRefused)
	_, err = f.Token(f.ctx, other)
	noError(f.T, err)
}

// Of two that replace the host's token at once, one does: no token is left that
// nobody knows of.
func testRotation(f *fixture) {
	gw, old := f.gateway()
	rotate := func(to string) error {
		t := iris.Token{Hash: to, Kind: iris.TokenHost, Gateway: f.g, Created: time.Now()}
		return f.change(iris.DropToken{Hash: old.Hash}, iris.AddToken{Token: t}, iris.SetHostToken{Hash: to})
	}
	first, second := iris.HashToken("1"+f.g), iris.HashToken("2"+f.g)
	noError(f.T, rotate(first))
	outcome(f, rotate(second), iris.ErrRefused)
	_, err := f.Token(f.ctx, second)
	code(f, err, iris.CodeAuth)
	_, err = f.Token(f.ctx, old.Hash)
	code(f, err, iris.CodeAuth)
	token, err := f.Token(f.ctx, first)
	noError(f.T, err)
	equal(f, "kind", token.Kind, iris.TokenHost)
	now, err := f.Gateway(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "host token", now.HostToken, first)
	equal(f, "name", now.Name, gw.Name)
	outcome(f, f.change(iris.AddToken{Token: token}), iris.ErrRefused)
}

func testPairings(f *fixture) {
	_, host := f.gateway()
	pairings := func() []string {
		f.Helper()
		tokens, err := f.Pairings(f.ctx, f.g)
		noError(f.T, err)
		hashes := []string{}
		for _, t := range tokens {
			hashes = append(hashes, t.Hash)
		}
		return hashes
	}
	equal(f, "none", pairings(), []string{})
	used, unused, other := f.pair(), f.pair(), f.pair()
	elsewhere := &fixture{T: f.T, Store: f.Store, ctx: f.ctx, g: iris.NewID("g_")}
	elsewhere.gateway()
	noError(f.T, f.CreateToken(f.ctx, iris.Token{Hash: iris.HashToken("x" + f.g), Kind: iris.TokenDevice, Gateway: elsewhere.g}))
	noError(f.T, f.BindToken(f.ctx, used, iris.Device{ID: "d"}))
	equal(f, "unused", pairings(), []string{unused, other})

	for _, hash := range []string{used, host.Hash, iris.HashToken("x" + f.g), iris.HashToken("unknown"), "no hash", "__x__", "a/b", ""} {
		code(f, f.DropPairing(f.ctx, f.g, hash), iris.CodeNotFound)
	}
	_, err := f.Token(f.ctx, used)
	noError(f.T, err)
	noError(f.T, f.DropPairing(f.ctx, f.g, other))
	_, err = f.Token(f.ctx, other)
	code(f, err, iris.CodeAuth)
	equal(f, "unused", pairings(), []string{unused})
}
