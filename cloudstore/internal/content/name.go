package content

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is how many bytes of a name are kept: what file systems take.
const maxName = 255

// maxExtension is how long the end of a name may be that survives shortening.
const maxExtension = 16

// Filename returns a name that can be used as a file's: any Unicode is kept,
// path parts, control characters and those that turn the writing direction are gone, and it has 255 bytes at most, of
// which the extension is kept. One with nothing left is "file".
func Filename(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || turns(r) { // line ends, too
			return -1
		}
		return r
	}, name)
	name = strings.TrimSpace(name)
	if strings.Trim(name, ".") == "" {
		return "file"
	}
	if len(name) <= maxName {
		return name
	}
	ext := path.Ext(name)
	if len(ext) > maxExtension {
		ext = ""
	}
	return strings.TrimSpace(cut(name, maxName-len(ext))) + ext
}

// turns reports whether r turns the writing direction around, which lets
// "photo\u202Egnp.exe" look like a picture. The letters themselves need it not.
func turns(r rune) bool {
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// cut returns the first limit bytes of s, or fewer so that no character breaks.
func cut(s string, limit int) string {
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
