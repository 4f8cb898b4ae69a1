package search_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"iris-gateway/search"
)

// What is found, and in which order, is shown over both stores
// (cloudstore/storetest). Here: whatever matches has all the terms that the
// query is looked up by.
func FuzzQuery(f *testing.F) {
	f.Add("Please deploy log.go, ça 東京都 şımarık", "deploy LOG.g")
	f.Add("ｶﾞｷﾞ ﬁ ﷺ แมว नमस्ते 👩‍👩‍👧 é", "ガ")
	f.Add("a\u0300\u0301b\u200dc 1.2 ß", "ab")
	f.Add("喝茶。猫", "茶猫")
	f.Fuzz(func(t *testing.T, text, query string) {
		if !utf8.ValidString(text) || !utf8.ValidString(query) {
			return
		}
		terms := search.Terms(text)
		if len(terms) > search.MaxTerms {
			t.Fatalf("%d terms", len(terms))
		}
		size := 0
		for _, term := range terms {
			if size += len(term); term == "" || len(term) > 64 || !utf8.ValidString(term) {
				t.Fatalf("term %q", term)
			}
		}
		q := search.Parse(query)
		if !q.Match(text) {
			return
		}
		for _, term := range q.Terms() {
			if !slices.Contains(terms, term) && len(terms) < search.MaxTerms {
				t.Fatalf("%q finds %q, which has no term %q but %q", query, text, term, terms)
			}
		}
		if s := q.Snippet(text); !utf8.ValidString(s) || utf8.RuneCountInString(s) > 2000 || strings.ContainsAny(s, "\n\t") {
			t.Fatalf("snippet %q", s)
		}
	})
}

// Whatever somebody writes, what is kept for it is bounded.
func TestTermsAreBounded(t *testing.T) {
	t.Parallel()
	var words, han strings.Builder
	for i := range 20_000 {
		words.WriteString(strings.Repeat(string(rune('a'+i%26)), 1+i/26%40))
		words.WriteByte(' ')
		han.WriteRune(rune(0x4E00 + i))
	}
	for name, text := range map[string]string{
		"words": words.String(), "han": han.String(), "marks": "a" + strings.Repeat("\u0488", 5000), "one word": strings.Repeat("x", 1<<20),
	} {
		terms := search.Terms(text)
		size := 0
		for _, term := range terms {
			size += len(term) + search.TermOverhead
		}
		if len(terms) > search.MaxTerms || size > search.Bytes(len(text)) {
			t.Errorf("%s: %d terms of %d bytes, estimated %d", name, len(terms), size, search.Bytes(len(text)))
		}
	}
}

func TestQueryTerms(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"deployment":        "deployme", // the rest is filtered
		"depl":              "dep",
		"deplo now":         "deplo now", // only the last word is a prefix
		"to go":             "go to",
		"東京都":               "京都 東京",
		"猫":                 "猫",
		"the the the":       "the",
		"a b c d e f g h i": "a b c d e f g", // seven are enough
		"?!":                "",
		"Größe":             "gross",
	} {
		if got := strings.Join(search.Parse(query).Terms(), " "); got != want {
			t.Errorf("terms of %q are %q, want %q", query, got, want)
		}
	}
}

// The voice marks of half-width Kana are characters of their own, but belong to
// the one before: both ways of writing find each other, and not the unvoiced one.
func TestHalfWidthVoiceMarks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query, text string
		found       bool
	}{
		{"ガギグ", "ｶﾞｷﾞｸﾞ", true},
		{"ｶﾞ", "ガラス", true},
		{"パン", "ﾊﾟﾝ", true},
		{"ﾊﾟ", "パン", true},
		{"カ", "ｶﾞ", false},
		{"ハ", "ﾊﾟ", false},
		{"バ", "ﾊﾟ", false},
	} {
		if got := search.Parse(c.query).Match(c.text); got != c.found {
			t.Errorf("%q finds %q: %v", c.query, c.text, got)
		}
	}
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("before ", 20) + "the needle\n\n is\there " + strings.Repeat("after ", 40)
	for _, c := range []struct{ query, text, want string }{
		{"needle", "a needle", "a needle"},
		{"NEEDLE", " a \x07needle\n in  hay ", "a needle in hay"},
		{"need", long, "…before before before before before the needle is here " + strings.Repeat("after ", 16) + "after…"},
		{"京都", strings.Repeat("あ", 100) + "京都" + strings.Repeat("い", 200), "…" + strings.Repeat("あ", 40) + "京都" + strings.Repeat("い", 118) + "…"},
	} {
		if got := search.Parse(c.query).Snippet(c.text); got != c.want {
			t.Errorf("snippet of %q:\n got %q\nwant %q", c.query, got, c.want)
		}
	}
}

func BenchmarkTerms(b *testing.B) {
	text := strings.Repeat("The gateway keeps every message that a phone or the host sends, in order, until everybody has it. ", 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		search.Terms(text)
	}
}

func BenchmarkMatch(b *testing.B) {
	text := strings.Repeat("The gateway keeps every message that a phone or the host sends, in order, until everybody has it. ", 10)
	q := search.Parse("gateway missing")
	for b.Loop() {
		q.Match(text)
	}
}
