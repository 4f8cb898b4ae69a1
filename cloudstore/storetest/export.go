package storetest

import (
	"time"

	"iris-gateway/iris"
)

// An export is everything, page by page, in the order of the log; a message that
// began before others and came after them is not left out.
func testExportMessages(f *fixture) {
	lane, now := iris.Lane{ChatID: "c"}, time.Now()
	put := func(cursor int64, messages ...iris.Message) {
		c := iris.Commit{Entry: iris.Entry{Cursor: cursor, Writer: "w"}}
		for _, m := range messages {
			m.Lane = lane
			c.Changes = append(c.Changes, iris.PutMessage{Message: m})
		}
		noError(f.T, f.Append(f.ctx, f.g, c))
	}
	put(1, iris.Message{ID: "b", At: now}, iris.Message{ID: "a", At: now}, iris.Message{ID: "first", At: now.Add(-time.Second)})
	put(2, iris.Message{ID: "gone", At: now, Deleted: true})
	put(3, iris.Message{ID: "late", At: now.Add(-time.Hour)})
	put(4, iris.Message{ID: "last", At: now})
	want := []string{"first", "a", "b", "late", "last"}
	for limit := 1; limit <= 7; limit++ {
		var got []string
		for after, more := (iris.ExportPlace{}), true; more; {
			page, err := f.ExportMessages(f.ctx, f.g, after, limit)
			noError(f.T, err)
			for _, m := range page.Messages {
				got = append(got, m.ID)
			}
			after, more = page.Last, page.More
		}
		equal(f, "exported", got, want)
	}
	n, err := f.CountMessages(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "count", n, len(want))
}
