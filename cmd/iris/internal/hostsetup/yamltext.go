package hostsetup

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The edits of this file return "" where they do not know how: block style is
// what they know, and scalars on one line.

// setText is the text with a value at a path.
func (f *yamlFile) setText(path []string, value string) string {
	lines := splitLines(f.text)
	for depth := len(path); depth > 0; depth-- {
		key, node := f.entry(path[:depth])
		switch {
		case node == nil:
			continue
		case depth == len(path):
			return replaceScalar(lines, key, node, value)
		case node.Kind == yaml.MappingNode && node.Line > key.Line && node.Style&yaml.FlowStyle == 0:
			return insert(lines, key.Line, nested(path[depth:], value, node.Column-1))
		case isNull(node) && node.Value == "":
			return insert(lines, key.Line, nested(path[depth:], value, key.Column+1))
		default:
			return ""
		}
	}
	return insert(lines, len(lines), nested(path, value, 0))
}

// splitLines returns the lines, each with its newline.
func splitLines(text string) []string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	lines := strings.SplitAfter(text, "\n")
	return lines[:len(lines)-1]
}

// insert puts new lines behind the first n.
func insert(lines []string, n int, more []string) string {
	return strings.Join(slices.Insert(slices.Clone(lines), n, more...), "")
}

// nested are the lines of a value below its path.
func nested(path []string, value string, indent int) []string {
	var lines []string
	for i, name := range path {
		line := strings.Repeat(" ", indent+2*i) + name + ":"
		if i == len(path)-1 {
			line += " " + value
		}
		lines = append(lines, line+"\n")
	}
	return lines
}

// replaceScalar writes a value in the place of a scalar.
func replaceScalar(lines []string, key, node *yaml.Node, value string) string {
	if node.Kind != yaml.ScalarNode || node.Line > len(lines) {
		return ""
	}
	lines = slices.Clone(lines)
	if isNull(node) && node.Value == "" {
		line := lines[key.Line-1]
		at := strings.Index(line[min(len(line), key.Column-1):], ":") + key.Column
		lines[key.Line-1] = line[:at] + " " + value + line[at:]
		return strings.Join(lines, "")
	}
	line := []rune(lines[node.Line-1])
	if node.Column-1 > len(line) {
		return ""
	}
	before, rest := string(line[:node.Column-1]), string(line[node.Column-1:])
	n := tokenLength(rest, node)
	if n == 0 {
		return ""
	}
	lines[node.Line-1] = before + value + rest[n:]
	return strings.Join(lines, "")
}

// tokenLength is how many bytes of a line a scalar takes, 0 if unknown.
func tokenLength(rest string, node *yaml.Node) int {
	switch {
	case node.Style == 0 && strings.HasPrefix(rest, node.Value):
		return len(node.Value)
	case node.Style == yaml.DoubleQuotedStyle && strings.HasPrefix(rest, `"`) && !strings.Contains(rest, `\`):
		return 2 + strings.Index(rest[1:], `"`)
	case node.Style == yaml.SingleQuotedStyle && strings.HasPrefix(rest, `'`) && !strings.Contains(rest, `''`):
		return 2 + strings.Index(rest[1:], `'`)
	}
	return 0
}

// removeText is the text without the entry at a path.
func (f *yamlFile) removeText(path []string) string {
	key, node := f.entry(path)
	if node == nil {
		return f.text
	}
	last := max(key.Line, node.Line)
	if node.Kind != yaml.ScalarNode {
		if len(node.Content) > 0 && node.Line != key.Line {
			return ""
		}
		last = key.Line
	}
	lines := splitLines(f.text)
	if last != key.Line || last > len(lines) {
		return ""
	}
	return blank(strings.Join(slices.Delete(lines, key.Line-1, last), ""))
}

// blank makes an empty text one that is not taken for no text.
func blank(text string) string {
	if text == "" {
		return "\n"
	}
	return text
}

// addText is the text with one more item in a list.
func (f *yamlFile) addText(list *yaml.Node, item string) string {
	lines := splitLines(f.text)
	if list.Style&yaml.FlowStyle == 0 && len(list.Content) > 0 {
		last := list.Content[len(list.Content)-1]
		if last.Kind != yaml.ScalarNode || last.Line > len(lines) {
			return ""
		}
		return insert(lines, last.Line, []string{strings.Repeat(" ", list.Column-1) + "- " + item + "\n"})
	}
	line := lines[list.Line-1]
	end := strings.Index(line[list.Column-1:], "]") + list.Column - 1
	if end < list.Column {
		return ""
	}
	if len(list.Content) > 0 {
		item = ", " + item
	}
	lines[list.Line-1] = strings.TrimRight(line[:end], " ") + item + line[end:]
	return strings.Join(lines, "")
}

// dropText is the text with an item less in the list at a path.
func (f *yamlFile) dropText(path []string, item string) string {
	list := f.get(path)
	i := indexOf(list, item)
	if i < 0 {
		return f.text
	}
	lines := splitLines(f.text)
	at := list.Content[i].Line - 1
	if list.Style&yaml.FlowStyle == 0 {
		return blank(strings.Join(slices.Delete(lines, at, at+1), ""))
	}
	for _, part := range []string{", " + item, "," + item, item + ", ", item + ",", item} {
		before, after, ok := strings.Cut(lines[at][list.Content[0].Column-1:], part)
		if ok {
			lines[at] = lines[at][:list.Content[0].Column-1] + before + after
			return strings.Join(lines, "")
		}
	}
	return ""
}
