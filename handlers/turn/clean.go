package turn

import "strings"

// cursorMark is what hermes shows at the end of a text that still grows.
const cursorMark = "▉"

// mediaTag begins a line by which the model sends a file.
const mediaTag = "MEDIA:"

// cleanFinal returns a whole text of the model as devices get it, and the
// reasoning that stood in front of it: lines that are only a media tag go,
// outside of code, and so do newlines around the text.
func cleanFinal(raw string) (text, reasoning string) {
	reasoning, text = splitReasoning(strings.TrimLeft(raw, "\r\n"))
	return strings.Trim(dropMedia(text, false), "\r\n"), reasoning
}

// cleanLive is cleanFinal for a text that still grows: its cursor mark goes,
// and a last line that may become a media tag. What it returns for a text is a
// beginning of what it returns for a longer one.
func cleanLive(raw string) (text, reasoning string) {
	if cut, ok := strings.CutSuffix(raw, cursorMark); ok {
		raw = strings.TrimSuffix(cut, " ")
	}
	reasoning, text = splitReasoning(strings.TrimLeft(raw, "\r\n"))
	return strings.Trim(dropMedia(text, true), "\r\n"), reasoning
}

// dropMedia removes the lines that are only a media tag, outside of code
// fences; of a text that still grows also a last line that begins one.
func dropMedia(text string, live bool) string {
	var kept strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		whole := strings.HasSuffix(line, "\n")
		if fence == "" && (isMedia(line) || live && !whole && mayBecomeMedia(line)) {
			continue
		}
		fence = nextFence(fence, line)
		kept.WriteString(line)
	}
	return kept.String()
}

// isMedia reports whether a line is a media tag and nothing else. A path may
// hold spaces; a sentence that begins with the word is none.
func isMedia(line string) bool {
	rest, ok := strings.CutPrefix(bare(line), mediaTag)
	rest = strings.TrimSpace(rest)
	if !ok || rest == "" {
		return false
	}
	return !strings.ContainsAny(rest, " \t") || strings.ContainsRune("/~\"'`", rune(rest[0]))
}

// mayBecomeMedia reports whether an unfinished line may yet become a media tag.
// Space and a quote alone may, too: shown now, they would vanish later.
func mayBecomeMedia(line string) bool {
	line = bare(line)
	return strings.HasPrefix(line, mediaTag) || strings.HasPrefix(mediaTag, line)
}

// bare is a line without the space around it and the quote in front of it.
func bare(line string) string {
	line = strings.TrimSpace(line)
	if line != "" && strings.ContainsRune("`\"'", rune(line[0])) {
		return line[1:]
	}
	return line
}

// nextFence returns the code fence that is open after the line: "" or the
// marks that opened it.
func nextFence(open, line string) string {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 || s == "" || s[0] != '`' && s[0] != '~' {
		return open
	}
	marks := s[:len(s)-len(strings.TrimLeft(s, s[:1]))]
	info := strings.TrimSpace(s[len(marks):])
	switch {
	case len(marks) < 3:
		return open
	case open == "":
		if marks[0] == '`' && strings.Contains(info, "`") { // code within a line
			return ""
		}
		return marks
	case marks[0] == open[0] && len(marks) >= len(open) && info == "":
		return ""
	}
	return open
}

// The three forms in which hermes puts reasoning in front of a text, by its
// setting reasoning_style.
const (
	reasoningCode    = "💭 **Reasoning:**\n```\n"
	reasoningCodeEnd = "\n```\n\n"
	reasoningQuote   = "> 💭 **Reasoning:**\n"
	reasoningSubtext = "-# 💭 Reasoning\n"
)

// splitReasoning splits the reasoning off the start of a text. A form that it
// does not know is text.
func splitReasoning(s string) (reasoning, text string) {
	if rest, ok := strings.CutPrefix(s, reasoningCode); ok {
		if reasoning, text, ok = strings.Cut(rest, reasoningCodeEnd); ok {
			return reasoning, text
		}
		return "", s
	}
	if rest, ok := strings.CutPrefix(s, reasoningQuote); ok {
		return splitQuoted(s, rest, ">")
	}
	if rest, ok := strings.CutPrefix(s, reasoningSubtext); ok {
		return splitQuoted(s, rest, "-#")
	}
	return "", s
}

// splitQuoted takes the lines with the mark, up to an empty one.
func splitQuoted(s, rest, mark string) (reasoning, text string) {
	var lines []string
	for line := range strings.Lines(rest) {
		if line == "\n" {
			return strings.Join(lines, "\n"), rest[len(line):]
		}
		quoted, ok := strings.CutPrefix(line, mark)
		if !ok {
			break
		}
		lines = append(lines, strings.TrimSuffix(strings.TrimPrefix(quoted, " "), "\n"))
		rest = rest[len(line):]
	}
	return "", s
}

// maxReasoning is how much of an agent's reasoning is kept, in bytes. An agent that
// works for long thinks more than fits into an entry, and its answer would be lost
// for it.
const maxReasoning = 128 << 10

// bounded returns the beginning and the end of a reasoning that is too long.
func bounded(s string) string {
	if len(s) <= maxReasoning {
		return s
	}
	const half = maxReasoning / 2
	return strings.ToValidUTF8(s[:half], "") + "\n\n…\n\n" + strings.ToValidUTF8(s[len(s)-half:], "")
}
