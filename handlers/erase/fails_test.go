package erase_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/erase"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// failure is a store of which one call fails.
type failure struct {
	*memstore.Store
	left int // calls until it
	came bool
}

func call[T any](f *failure, do func() (T, error)) (T, error) {
	if f.left--; f.left == 0 {
		f.came = true
		var none T
		return none, errors.New("unavailable")
	}
	return do()
}

func (f *failure) do(do func() error) error {
	_, err := call(f, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (f *failure) Scrub(ctx context.Context, g string, t iris.Touching, edit func(iris.Entry) (iris.Entry, bool)) error {
	return f.do(func() error { return f.Store.Scrub(ctx, g, t, edit) })
}

func (f *failure) History(ctx context.Context, g string, l iris.Lane, before *iris.Message, limit int) ([]iris.Message, bool, error) {
	more := false
	page, err := call(f, func() (page []iris.Message, err error) {
		page, more, err = f.Store.History(ctx, g, l, before, limit)
		return page, err
	})
	return page, more, err
}

func (f *failure) MediaMessages(ctx context.Context, g, media string, limit int) ([]string, error) {
	return call(f, func() ([]string, error) { return f.Store.MediaMessages(ctx, g, media, limit) })
}

func (f *failure) Channels(ctx context.Context, g string) ([]iris.Channel, error) {
	return call(f, func() ([]iris.Channel, error) { return f.Store.Channels(ctx, g) })
}

func (f *failure) Pickers(ctx context.Context, g string) ([]iris.Picker, error) {
	return call(f, func() ([]iris.Picker, error) { return f.Store.Pickers(ctx, g) })
}

func (f *failure) Deletions(ctx context.Context, g string) ([]iris.Deletion, error) {
	return call(f, func() ([]iris.Deletion, error) { return f.Store.Deletions(ctx, g) })
}

func (f *failure) Lives(ctx context.Context, g string) ([]iris.Live, error) {
	return call(f, func() ([]iris.Live, error) { return f.Store.Lives(ctx, g) })
}

func (f *failure) DropLive(ctx context.Context, g, turn string) error {
	return f.do(func() error { return f.Store.DropLive(ctx, g, turn) })
}

func (f *failure) EditLive(ctx context.Context, g, turn string, edit func(iris.Live) (iris.Live, bool)) error {
	return f.do(func() error { return f.Store.EditLive(ctx, g, turn, edit) })
}

func (f *failure) DeleteMedia(ctx context.Context, g, id string) error {
	return f.do(func() error { return f.Store.DeleteMedia(ctx, g, id) })
}

func upload(t *testing.T, s *memstore.Store, i int) iris.Media {
	t.Helper()
	u, err := s.BeginUpload(t.Context(), gateway, fmt.Sprint(i), iris.Media{ID: fmt.Sprint("md_", i)}, false)
	if err != nil {
		t.Fatal(err)
	}
	none := sha256.Sum256(nil)
	m, err := u.Finish(t.Context(), hex.EncodeToString(none[:]))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// gone is a channel with two threads, more messages than one commit empties, and in
// each lane a medium, a question and two turns that say something; its deletion has
// begun.
func gone(t *testing.T, s *memstore.Store, in *instance) {
	t.Helper()
	d := iris.Deletion{ID: "del_1", Lane: iris.Lane{ChatID: "c"}, Threads: []string{"t1", "t2"}}
	for i, l := range []iris.Lane{d.Lane, {ChatID: "c", ThreadID: "t1"}, {ChatID: "c", ThreadID: "t2"}} {
		medium := upload(t, s, i)
		said := hub.Draft{Changes: []iris.Change{
			iris.PutChannel{Channel: iris.Channel{Lane: l, Name: secret}},
			iris.PutPicker{Picker: iris.Picker{ID: fmt.Sprint("p", i), Lane: l, Frame: secret}},
			iris.CreateMessage{Message: iris.Message{ID: fmt.Sprint("with", i), Lane: l, Text: secret, Media: []iris.Media{medium}}},
		}}
		for k := range 250 * (1 - min(i, 1)) {
			said.Changes = append(said.Changes, iris.CreateMessage{Message: iris.Message{ID: fmt.Sprint("m", k), Lane: l, Text: secret}})
		}
		said.Add(l, wire.Message{MessageID: fmt.Sprint("with", i), Role: iris.RoleUser, Text: secret})
		in.append(said)
		for k := range 2 {
			if err := s.CreateLive(t.Context(), gateway, iris.Live{Turn: fmt.Sprint("tn", i, k), Lane: l, Data: secret}); err != nil {
				t.Fatal(err)
			}
		}
	}
	in.append(hub.Draft{
		Control: []iris.Control{{Kind: iris.DeletionBegun, Deletion: &d}},
		Changes: []iris.Change{iris.DropChannel{Lane: d.Lane}, iris.BeginDeletion{Deletion: d}},
	})
}

// left is what the store has of the channel.
func left(t *testing.T, s *memstore.Store) string {
	t.Helper()
	var texts, media int
	for i, thread := range []string{"", "t1", "t2"} {
		page, _, err := s.History(t.Context(), gateway, iris.Lane{ChatID: "c", ThreadID: thread}, nil, 1000)
		if err != nil {
			t.Fatal(err)
		}
		texts += len(page)
		if _, err := s.Media(t.Context(), gateway, fmt.Sprint("md_", i)); err == nil {
			media++
		}
	}
	channels, err1 := s.Channels(t.Context(), gateway)
	pickers, err2 := s.Pickers(t.Context(), gateway)
	lives, err3 := s.Lives(t.Context(), gateway)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	said := strings.Count(fmt.Sprint(lives), secret)
	return fmt.Sprintf("%s; %d messages, %d media, %d channels beside the default, %d pickers, %d texts in live documents",
		state(t, s), texts, media, len(channels)-1, len(pickers), said)
}

// message is one of the first thread, which is named after it, with a medium of its
// own and one that another message has, too, in two live documents; its deletion has
// begun. The log tells less of that than its row.
func message(t *testing.T, s *memstore.Store, in *instance) {
	t.Helper()
	l := iris.Lane{ChatID: "c", ThreadID: "t1"}
	medium, shared := upload(t, s, 0), upload(t, s, 1)
	m := iris.Message{ID: "m1", Lane: l, Role: iris.RoleUser, Text: secret, Media: []iris.Media{medium, shared}}
	kept := iris.Message{ID: "m2", Lane: lane, Role: iris.RoleUser, Media: []iris.Media{shared}}
	said := hub.Draft{Messages: []string{m.ID}, Changes: []iris.Change{iris.CreateMessage{Message: m}, iris.CreateMessage{Message: kept}}}
	said.Add(l, wire.Message{MessageID: m.ID, Role: m.Role, Text: m.Text})
	in.append(said)
	named := hub.Draft{}
	named.Add(l, wire.ChannelCreated{ChatID: l.ChatID, ThreadID: l.ThreadID, Name: secret})
	in.append(named)
	for k := range 2 {
		data := fmt.Sprintf(`{"turn":%q,"messages":[{"message_id":"m1","text":%q}]}`, fmt.Sprint("tn", k), secret)
		if err := s.CreateLive(t.Context(), gateway, iris.Live{Turn: fmt.Sprint("tn", k), Lane: l, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	known := iris.Deletion{ID: "del_1", Lane: l, Messages: []string{m.ID}}
	d := known
	d.Names, d.Media = []string{erase.HashName(secret)}, m.MediaIDs()
	in.append(hub.Draft{
		Messages: d.Messages, Control: []iris.Control{{Kind: iris.DeletionBegun, Deletion: &known}},
		Changes: []iris.Change{iris.PutMessage{Message: m.Tombstone()}, iris.BeginDeletion{Deletion: d}},
	})
}

// TestEachCallFails: a channel is deleted with all that it holds, however much that
// is and whichever call of the store fails meanwhile; and so is a message with what
// was made of it.
func TestEachCallFails(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(*testing.T, *memstore.Store, *instance)
		told  int // message.deleted
		media int // that stay
		calls int // of the store, at least
	}{"a channel": {gone, 0, 0, 20}, "a message": {message, 1, 1, 7}} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			for came := true; came; calls++ {
				synctest.Test(t, func(t *testing.T) {
					s := newStore(t)
					f := &failure{Store: s, left: calls + 1}
					defer openWith(t, s, f, f).close()
					dead := open(t, s, nil)
					c.begin(t, s, dead)
					dead.close()
					time.Sleep(time.Minute)
					synctest.Wait()
					want := fmt.Sprintf("pending 0, text false, told %d; 0 messages, %d media, 0 channels beside the default, 0 pickers, 0 texts in live documents", c.told, c.media)
					if got := left(t, s); got != want {
						t.Errorf("call %d failed: %s", calls+1, got)
					}
					came = f.came
				})
			}
			if calls < c.calls {
				t.Errorf("%d calls of the store: not all fail", calls)
			}
		})
	}
}
