package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"iris-gateway/iris"
)

// A deletion's row exists from the commit that begins it to the one that tells
// everybody: of two that finish it, one does.
func testDeletions(f *fixture) {
	f.gateway()
	lane := iris.Lane{ChatID: "c", ThreadID: "t"}
	noError(f.T, f.change(iris.PutChannel{Channel: iris.Channel{Lane: lane}}))
	now := time.Now()
	second := iris.Deletion{ID: "b", Lane: lane, Messages: []string{"m1", "m2"}, Names: []string{"hash"}, Media: []string{"md_1"}, At: now}
	first := iris.Deletion{ID: "a/b", Lane: iris.Lane{ChatID: "c"}, Threads: []string{"t"}, At: now.Add(-time.Second)}
	noError(f.T, f.change(iris.BeginDeletion{Deletion: second}, iris.DropChannel{Lane: lane}))
	noError(f.T, f.change(iris.BeginDeletion{Deletion: first}))
	outcome(f, f.change(iris.BeginDeletion{Deletion: second}), iris.ErrRefused)
	outcome(f, f.change(iris.DropChannel{Lane: lane}), iris.ErrRefused)
	first.At, second.At = stored(first.At), stored(second.At)
	equal(f, "deletions", f.deletions(), []iris.Deletion{first, second})
	noError(f.T, f.change(iris.EndDeletion{ID: second.ID}))
	outcome(f, f.change(iris.EndDeletion{ID: second.ID}), iris.ErrRefused)
	equal(f, "deletions", f.deletions(), []iris.Deletion{first})

	e := entry(1+f.head().Cursor, "w")
	e.Entry.Control = []iris.Control{{Kind: iris.DeletionBegun, Deletion: &first}}
	noError(f.T, f.Append(f.ctx, f.g, e))
	equal(f, "in the log", *f.head().Control[0].Deletion, first)
}

// "Rewrite every entry that contains the message, found by messages and lanes;
// an Update of only the fields that held the text. The entry itself stays."
func testScrub(f *fixture) {
	a, b := iris.Lane{ChatID: "a"}, iris.Lane{ChatID: "a", ThreadID: "t"}
	for i := range int64(250) { // more than a page
		e := entry(i+1, "w")
		e.Entry.Frames = []string{"secret", fmt.Sprint("frame ", i)}
		e.Entry.Inbound = []string{"secret"}
		e.Entry.Messages = []string{fmt.Sprint("m", i), fmt.Sprint("n", i%2)}
		e.Entry.Lanes = []iris.Lane{a, b}
		if i%2 == 0 {
			e.Entry.Lanes = e.Entry.Lanes[:1]
		}
		noError(f.T, f.Append(f.ctx, f.g, e))
	}
	before, err := f.Entries(f.ctx, f.g, 0, 1000)
	noError(f.T, err)
	expect := func(what string, t iris.Touching, touched func(e iris.Entry) bool) {
		f.Helper()
		seen := map[int64]bool{}
		noError(f.T, f.Scrub(f.ctx, f.g, t, func(e iris.Entry) (iris.Entry, bool) {
			seen[e.Cursor] = true
			e.Frames, e.Inbound, e.Writer, e.Messages = []string{what}, nil, "somebody else", nil
			return e, e.Cursor%3 != 0
		}))
		for i, e := range before {
			equal(f, fmt.Sprint(what, ": asked about ", e.Cursor), seen[e.Cursor], touched(e))
			if touched(e) && e.Cursor%3 != 0 {
				before[i].Frames, before[i].Inbound = []string{what}, nil
			}
		}
		after, err := f.Entries(f.ctx, f.g, 0, 1000)
		noError(f.T, err)
		equal(f, what, after, before)
	}
	expect("lane", iris.Touching{Lanes: []iris.Lane{b}}, func(e iris.Entry) bool { return len(e.Lanes) == 2 })
	expect("messages", iris.Touching{Messages: []string{"n1", "m4"}}, func(e iris.Entry) bool {
		return slices.Contains(e.Messages, "n1") || e.Cursor == 5
	})
	var many []string // more than one query may ask for
	for i := range 70 {
		many = append(many, fmt.Sprint("m", i*2))
	}
	expect("many", iris.Touching{Messages: many}, func(e iris.Entry) bool { return e.Cursor%2 == 1 && e.Cursor < 140 })
	expect("nothing", iris.Touching{Messages: []string{"unknown"}, Lanes: []iris.Lane{{}}}, func(iris.Entry) bool { return false })
}

// "Blind writes brought deleted text back": several scrub one entry at once,
// each its own word, while appends mark it as their guard.
func testScrubAtOnce(f *fixture) {
	words := strings.Fields("a b c d e f")
	e := entry(1, "w")
	e.Entry.Frames, e.Entry.Messages = words, []string{"m"}
	noError(f.T, f.Append(f.ctx, f.g, e))
	var all sync.WaitGroup
	errs := make([]error, len(words)+1)
	for i, word := range words {
		all.Go(func() {
			errs[i] = f.Scrub(f.ctx, f.g, iris.Touching{Messages: []string{"m"}}, func(e iris.Entry) (iris.Entry, bool) {
				n := len(e.Frames)
				e.Frames = slices.DeleteFunc(e.Frames, func(s string) bool { return s == word })
				return e, len(e.Frames) < n
			})
		})
	}
	all.Go(func() {
		for c := int64(2); c < 10 && errs[len(words)] == nil; c++ {
			next := entry(c, "w")
			next.Guard = 1
			errs[len(words)] = f.Append(f.ctx, f.g, next)
		}
	})
	all.Wait()
	for _, err := range errs {
		noError(f.T, err)
	}
	got, _, err := f.Entry(f.ctx, f.g, 1)
	noError(f.T, err)
	equal(f, "what is left", len(got.Frames), 0)
}

// "Precondition LastUpdateTime, repeated": an edit that another one overtook is
// asked again about what the entry says then; an entry that the ring has dropped
// is done.
func testScrubOvertaken(f *fixture) {
	for c := int64(1); c <= 2; c++ {
		e := entry(c, "w")
		e.Entry.Frames, e.Entry.Messages = []string{"mine", "yours"}, []string{"m"}
		noError(f.T, f.Append(f.ctx, f.g, e))
	}
	without := func(e iris.Entry, word string) (iris.Entry, bool) {
		n := len(e.Frames)
		e.Frames = slices.DeleteFunc(e.Frames, func(s string) bool { return s == word })
		return e, len(e.Frames) < n
	}
	asked := map[int64][]string{}
	noError(f.T, f.Scrub(f.ctx, f.g, iris.Touching{Messages: []string{"m"}}, func(e iris.Entry) (iris.Entry, bool) {
		asked[e.Cursor] = append(asked[e.Cursor], strings.Join(e.Frames, "+"))
		switch {
		case e.Cursor == 1 && len(asked[1]) == 1:
			noError(f.T, f.Scrub(f.ctx, f.g, iris.Touching{Messages: []string{"m"}}, func(e iris.Entry) (iris.Entry, bool) { return without(e, "yours") }))
		case e.Cursor == 2:
			drop := entry(3, "w")
			drop.Drop = []int64{2}
			noError(f.T, f.Append(f.ctx, f.g, drop))
		}
		return without(e, "mine")
	}))
	equal(f, "asked about 1", asked[1], []string{"mine+yours", "mine"})
	equal(f, "asked about 2", len(asked[2]), 1)
	equal(f, "the log", f.cursors(), []int64{1, 3})
	first, _, err := f.Entry(f.ctx, f.g, 1)
	noError(f.T, err)
	equal(f, "what is left", len(first.Frames), 0)
}

// What a tombstone keeps is the id: it is taken, and history does not show it.
// A medium may be in several messages, until they are deleted.
func testMediaMessages(f *fixture) {
	message := func(id string, media ...string) iris.Message {
		m := iris.Message{ID: id, Lane: iris.Lane{ChatID: "c"}, Role: iris.RoleUser}
		for _, id := range media {
			m.Media = append(m.Media, iris.Media{ID: id, Filename: "md_1"})
		}
		return m
	}
	both := message("b", "md_2", "md_1")
	noError(f.T, f.change(
		iris.CreateMessage{Message: message("a", "md_1")}, iris.PutMessage{Message: both},
		iris.CreateMessage{Message: message("none")}, iris.CreateMessage{Message: message("other", "md_3")},
	))
	has := func(media string, limit int) []string {
		ids, err := f.MediaMessages(f.ctx, f.g, media, limit)
		noError(f.T, err)
		slices.Sort(ids)
		return ids
	}
	equal(f, "md_1", has("md_1", 9), []string{"a", "b"})
	equal(f, "md_1, one of them", len(has("md_1", 1)), 1)
	equal(f, "md_2", has("md_2", 9), []string{"b"})
	equal(f, "unknown", len(has("md_", 9)), 0)
	noError(f.T, f.change(iris.PutMessage{Message: both.Tombstone()}))
	equal(f, "md_1 behind a deletion", has("md_1", 9), []string{"a"})
	ids, err := f.MediaMessages(f.ctx, "g_other", "md_1", 9)
	noError(f.T, err)
	equal(f, "of another gateway", len(ids), 0)
}

func testMessages(f *fixture) {
	lane := iris.Lane{ChatID: "c", ThreadID: "t"}
	kept := iris.Message{ID: "kept", Lane: lane, Role: iris.RoleUser, Text: "text", Reasoning: "why", At: stored(time.Now())}
	gone := iris.Message{ID: "gone/1", Lane: lane, Role: iris.RoleAssistant, Text: "text", Reasoning: "why", ReplyTo: "kept", Model: "m", At: kept.At}
	noError(f.T, f.change(iris.CreateMessage{Message: kept}, iris.CreateMessage{Message: gone}))
	noError(f.T, f.change(iris.PutMessage{Message: gone.Tombstone()}))
	outcome(f, f.change(iris.CreateMessage{Message: gone}), iris.ErrRefused)

	var found []iris.Message
	take := func(m iris.Message) { found = append(found, m) }
	noError(f.T, f.Messages(f.ctx, f.g, []string{gone.ID, "unknown", kept.ID}, take))
	slices.SortFunc(found, func(a, b iris.Message) int { return strings.Compare(a.ID, b.ID) })
	kept.Cursor = 1
	equal(f, "found", found, []iris.Message{{ID: gone.ID, Lane: lane, Role: iris.RoleAssistant, At: kept.At, Cursor: 2, Deleted: true}, kept})
	found = nil
	noError(f.T, f.Messages(f.ctx, f.g, nil, take))
	equal(f, "of no ids", len(found), 0)
	left, _, err := f.History(f.ctx, f.g, lane, nil, 10)
	noError(f.T, err)
	equal(f, "history", left, []iris.Message{kept})
}

// A live document loses a message, whoever writes it meanwhile.
func testEditLive(f *fixture) {
	f.attached("w")
	noError(f.T, f.EditLive(f.ctx, f.g, "unknown", func(l iris.Live) (iris.Live, bool) { return l, true }))
	live := iris.Live{Turn: "t/1", Lane: iris.Lane{ChatID: "c"}, Writer: "w", Data: "old", At: stored(time.Now())}
	noError(f.T, f.CreateLive(f.ctx, f.g, live))
	noError(f.T, f.EditLive(f.ctx, f.g, live.Turn, func(l iris.Live) (iris.Live, bool) { l.Data = "x"; return l, false }))
	f.wantLives(live)
	noError(f.T, f.EditLive(f.ctx, f.g, live.Turn, func(l iris.Live) (iris.Live, bool) {
		l.Data, l.Writer = l.Data+" edited", "not kept"
		return l, true
	}))
	live.Data = "old edited"
	f.wantLives(live)
}

func (f *fixture) deletions() []iris.Deletion {
	f.Helper()
	all, err := f.Deletions(f.ctx, f.g)
	noError(f.T, err)
	return all
}

func (f *fixture) head() iris.Entry {
	f.Helper()
	head, err := f.Head(f.ctx, f.g)
	noError(f.T, err)
	return head
}
