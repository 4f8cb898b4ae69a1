package search

import "unicode/utf8"

// Bounds of what is kept of a message for search.
const (
	// MaxTerms is how many terms a message has at most: some 900 different
	// words, or 1,000 different pairs of Han characters. What comes after them
	// in a longer message is not found.
	MaxTerms = 2000
	// maxTerm bounds the bytes of a term: a word's first letters, each with
	// marks that may be many.
	maxTerm = 64
)

// A word is found by its beginnings of these many letters. The last one also
// stands for the whole word: what follows in it is left to the filter.
const (
	shortPrefix = 3
	midPrefix   = 5
	longPrefix  = 8
)

// Terms returns the terms that a text is found by, each once.
func Terms(text string) []string {
	text = compose(text)
	var terms []string
	known := map[string]bool{}
	add := func(term string) {
		if len(terms) < MaxTerms && !known[term] {
			known[term] = true
			terms = append(terms, term)
		}
	}
	var last token
	tokens(text, func(t token) bool {
		switch {
		case !t.solo:
			add(prefix(t.text, longPrefix))
			add(prefix(t.text, midPrefix))
			add(prefix(t.text, shortPrefix))
		default:
			if last.solo && last.to == t.from {
				add(bound(last.text + t.text))
			}
			add(bound(t.text))
		}
		last = t
		return len(terms) < MaxTerms
	})
	return terms
}

// TermOverhead is what a document needs for a term beside its bytes.
const TermOverhead = 8

// Bytes estimates what the terms of a text of n bytes take in a document: from
// above, but for text that is made of ligatures.
func Bytes(n int) int {
	return min(n, MaxTerms)*TermOverhead + min(4*n, MaxTerms*maxTerm)
}

// prefix returns the first n letters of a word, all of a shorter one.
func prefix(word string, n int) string {
	for i := range word {
		if n == 0 {
			return bound(word[:i])
		}
		n--
	}
	return bound(word)
}

// bound cuts a term that is absurdly long.
func bound(term string) string {
	if len(term) <= maxTerm {
		return term
	}
	cut := maxTerm
	for !utf8.RuneStart(term[cut]) {
		cut--
	}
	return term[:cut]
}
