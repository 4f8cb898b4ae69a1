package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"iris-gateway/iris"
	"iris-gateway/search"
)

// say writes messages, oldest first, each a second after the one before. The
// key of each is its id.
func (f *fixture) say(lane iris.Lane, texts ...[2]string) {
	f.Helper()
	head, err := f.Head(f.ctx, f.g)
	noError(f.T, err)
	for part := range slices.Chunk(texts, 300) {
		var changes []iris.Change
		for _, t := range part {
			f.said++
			changes = append(changes, iris.CreateMessage{Message: iris.Message{
				ID: t[0], Lane: lane, Role: iris.RoleUser, Text: t[1], At: began.Add(time.Duration(f.said) * time.Second),
			}})
		}
		head.Cursor++
		noError(f.T, f.Append(f.ctx, f.g, iris.Commit{Entry: iris.Entry{Cursor: head.Cursor, Writer: "w"}, Changes: changes}))
	}
}

var began = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// find looks for what somebody types, and returns the ids of a page.
func (f *fixture) find(query string, in iris.Lane, after iris.Place) (ids []string, page iris.Found) {
	f.Helper()
	q := search.Parse(query)
	page, err := f.Search(f.ctx, f.g, iris.Search{
		Terms: q.Terms(), ChatID: in.ChatID, ThreadID: in.ThreadID, After: after,
		Accept: func(m iris.Message) bool { return q.Match(m.Text) },
	})
	noError(f.T, err)
	for _, m := range page.Messages {
		ids = append(ids, m.ID)
	}
	return ids, page
}

// Which words find which messages, in which order: newest first.
func testSearchQuality(f *fixture) {
	f.say(iris.Lane{ChatID: "c"}, corpus...)
	for _, c := range quality {
		got, page := f.find(c.query, iris.Lane{}, iris.Place{})
		if want := strings.Fields(c.want); !slices.Equal(got, want) || page.More {
			f.Errorf("%q finds %v, more %v; want %v", c.query, got, page.More, want)
		}
	}
}

func testSearchScope(f *fixture) {
	everywhere := iris.Lane{}
	channel, thread, other := iris.Lane{ChatID: "a"}, iris.Lane{ChatID: "a", ThreadID: "t"}, iris.Lane{ChatID: "b", ThreadID: "t"}
	f.say(channel, [2]string{"flat", "apple pie"})
	f.say(thread, [2]string{"in-thread", "apple juice"})
	f.say(other, [2]string{"elsewhere", "apple tree"})
	for _, c := range []struct {
		in   iris.Lane
		want string
	}{
		{everywhere, "elsewhere in-thread flat"},
		{channel, "in-thread flat"},
		{thread, "in-thread"},
		{iris.Lane{ChatID: "b"}, "elsewhere"},
		{iris.Lane{ChatID: "b", ThreadID: "none"}, ""},
		{iris.Lane{ChatID: "none"}, ""},
	} {
		if got, _ := f.find("apple", c.in, iris.Place{}); strings.Join(got, " ") != c.want {
			f.Errorf("in %v: %v, want %v", c.in, got, c.want)
		}
	}
	found, page := f.find("juice", everywhere, iris.Place{})
	if len(found) != 1 || page.Messages[0].Lane != thread || page.Messages[0].Text != "apple juice" || page.Messages[0].Role != iris.RoleUser {
		f.Errorf("found %+v", page.Messages)
	}
}

// Pages go on where the last one ended, whether rows were found or only looked
// at, and all of them together are everything, once.
func testSearchPages(f *fixture) {
	var texts [][2]string
	hit := func(i int) bool { return i < 30 || i > 180 } // of 400: between them is much that is looked at for nothing
	for i := range 400 {
		text := "interface"
		if !hit(i) {
			text = "internal" // has the term of "interf", too
		}
		texts = append(texts, [2]string{fmt.Sprint("m", i), text})
	}
	f.say(iris.Lane{ChatID: "c"}, texts...)
	var want []string
	for i := 399; i >= 0; i-- {
		if hit(i) {
			want = append(want, fmt.Sprint("m", i))
		}
	}
	var got []string
	var after iris.Place
	for pages := 1; ; pages++ {
		ids, page := f.find("interf", iris.Lane{}, after)
		if got = append(got, ids...); len(ids) > iris.SearchHits {
			f.Fatalf("a page of %d", len(ids))
		}
		if !page.More {
			break
		}
		if after = page.Next; pages > 20 {
			f.Fatal("the pages do not end")
		}
	}
	equal(f, "all pages", got, want)

	// Exactly as many as a page holds: nothing more.
	_, page := f.find("interf", iris.Lane{}, iris.Place{At: began.Add(51 * time.Second), Row: "~"})
	if len(page.Messages) != 30 || page.More {
		f.Errorf("the last page has %d, more %v", len(page.Messages), page.More)
	}
}

// A common word costs nothing where a rare one leads to the rows.
func testSearchRarest(f *fixture) {
	var texts [][2]string
	for i := range 250 {
		text := "a common reply"
		if i < 3 {
			text = "a common but peculiar reply"
		}
		texts = append(texts, [2]string{fmt.Sprint("m", i), text})
	}
	f.say(iris.Lane{ChatID: "c"}, texts...)
	for _, query := range []string{"common peculiar", "peculiar reply", "reply but common"} {
		got, page := f.find(query, iris.Lane{}, iris.Place{})
		equal(f, query, got, []string{"m2", "m1", "m0"})
		equal(f, "more", page.More, false)
	}
}

// What was deleted, or replaced by another text, is not found by what it was.
func testSearchGone(f *fixture) {
	lane := iris.Lane{ChatID: "c"}
	f.say(lane, [2]string{"kept", "secret one"}, [2]string{"deleted", "secret two"}, [2]string{"replaced", "secret three"})
	noError(f.T, f.change(
		iris.PutMessage{Message: iris.Message{ID: "deleted", Lane: lane, At: began, Deleted: true}},
		iris.PutMessage{Message: iris.Message{ID: "replaced", Lane: lane, At: began, Text: "nothing"}},
	))
	got, _ := f.find("secret", iris.Lane{}, iris.Place{})
	equal(f, "found", got, []string{"kept"})
	got, _ = f.find("?!", iris.Lane{}, iris.Place{})
	equal(f, "by nothing", len(got), 0)
	m, err := f.Message(f.ctx, f.g, "kept")
	noError(f.T, err)
	equal(f, "terms are not read", len(m.Terms), 0)
}
