package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"iris-gateway/iris"
)

func testTokens(f *fixture) {
	f.gateway()
	_, err := f.Token(f.ctx, iris.HashToken("nobody's"))
	code(f, err, iris.CodeAuth)
	want := iris.Token{
		Hash: iris.HashToken("t"), Kind: iris.TokenDevice, Gateway: f.g, Name: "Pixel",
		Expires: time.Now().Add(time.Minute), Created: time.Now(),
	}
	noError(f.T, f.CreateToken(f.ctx, want))
	code(f, f.CreateToken(f.ctx, iris.Token{Hash: want.Hash, Gateway: f.g, Name: "thief"}), iris.CodeConflict)
	got, err := f.Token(f.ctx, want.Hash)
	noError(f.T, err)
	want.Expires, want.Created = stored(want.Expires), stored(want.Created)
	equal(f, "token", got, want)
}

// "It binds to the first device_id that uses it; another id → error auth."
func testBindToken(f *fixture) {
	_, host := f.gateway()
	hash := f.pair()
	now := time.Now()
	fresh := iris.Device{ID: "d1", Name: "Pixel", Token: "not mine to say", Cursor: 9, Seen: now, Created: now}
	noError(f.T, f.BindToken(f.ctx, hash, fresh))
	token, err := f.Token(f.ctx, hash)
	noError(f.T, err)
	equal(f, "bound to", token.Device, "d1")
	equal(f, "name", token.Name, "Pixel")
	if !token.Expires.IsZero() {
		f.Fatalf("a bound token expires at %v", token.Expires)
	}
	want := fresh
	want.Token, want.Seen, want.Created = hash, stored(now), stored(now)
	got, err := f.Device(f.ctx, f.g, "d1")
	noError(f.T, err)
	equal(f, "device", got, want)

	code(f, f.BindToken(f.ctx, hash, iris.Device{ID: "d2"}), iris.CodeAuth)
	code(f, f.BindToken(f.ctx, host.Hash, iris.Device{ID: "d2"}), iris.CodeAuth)
	code(f, f.BindToken(f.ctx, iris.HashToken("unknown"), iris.Device{ID: "d2"}), iris.CodeAuth)
	devices, err := f.Devices(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "devices", devices, []iris.Device{want})
}

// A repetition, as after a lost answer, changes nothing.
func testBindTokenAgain(f *fixture) {
	hash := f.pair()
	noError(f.T, f.BindToken(f.ctx, hash, iris.Device{ID: "d", Name: "one", Cursor: 5}))
	noError(f.T, f.SetDeviceCursor(f.ctx, f.g, "d", 8))
	noError(f.T, f.BindToken(f.ctx, hash, iris.Device{ID: "d", Name: "one", Cursor: 5}))
	got, err := f.Device(f.ctx, f.g, "d")
	noError(f.T, err)
	equal(f, "device", got, iris.Device{ID: "d", Name: "one", Token: hash, Cursor: 8})
}

// "A new token used by a known device_id replaces its old one."
func testBindNewerToken(f *fixture) {
	old, next := f.pair(), f.pair()
	created := time.Now().Add(-time.Hour)
	noError(f.T, f.BindToken(f.ctx, old, iris.Device{ID: "d", Name: "one", FCMToken: "fcm", NtfyTopic: "n", Created: created}))
	noError(f.T, f.SetDeviceCursor(f.ctx, f.g, "d", 8))
	seen := time.Now()
	noError(f.T, f.BindToken(f.ctx, next, iris.Device{ID: "d", Name: "two", Cursor: 99, Seen: seen, Created: seen}))
	got, err := f.Device(f.ctx, f.g, "d")
	noError(f.T, err)
	equal(f, "device", got, iris.Device{
		ID: "d", Name: "two", Token: next, Cursor: 8, FCMToken: "fcm", NtfyTopic: "n",
		Seen: stored(seen), Created: stored(created),
	})
	_, err = f.Token(f.ctx, old)
	code(f, err, iris.CodeAuth)
	code(f, f.BindToken(f.ctx, old, iris.Device{ID: "d"}), iris.CodeAuth)
	// Without a name the old one stays.
	third := f.pair()
	noError(f.T, f.BindToken(f.ctx, third, iris.Device{ID: "d"}))
	got, err = f.Device(f.ctx, f.g, "d")
	noError(f.T, err)
	equal(f, "name", got.Name, "two")
}

// Of several devices that use a token at once exactly one gets it.
func testBindRace(f *fixture) {
	hash := f.pair()
	const devices = 6
	errs := make([]error, devices)
	var wg sync.WaitGroup
	for i := range devices {
		wg.Go(func() { errs[i] = f.BindToken(f.ctx, hash, iris.Device{ID: fmt.Sprint("d", i)}) })
	}
	wg.Wait()
	token, err := f.Token(f.ctx, hash)
	noError(f.T, err)
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
			equal(f, "bound to", token.Device, fmt.Sprint("d", i))
			continue
		}
		code(f, err, iris.CodeAuth)
	}
	equal(f, "winners", won, 1)
	rows, err := f.Devices(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "rows", len(rows), 1)
}

// A device that uses several tokens at once, while it is being written to, ends
// with one of them, and the others are gone: none is left that nobody sees.
func testBindRaceOfTokens(f *fixture) {
	noError(f.T, f.BindToken(f.ctx, f.pair(), iris.Device{ID: "d"}))
	const tokens = 4
	hashes := make([]string, tokens)
	for i := range hashes {
		hashes[i] = f.pair()
	}
	var wg sync.WaitGroup
	for _, hash := range hashes {
		wg.Go(func() {
			if err := f.BindToken(f.ctx, hash, iris.Device{ID: "d"}); err != nil {
				f.Error(err)
			}
		})
		wg.Go(func() {
			if err := f.SetDeviceCursor(f.ctx, f.g, "d", 3); err != nil {
				f.Error(err)
			}
		})
	}
	wg.Wait()
	d, err := f.Device(f.ctx, f.g, "d")
	noError(f.T, err)
	equal(f, "cursor", d.Cursor, 3)
	left := 0
	for _, hash := range hashes {
		t, err := f.Token(f.ctx, hash)
		var e *iris.Error
		if errors.As(err, &e) && e.Code == iris.CodeAuth {
			continue
		}
		noError(f.T, err)
		left++
		equal(f, "the token left is the device's", t.Hash, d.Token)
	}
	equal(f, "tokens left", left, 1)
}

func testDeviceCursor(f *fixture) {
	_, err := f.Device(f.ctx, f.g, "d")
	code(f, err, iris.CodeNotFound)
	code(f, f.SetDeviceCursor(f.ctx, f.g, "d", 4), iris.CodeNotFound)
	_, err = f.Device(f.ctx, f.g, "d")
	code(f, err, iris.CodeNotFound)

	now := time.Now()
	noError(f.T, f.BindToken(f.ctx, f.pair(), iris.Device{ID: "young", Created: now}))
	noError(f.T, f.BindToken(f.ctx, f.pair(), iris.Device{ID: "old", Created: now.Add(-time.Hour)}))
	noError(f.T, f.SetDeviceCursor(f.ctx, f.g, "young", 1<<40))
	noError(f.T, f.SetDeviceCursor(f.ctx, f.g, "young", 5)) // of a connection that was replaced
	devices, err := f.Devices(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "devices", fmt.Sprint(devices[0].ID, devices[0].Cursor, devices[1].ID, devices[1].Cursor), "old0young1099511627776")
}
