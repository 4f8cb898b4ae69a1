package rows

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"iris-gateway/iris"
	"iris-gateway/search"
)

// newMessage returns a copy of m as a commit writes it. A tombstone has no text,
// so nothing finds it.
func newMessage(m iris.Message, cursor int64, retention time.Duration) iris.Message {
	m = Message(m)
	m.Cursor = cursor
	m.Expires = Expires(m.At, retention)
	m.Terms = search.Terms(strings.ToValidUTF8(m.Text, ""))
	slices.Sort(m.Terms)
	return m
}

// Expires says when something goes that began at a time; never (zero) when all
// is kept.
func Expires(at time.Time, retention time.Duration) time.Time {
	if retention == 0 || at.IsZero() {
		return time.Time{}
	}
	return Time(at.Add(retention))
}

// Expired reports whether something is over that expires at a time. Firestore
// removes such a document within a day or so: until then it counts as gone.
func Expired(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// Shown reports whether a message is in the history: no tombstone, not expired.
func Shown(m iris.Message, now time.Time) bool { return !m.Deleted && !Expired(m.Expires, now) }

// DocID makes a document id of an id that comes from outside. Firestore refuses
// "__x__", "." and "..", "a/b" is a path, and ids have no more than 1,500
// bytes; a hash is none of these. The id itself is a field of the document.
func DocID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// PlaceOf returns where a message stands in the order of a search.
func PlaceOf(m iris.Message) iris.Place { return iris.Place{At: m.At, Row: DocID(m.ID)} }

// ComparePlaces sorts places, newest first.
func ComparePlaces(a, b iris.Place) int {
	if c := b.At.Compare(a.At); c != 0 {
		return c
	}
	return strings.Compare(b.Row, a.Row)
}

// CompareNewest sorts messages as their places are, newest first.
func CompareNewest(a, b iris.Message) int {
	if c := b.At.Compare(a.At); c != 0 {
		return c // the rest costs two hashes
	}
	return ComparePlaces(PlaceOf(a), PlaceOf(b))
}

// Found makes a page of the first rows, newest first, that a term led to: a full
// page of [iris.SearchRows] at most, or all there are.
func Found(page *Page[iris.Message], accept func(iris.Message) bool, now time.Time) iris.Found {
	var f iris.Found
	for _, m := range page.Rows {
		if !Shown(m, now) || !accept(m) {
			continue
		}
		if len(f.Messages) == iris.SearchHits {
			f.More, f.Next = true, PlaceOf(f.Messages[iris.SearchHits-1])
			return f
		}
		f.Messages = append(f.Messages, m)
	}
	if page.Full() {
		f.More, f.Next = true, PlaceOf(page.Rows[len(page.Rows)-1])
	}
	return f
}

// ExportPlace returns where a message stands in an export.
func ExportPlace(m iris.Message) iris.ExportPlace {
	return iris.ExportPlace{Cursor: m.Cursor, At: m.At, ID: m.ID}
}

// ExportPage makes a page of an export of the rows that a store read.
func ExportPage(read *Page[iris.Message], now time.Time) iris.ExportPage {
	var page iris.ExportPage
	if len(read.Rows) == 0 {
		return page
	}
	page.Last, page.More = ExportPlace(read.Rows[len(read.Rows)-1]), read.Full()
	for _, m := range read.Rows {
		if Shown(m, now) {
			page.Messages = append(page.Messages, m)
		}
	}
	return page
}
