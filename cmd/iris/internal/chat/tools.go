package chat

import (
	"fmt"
	"slices"
	"strings"

	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
)

// toolStart notes a tool that runs: it is a hint until it ends.
func (v *view) toolStart(p wire.ToolStart) {
	v.tools[p.Index] = p
	if !slices.Contains(v.running, p.Index) {
		v.running = append(v.running, p.Index)
	}
}

// toolEnd writes the line of a tool: what it was and how it went.
func (v *view) toolEnd(p wire.ToolEnd) {
	v.running = slices.DeleteFunc(v.running, func(i int) bool { return i == p.Index })
	mark := v.style.Good("✓")
	if !p.OK {
		mark = v.style.Bad("✗")
	}
	text := v.toolName(p.Index, p.Name)
	text = cut(text, v.columns()-12)
	v.line(fmt.Sprintf("%s %s %s", v.style.Dim(text), mark, v.style.Dim(fmt.Sprintf("%.1fs", p.Duration))))
	if out := lastLine(p.OutputPreview); !p.OK && out != "" {
		v.line(v.style.Dim("  " + cut(out, v.columns()-4)))
	}
	delete(v.tools, p.Index)
	delete(v.notes, p.Index)
}

// toolHint is what the newest running tool does, "" when none runs.
func (v *view) toolHint() string {
	if len(v.running) == 0 {
		return ""
	}
	index := v.running[len(v.running)-1]
	hint := v.toolName(index, "") + " …"
	if note := terminal.CleanLine(v.notes[index]); note != "" {
		hint += " " + note
	}
	return hint
}

// toolName is the one-liner of a tool; name is used when its start was lost.
func (v *view) toolName(index int, name string) string {
	start, ok := v.tools[index]
	if ok && start.Name != "" {
		name = start.Name
	}
	text := "⚙ " + terminal.CleanLine(name)
	preview := start.Preview
	if preview == "" {
		preview, _ = start.Args["command"].(string)
	}
	if preview = terminal.CleanLine(preview); preview != "" {
		text += ": " + preview
	}
	return text
}

// lastLine is the last line of a tool's output that says something: there the
// error stands.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(terminal.Clean(output)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
