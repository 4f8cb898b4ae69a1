package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"iris-gateway/iris"
	"iris-gateway/search"
)

// BenchmarkSearch fills a store with a history of so many messages, as long and
// with words as often as in conversations, and searches it.
func BenchmarkSearch(b *testing.B, s Store, messages int, reads func() int64) {
	const g = "g"
	r := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(r)
	began := time.Now()
	for cursor, n := int64(1), 0; n < messages; cursor++ {
		c := iris.Commit{Entry: iris.Entry{Cursor: cursor, Writer: "w", First: 1}}
		for range min(100, messages-n) {
			c.Changes = append(c.Changes, iris.CreateMessage{Message: iris.Message{
				ID: fmt.Sprint("m", n), Lane: iris.Lane{ChatID: fmt.Sprint("c", n%7)}, Role: iris.RoleUser,
				Text: words.text(r), At: time.Unix(int64(n), 0),
			}})
			n++
		}
		if err := s.Append(b.Context(), g, c); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d messages written in %v", messages, time.Since(began).Round(time.Second))
	for _, c := range []struct{ name, query string }{
		{"common", words.list[3]},
		{"rare", words.list[len(words.list)*3/4]},
		{"prefix", words.list[50][:3]},
		{"common and rare", words.list[1] + " " + words.list[len(words.list)/2]},
		{"two common", words.list[2] + " " + words.list[5]},
		{"none", "nowhere"},
	} {
		b.Run(c.name, func(b *testing.B) {
			q := search.Parse(c.query)
			hits, before := 0, reads()
			for b.Loop() {
				page, err := s.Search(b.Context(), g, iris.Search{Terms: q.Terms(), Accept: func(m iris.Message) bool { return q.Match(m.Text) }})
				if err != nil {
					b.Fatal(err)
				}
				hits = len(page.Messages)
			}
			b.ReportMetric(float64(hits), "hits")
			b.ReportMetric(float64(reads()-before)/float64(b.N), "reads/op")
		})
	}
}

// vocab are words of which the first are said most often.
type vocab struct {
	list []string
	zipf *rand.Zipf
}

func vocabulary(r *rand.Rand) vocab {
	const size = 20_000
	syllables := strings.Fields("ba de fo gu ka li mo nu pe ra si tu ve wo xi ya zen der ing ton")
	v := vocab{zipf: rand.NewZipf(r, 1.1, 3, size-1)}
	for i := range size {
		word := ""
		for n := i + len(syllables)*len(syllables); n > 0; n /= len(syllables) {
			word += syllables[n%len(syllables)]
		}
		v.list = append(v.list, word)
	}
	return v
}

// text makes a message: a few words mostly, sometimes a page.
func (v vocab) text(r *rand.Rand) string {
	n := 3 + r.IntN(20)
	if r.IntN(3) == 0 {
		n = 50 + r.IntN(150)
	}
	var words []string
	for range n {
		words = append(words, v.list[v.zipf.Uint64()])
	}
	return strings.Join(words, " ")
}
