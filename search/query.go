package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Query is what somebody looks for. A text is found if it has everything that
// is asked for, in any order: words, and what is written without a space, such
// as "log.go", in just this sequence. The last word need only be begun, from
// its third letter on.
type Query struct {
	phrases [][]token
	open    bool // the last token is the beginning of a word
}

// Parse reads what somebody typed. A query without any token finds nothing.
func Parse(text string) Query {
	var q Query
	for _, chunk := range strings.Fields(compose(text)) {
		var phrase []token
		tokens(chunk, func(t token) bool {
			phrase = append(phrase, t)
			return true
		})
		if len(phrase) > 0 {
			q.phrases = append(q.phrases, phrase)
		}
	}
	if n := len(q.phrases); n > 0 {
		last := q.phrases[n-1][len(q.phrases[n-1])-1]
		q.open = !last.solo && utf8.RuneCountInString(last.text) >= shortPrefix
	}
	return q
}

// MaxCandidates is how many terms of a query a store may have to compare.
const MaxCandidates = 7

// Terms returns terms of which every text has all that the query finds, the
// most telling first, MaxCandidates at most. Which one is the rarest the store
// knows.
func (q Query) Terms() []string {
	var terms []string
	for i, phrase := range q.phrases {
		for j, t := range phrase {
			open := q.open && i == len(q.phrases)-1 && j == len(phrase)-1
			terms = append(terms, termOf(phrase, j, t, open))
		}
	}
	slices.SortFunc(terms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	terms = slices.Compact(terms)
	return terms[:min(len(terms), MaxCandidates)]
}

// termOf returns the best term for token j of a phrase.
func termOf(phrase []token, j int, t token, open bool) string {
	switch {
	case t.solo && j > 0 && touch(phrase[j-1], t):
		return bound(phrase[j-1].text + t.text)
	case t.solo && j+1 < len(phrase) && touch(t, phrase[j+1]):
		return bound(t.text + phrase[j+1].text)
	case t.solo:
		return bound(t.text)
	}
	n := utf8.RuneCountInString(t.text)
	switch {
	case !open || n >= longPrefix:
		return prefix(t.text, longPrefix)
	case n >= midPrefix:
		return prefix(t.text, midPrefix)
	}
	return prefix(t.text, shortPrefix)
}

// touch reports whether two characters stand side by side.
func touch(a, b token) bool { return a.solo && b.solo && a.to == b.from }

// Match reports whether the query finds a text.
func (q Query) Match(text string) bool {
	_, found := q.find(compose(text))
	return found
}

// find returns where in a composed text the first phrase stands.
func (q Query) find(text string) (at int, found bool) {
	if len(q.phrases) == 0 {
		return 0, false
	}
	places := make([]int, len(q.phrases)) // of each phrase, from 1
	missing := len(q.phrases)
	var window []token
	tokens(text, func(t token) bool {
		window = append(window, t)
		for i, phrase := range q.phrases {
			if places[i] == 0 && q.ends(window, phrase, i == len(q.phrases)-1) {
				places[i] = 1 + window[len(window)-len(phrase)].from
				missing--
			}
		}
		return missing > 0
	})
	return places[0] - 1, missing == 0
}

// ends reports whether a sequence of tokens ends with a phrase.
func (q Query) ends(seq, phrase []token, last bool) bool {
	if len(seq) < len(phrase) {
		return false
	}
	seq = seq[len(seq)-len(phrase):]
	for i := len(phrase) - 1; i >= 0; i-- { // the end is what differs most
		p, t := phrase[i], seq[i]
		begun := last && q.open && i == len(phrase)-1 && strings.HasPrefix(t.text, p.text)
		if t.solo != p.solo || t.text != p.text && !begun {
			return false
		}
		if i > 0 && touch(phrase[i-1], p) && !touch(seq[i-1], t) {
			return false
		}
	}
	return true
}
