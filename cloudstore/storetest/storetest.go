// Package storetest is the contract of Iris' store as a test suite. It is run
// over memstore and over Firestore's emulator, so that whatever is built and
// simulated on the one holds on the other.
//
// It is black-box: it knows only the methods. What each test protects stands
// above it, by the words of log.md where there are any.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"iris-gateway/iris"
)

// Store is what *cloudstore.Store and *memstore.Store have in common. Only the
// suite needs all of it; users of a store name the few methods they use. What brings
// a page of rows (Entries, NotifyEntries, History, Search, ExportMessages) bounds it
// by the rows' number and by their bytes; there is a row in it if there is any.
type Store interface {
	Head(ctx context.Context, g string) (iris.Entry, error)
	Entries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error)
	Entry(ctx context.Context, g string, cursor int64) (iris.Entry, bool, error)
	Append(ctx context.Context, g string, c iris.Commit) error
	Follow(ctx context.Context, g string, after int64, writer string, deliver func([]iris.Entry)) error

	CreateGateway(ctx context.Context, gw iris.Gateway, host iris.Token) error
	Gateway(ctx context.Context, g string) (iris.Gateway, error)
	Gateways(ctx context.Context) ([]iris.Gateway, error)
	BeginRemoval(ctx context.Context, r iris.Removal, host string) error
	RemovedHosts(ctx context.Context) ([]iris.Token, error)
	DropRemovedHost(ctx context.Context, hash string) error
	Removals(ctx context.Context) ([]iris.Removal, error)
	RemoveSome(ctx context.Context, g string) (int, error)
	EndRemoval(ctx context.Context, g string) error
	Channels(ctx context.Context, g string) ([]iris.Channel, error)
	Pickers(ctx context.Context, g string) ([]iris.Picker, error)
	Message(ctx context.Context, g, id string) (iris.Message, error)
	History(ctx context.Context, g string, lane iris.Lane, before *iris.Message, limit int) ([]iris.Message, bool, error)
	Search(ctx context.Context, g string, q iris.Search) (iris.Found, error)
	ExportMessages(ctx context.Context, g string, after iris.ExportPlace, limit int) (iris.ExportPage, error)
	CountMessages(ctx context.Context, g string) (int, error)

	Token(ctx context.Context, hash string) (iris.Token, error)
	CreateToken(ctx context.Context, t iris.Token) error
	BindToken(ctx context.Context, hash string, d iris.Device) error
	Device(ctx context.Context, g, d string) (iris.Device, error)
	Devices(ctx context.Context, g string) ([]iris.Device, error)
	SetDeviceCursor(ctx context.Context, g, d string, cursor int64) error
	Pairings(ctx context.Context, g string) ([]iris.Token, error)
	DropPairing(ctx context.Context, g, hash string) error

	NotifyEntries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error)
	NotePush(ctx context.Context, g, d string, pushed int64, state iris.PushState) error
	ClaimPush(ctx context.Context, g, d string, decide func(iris.Device) (iris.PushState, bool)) (iris.Device, bool, error)

	CreateLive(ctx context.Context, g string, l iris.Live) error
	UpdateLive(ctx context.Context, g string, l iris.Live) error
	DropLive(ctx context.Context, g, turn string) error
	Lives(ctx context.Context, g string) ([]iris.Live, error)
	FollowLive(ctx context.Context, g string, deliver func([]iris.Live)) error

	Deletions(ctx context.Context, g string) ([]iris.Deletion, error)
	Scrub(ctx context.Context, g string, t iris.Touching, edit func(iris.Entry) (iris.Entry, bool)) error
	Messages(ctx context.Context, g string, ids []string, take func(iris.Message)) error
	MediaMessages(ctx context.Context, g, media string, limit int) ([]string, error)
	EditLive(ctx context.Context, g, turn string, edit func(iris.Live) (iris.Live, bool)) error

	Ready(ctx context.Context) error
	Close() error
}

// Run runs the contract over the stores that open returns. Each is asked for
// once, must be empty, and is closed at the end of its test.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for _, c := range []struct {
		name string
		test func(*fixture)
	}{
		{"empty log", testEmptyLog},
		{"entry comes back as it was", testEntryRoundTrip},
		{"entries are in order", testEntriesOrder},
		{"pages of large entries", testLargeEntries},
		{"pages of large messages", testLargeMessages},
		{"taken cursor refuses", testTakenCursor},
		{"guard must exist", testGuard},
		{"drop must exist", testDrop},
		{"a ring", testRing},
		{"an appender from before the ring", testFirstEntry},
		{"all or nothing", testAtomic},
		{"live documents", testLive},
		{"live documents and a refusal", testLiveAtomic},
		{"live documents of a host that is elsewhere", testLiveElsewhere},
		{"follow live documents", testFollowLive},
		{"what is never taken", testRejected},
		{"large entry", testLargeEntry},
		{"ended context", testEndedContext},
		{"concurrent appenders", testConcurrentAppenders},

		{"create message", testCreateMessage},
		{"put message", testPutMessage},
		{"channels and busy", testChannels},
		{"device link", testDeviceLink},
		{"host", testHost},
		{"two changes of one row", testTwoChangesOfOneRow},
		{"directory", testDirectory},
		{"pickers", testPickers},
		{"push registration", testPush},
		{"push state", testPushState},
		{"claim of a push", testClaimPush},
		{"entries that notify", testNotifyEntries},
		{"revocation", testRevocation},
		{"host token rotation", testRotation},
		{"deletions", testDeletions},
		{"messages of a medium", testMediaMessages},
		{"scrub", testScrub},
		{"scrubs at once", testScrubAtOnce},
		{"overtaken scrub", testScrubOvertaken},
		{"messages by ids", testMessages},
		{"edit a live document", testEditLive},

		{"follow", testFollow},
		{"follow resumes", testFollowResumes},
		{"follow passes over changes", testFollowOnlyAdded},
		{"follow ends after 128", testFollowRelisten},
		{"follow ends after large entries", testFollowLarge},
		{"follow ends with its context", testFollowEnds},
		{"two followers", testFollowTwo},

		{"gateways", testGateways},
		{"gateway conflict", testGatewayConflict},
		{"removal of a gateway", testRemoval},
		{"removal of a gateway without a host", testRemovalWithoutHost},
		{"history", testHistory},
		{"history with equal times", testHistoryEqualTimes},
		{"search quality", testSearchQuality},
		{"search of a channel or thread", testSearchScope},
		{"search page by page", testSearchPages},
		{"search with the rarest term", testSearchRarest},
		{"search and what is gone", testSearchGone},
		{"export of messages", testExportMessages},
		{"tokens", testTokens},
		{"bind token", testBindToken},
		{"bind token again", testBindTokenAgain},
		{"bind newer token", testBindNewerToken},
		{"bind race of devices", testBindRace},
		{"bind race of tokens", testBindRaceOfTokens},
		{"device cursor", testDeviceCursor},
		{"pairings", testPairings},
		{"odd ids", testOddIDs},
		{"values are copies", testCopies},
		{"ready", testReady},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() { noError(t, s.Close()) })
			c.test(&fixture{T: t, Store: s, ctx: t.Context(), g: iris.NewID("g_")})
		})
	}
}

// fixture is one test with its store and a gateway id of its own.
type fixture struct {
	*testing.T
	Store
	ctx    context.Context
	g      string
	said   int  // messages of say
	made   bool // the gateway
	paired int  // devices
}

// entry is a commit of an entry and nothing else.
func entry(cursor int64, writer string) iris.Commit {
	return iris.Commit{Entry: iris.Entry{Cursor: cursor, Writer: writer, First: 1}}
}

// append appends entries 1 … n by the writer.
func (f *fixture) append(from, to int64, writer string) {
	f.Helper()
	for c := from; c <= to; c++ {
		noError(f.T, f.Append(f.ctx, f.g, entry(c, writer)))
	}
}

// gateway makes the gateway with its row, default channel and host token.
func (f *fixture) gateway() (iris.Gateway, iris.Token) {
	f.Helper()
	created := time.Date(2026, 3, 4, 5, 6, 7, 8_009_010, time.FixedZone("", 3600))
	hash := iris.HashToken(iris.NewToken())
	gw := iris.Gateway{ID: f.g, Name: "Home", DefaultChat: iris.DefaultChat, HostToken: hash, Created: created}
	host := iris.Token{Hash: hash, Kind: iris.TokenHost, Gateway: f.g, Name: "host", Created: created}
	f.made = true
	noError(f.T, f.CreateGateway(f.ctx, gw, host))
	return gw, host
}

// pair makes a device token that nobody has used, of a gateway that there is.
func (f *fixture) pair() string {
	f.Helper()
	if !f.made {
		f.gateway()
	}
	f.paired++ // pairings are sorted by time, and two may be made in a microsecond
	now := time.Now().Add(time.Duration(f.paired) * time.Microsecond)
	t := iris.Token{
		Hash: iris.HashToken(iris.NewToken()), Kind: iris.TokenDevice, Gateway: f.g,
		Name: "Pixel", Expires: now.Add(10 * time.Minute), Created: now,
	}
	noError(f.T, f.CreateToken(f.ctx, t))
	return t.Hash
}

// cursors reads the whole log and returns its cursors.
func (f *fixture) cursors() []int64 {
	f.Helper()
	entries, err := f.Entries(f.ctx, f.g, 0, 10_000)
	noError(f.T, err)
	return cursorsOf(entries)
}

func cursorsOf(entries []iris.Entry) []int64 {
	out := []int64{}
	for _, e := range entries {
		out = append(out, e.Cursor)
	}
	return out
}

func seq(from, to int64) []int64 {
	out := []int64{}
	for ; from <= to; from++ {
		out = append(out, from)
	}
	return out
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// code fails unless err is an error for people with this code.
func code(t testing.TB, err error, want iris.Code) {
	t.Helper()
	var e *iris.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *iris.Error with code %q", err, want)
	}
	if e.Code != want {
		t.Fatalf("got code %q (%v), want %q", e.Code, err, want)
	}
	if e.Message == "" {
		t.Fatalf("the error with code %q says nothing", want)
	}
}

// outcome fails unless err is this outcome of a commit, and no other.
func outcome(t testing.TB, err, want error) {
	t.Helper()
	for _, kind := range []error{iris.ErrRefused, iris.ErrNoAnswer, iris.ErrRejected} {
		if errors.Is(err, kind) != (kind == want) {
			t.Fatalf("got %v, want exactly: %v", err, want)
		}
	}
}

// equal compares by what Go prints: the nouns hold only values and slices.
func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Fatalf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// stored is a time as a store keeps it.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
