package search

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// fold returns a word as it is compared: lower case, without accents, and each
// character in its usual form (full width, ligature, long s …).
func fold(word string) string {
	if lower, ok := foldASCII(word); ok {
		return lower
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(word) {
		if accent(r) {
			continue
		}
		r = unicode.ToLower(r)
		if s, ok := letters[r]; ok {
			b.WriteString(s)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFKC.String(b.String())
}

func foldASCII(word string) (string, bool) {
	for i := range len(word) {
		if word[i] >= 0x80 {
			return "", false
		}
	}
	return strings.ToLower(word), true
}

// accent reports whether a rune is a mark that people leave out when they look
// for a word: accents of Latin, Greek and Cyrillic, the vowel points of Hebrew
// and Arabic, and what is not seen at all. Other scripts spell with their marks.
func accent(r rune) bool {
	switch {
	case r >= 0x0300 && r <= 0x036F,
		r >= 0x0591 && r <= 0x05C7 && unicode.Is(unicode.Mn, r),
		r >= 0x0610 && r <= 0x061A,
		r >= 0x064B && r <= 0x065F, r == 0x0670, r == 0x0640:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// letters are written otherwise by those who do not have them on their
// keyboard, and are no letter with a mark for Unicode.
var letters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l", 'ħ': "h", 'ı': "i", 'ŋ': "n",
	'ς': "σ", 'ى': "ي", 'ة': "ه", 'ک': "ك", 'ی': "ي",
}
