package search

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// token is a word, or a single character of a script without spaces.
type token struct {
	text     string // folded
	from, to int    // where it stands in the text, in bytes
	solo     bool   // a single character
}

// solitary are the scripts whose words nothing separates, or which join so much
// to a word that its beginning is not enough to find it (Hangul).
var solitary = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// class says how a rune takes part in a token.
type class int

const (
	between class = iota // no part of any
	letter               // of a word
	single               // a token of its own
	joining              // belongs to what stands before it
)

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return letter
		}
		return between
	case r == 'ー' || r == 'ｰ': // the long vowel of Kana, which is of no script
		return single
	case r == 'ﾞ' || r == 'ﾟ', unicode.IsMark(r), unicode.Is(unicode.Cf, r):
		return joining
	case unicode.Is(unicode.So, r), unicode.IsLetter(r) && unicode.In(r, solitary...):
		return single
	case unicode.IsLetter(r), unicode.IsNumber(r):
		return letter
	}
	return between
}

// compose returns a text in the form that tokens are cut from.
func compose(text string) string { return norm.NFC.String(text) }

// tokens calls yield with each token of a composed text, until it returns false.
func tokens(text string, yield func(token) bool) {
	open, solo := -1, false // where the token that grows begins
	emit := func(to int) bool {
		if open < 0 {
			return true
		}
		t := token{text: fold(text[open:to]), from: open, to: to, solo: solo}
		open = -1
		return t.text == "" || yield(t)
	}
	for i, r := range text {
		c := classOf(r)
		if open >= 0 && (c == joining || c == letter && !solo) {
			continue
		}
		if !emit(i) {
			return
		}
		if c == letter || c == single {
			open, solo = i, c == single
		}
	}
	emit(len(text))
}
