package testenv

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// secret is what no log may show, or none of ours.
type secret struct {
	class class
	value string
}

// A secret that is long enough is looked for by a piece of it: no shorter, so that it is
// not met by chance, and no longer, because a log may cut it. A single word must be
// as long as a token: a shorter one may be part of an id.
const (
	shortestPiece = 12
	shortestWord  = 24
	longestPiece  = 40
	shortestWhole = 2 // a single letter is also what programs write
)

// matcher knows how the secrets of a run look in a log.
type matcher struct {
	pieces map[head][]piece
	whole  map[string]class // those without a piece
	known  map[secret]bool
}

// head is how pieces are found: by their first bytes.
type head [shortestPiece]byte

type piece struct {
	text  string
	class class
}

func newMatcher() *matcher {
	return &matcher{pieces: map[head][]piece{}, whole: map[string]class{}, known: map[secret]bool{}}
}

func (m *matcher) add(s secret) {
	if m.known[s] || len(s.value) < shortestWhole || s.class == text && tellsNothing(s.value) {
		return
	}
	m.known[s] = true
	if p := pieceOf(s.value); p != "" {
		h := head([]byte(p))
		m.pieces[h] = append(m.pieces[h], piece{p, s.class})
	} else if m.whole[s.value] != token {
		m.whole[s.value] = s.class
	}
}

// tellsNothing reports whether a text is one that programs log for reasons of their
// own: a number, or a truth value.
func tellsNothing(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || text == "true" || text == "false" || text == "null"
}

// shown returns the first secret that a line shows, "" for none. Some lines may show
// texts, and only tokens are looked for.
func (m *matcher) shown(line []byte, textsToo bool) string {
	for i := 0; i+shortestPiece <= len(line); i++ {
		for _, p := range m.pieces[head(line[i:])] {
			if (p.class == token || textsToo) && bytes.HasPrefix(line[i:], []byte(p.text)) {
				return p.text
			}
		}
	}
	for _, v := range valuesOf(line) {
		if class, ok := m.whole[v]; ok && (class == token || textsToo) {
			return v
		}
	}
	return ""
}

// pieceOf is the longest stretch of a secret that every form of log writes as it
// is, "" if it is too short.
func pieceOf(secret string) string {
	longest := ""
	for _, p := range strings.FieldsFunc(secret, func(r rune) bool {
		return r > unicode.MaxASCII || r != ' ' && r != '-' && r != '_' && r != '.' && r != ',' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if len(p) > len(longest) {
			longest = p
		}
	}
	longest = strings.TrimSpace(longest)
	if len(longest) < shortestPiece || !strings.Contains(longest, " ") && len(longest) < shortestWord {
		return ""
	}
	return longest[:min(len(longest), longestPiece)]
}

// nameKeys are the attributes of a line that hold an id, or one of a few words of the
// program's own: a short text that happens to be the same is not meant.
var nameKeys = map[string]bool{
	"time": true, "level": true, "severity": true, "logging.googleapis.com/sourceLocation": true,
	"logging.googleapis.com/trace": true, "logging.googleapis.com/spanId": true, "trace": true, "span": true,
	"gateway": true, "device": true, "turn": true, "media": true, "deletion": true, "agent": true, "plugin": true,
	"kind": true, "mime": true, "code": true, "service": true, "outcome": true, "part": true, "logger": true,
}

// identifier is a word that between colons is the name of a function.
var identifier = regexp.MustCompile(`^[a-z_]+$`)

// valuesOf are the values of a line's attributes (JSON, key=value, or else all of
// it), but for names; what stands in quotes within them; and what colons part them
// into, as an error from its cause. Names that are repeated (device=d1 err="no device
// \"d1\"") are left out too.
func valuesOf(line []byte) []string {
	var found []string
	names := map[string]bool{}
	add := func(key, value string) {
		if nameKeys[key] {
			names[value] = true
			return
		}
		found = append(found, value)
		for part := range strings.SplitSeq(value, ": ") {
			if part != value && !identifier.MatchString(part) {
				found = append(found, part)
			}
		}
		found = appendQuoted(found, value)
	}
	line = bytes.TrimSpace(line)
	var object map[string]any
	switch {
	case len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &object) == nil:
		eachValue("", object, add)
	case !eachAttribute(string(line), add):
		found = found[:0]
		add("", string(line))
	}
	return slices.DeleteFunc(found, func(value string) bool { return names[value] })
}

// eachValue calls f for each string in a JSON value, with its key.
func eachValue(key string, v any, f func(key, value string)) {
	switch v := v.(type) {
	case string:
		f(key, v)
	case []any:
		for _, x := range v {
			eachValue(key, x, f)
		}
	case map[string]any:
		for k, x := range v {
			eachValue(k, x, f)
		}
	}
}

// eachAttribute calls f for each key=value of a line that consists of nothing else.
func eachAttribute(line string, f func(key, value string)) bool {
	for line != "" {
		key, rest, ok := strings.Cut(line, "=")
		if !ok || key == "" || strings.ContainsAny(key, " \"'") {
			return false
		}
		value, after, _ := strings.Cut(rest, " ")
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			value, _ = strconv.Unquote(quoted)
			after = strings.TrimPrefix(rest[len(quoted):], " ")
		}
		f(key, value)
		line = after
	}
	return true
}

// appendQuoted adds what stands in quotes of some sort.
func appendQuoted(found []string, value string) []string {
	for i, r := range value {
		closing := map[rune]string{'"': `"`, '\'': `'`, '“': `”`}[r]
		if closing == "" {
			continue
		}
		if quoted, err := strconv.QuotedPrefix(value[i:]); err == nil && r == '"' {
			value, _ := strconv.Unquote(quoted)
			found = append(found, value)
		} else if inner, _, ok := strings.Cut(value[i+utf8.RuneLen(r):], closing); ok {
			found = append(found, inner)
		}
	}
	return found
}
