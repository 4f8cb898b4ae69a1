package chat

import (
	"fmt"
	"strings"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Marks in front of what is said.
const (
	markUser      = "› "
	markAssistant = "● "
	markBeat      = "◦ "
	markSystem    = "▪ "
	markCron      = "⏰ "
	markRead      = "✓✓"
)

// view writes frames on a screen. It shows one lane as it lives, and of the
// others what is finished.
type view struct {
	screen
	reasoning bool // all of it, not just how it begins

	lane     iris.Lane
	standard string // the default channel
	names    map[iris.Lane]string
	done     map[string]bool        // finished messages: history, replay and live overlap
	said     map[iris.Lane][]string // finished messages that can be deleted, oldest first
	bubbles  map[string]*bubble
	last     string // message that the growing line belongs to
	tools    map[int]wire.ToolStart
	running  []int // tools that run, oldest first
	notes    map[int]string
	busy     bool
	working  map[iris.Lane]bool // lanes with a turn
	pickers  []asking           // questions that wait, oldest first
	asked    map[string]bool    // all questions that were shown or closed
	own      string             // id of this device
	files    []wire.Media       // that were shown, by their number
}

// bubble is a streamed message.
type bubble struct {
	printed string // clean
	broken  bool   // it does not stand on the screen in one piece
}

func newView(s screen) *view {
	return &view{
		screen: s, names: map[iris.Lane]string{}, done: map[string]bool{}, said: map[iris.Lane][]string{}, bubbles: map[string]*bubble{},
		tools: map[int]wire.ToolStart{}, notes: map[int]string{}, working: map[iris.Lane]bool{}, asked: map[string]bool{},
	}
}

// frame shows a frame. Types that it does not know are ignored.
func (v *view) frame(f device.Frame) error {
	switch kind, _, _ := strings.Cut(f.Type, "."); {
	case kind == "channel":
		return v.directory(f)
	case f.Type == "picker.closed":
		return with(f, func(p wire.PickerClosed) { v.answered(p, v.own) })
	case kind == "picker":
		return v.ask(f)
	case f.Type == "message.deleted":
		return v.deleted(f)
	case f.Type == "agent.busy" || f.Type == "agent.idle":
		v.working[f.Lane] = f.Type == "agent.busy"
	}
	if f.Lane.ChatID != "" && f.Lane != v.lane {
		return v.elsewhere(f)
	}
	return v.here(f)
}

// here shows a frame of the lane that is shown as it lives.
func (v *view) here(f device.Frame) error {
	switch f.Type {
	case "message":
		return with(f, v.message)
	case "message.start":
		return with(f, func(p wire.MessageStart) { v.bubble(p.MessageID) })
	case "message.update":
		return with(f, func(p wire.MessageUpdate) { v.update(p.MessageID, p.Text) })
	case "message.stop":
		return with(f, v.stop)
	case "commentary":
		return with(f, func(p wire.Commentary) {
			v.message(wire.Message{MessageID: p.MessageID, Role: iris.RoleAssistant, Text: p.Text, Commentary: true})
		})
	case "tool.start":
		return with(f, v.toolStart)
	case "tool.progress":
		return with(f, func(p wire.ToolProgress) { v.notes[p.Index] = p.Note })
	case "tool.end":
		return with(f, v.toolEnd)
	case "notification":
		return with(f, v.notification)
	case "agent.busy":
		v.busy = true
	case "agent.idle":
		v.idle()
	}
	return nil
}

// with decodes a frame's payload and passes it on.
func with[T any](f device.Frame, show func(T)) error {
	p, err := device.Payload[T](f)
	if err != nil {
		return err
	}
	show(p)
	return nil
}

// message shows a message that is whole.
func (v *view) message(m wire.Message) {
	if v.done[m.MessageID] {
		return
	}
	v.finish(v.lane, m.MessageID)
	text := terminal.Clean(m.Text)
	switch {
	case m.Commentary:
		v.block(markBeat, text, v.style.Dim, v.style.Dim)
		return
	case m.Role == iris.RoleUser:
		v.block(markUser, text, v.style.Accent, plain)
		v.attached(m.Media)
		return
	case m.Role == iris.RoleSystem:
		v.block(markSystem, text, v.style.Accent, plain)
	case m.Role == iris.RoleCron:
		v.block(markCron, text, v.style.Accent, plain)
	default:
		v.block(markAssistant, text, v.style.Good, plain)
	}
	v.attached(m.Media)
	v.footer(m.Reasoning, m.Model, m.Tokens, m.Runtime)
	v.line("")
}

// bubble returns the streamed message with an id.
func (v *view) bubble(id string) *bubble {
	b := v.bubbles[id]
	if b == nil {
		b = &bubble{}
		v.bubbles[id] = b
	}
	return b
}

// update shows how a streamed message grew: only what is new, if it grew at
// its end.
func (v *view) update(id, text string) {
	if v.done[id] {
		return
	}
	b := v.bubble(id)
	text = terminal.Clean(text)
	added, grew := strings.CutPrefix(text, b.printed)
	switch {
	case grew && added == "":
		return
	case !grew || b.printed == "": // the first of it, or all of it anew
		v.begin(markAssistant, v.style.Good)
		v.grow(text)
	case v.last == id && v.open:
		v.grow(added)
	default: // something else was said in between
		v.begin("… ", v.style.Dim)
		v.grow(added)
		b.broken = true
	}
	b.printed, v.last = text, id
}

// stop ends a streamed message.
func (v *view) stop(p wire.MessageStop) {
	if v.done[p.MessageID] {
		return
	}
	b := v.bubble(p.MessageID)
	text := terminal.Clean(p.FinalText)
	if p.Commentary {
		v.beat(p.MessageID, b, text)
	} else {
		v.update(p.MessageID, p.FinalText)
	}
	v.fresh()
	v.finish(v.lane, p.MessageID)
	delete(v.bubbles, p.MessageID)
	if p.Commentary {
		return
	}
	if p.Interrupted {
		v.line(v.style.Dim("  (cut off: the host was restarted)"))
	}
	v.footer(p.Reasoning, p.Model, p.Tokens, p.Runtime)
	v.line("")
}

// beat ends a message that turned out to be a beat. Where that is possible,
// what stands on the screen is written again, dimmed.
func (v *view) beat(id string, b *bubble, text string) {
	if b.printed == "" || v.last == id && !b.broken && v.unwrite() {
		v.block(markBeat, text, v.style.Dim, v.style.Dim)
		return
	}
	v.update(id, text)
}

// footer shows what is known about an answer, below it.
func (v *view) footer(reasoning, model string, tokens int, r *iris.Runtime) {
	if r == nil {
		r = &iris.Runtime{}
	}
	if text := strings.TrimSpace(terminal.Clean(reasoning)); text != "" {
		if !v.reasoning {
			text = cut(terminal.CleanLine(text), v.columns()-12)
		}
		v.block("  thought: ", strings.ReplaceAll(text, "\n", "\n  "), v.style.Dim, v.style.Dim)
	}
	var parts []string
	if r.Model != "" {
		model = r.Model
	}
	if model != "" {
		parts = append(parts, terminal.CleanLine(model))
	}
	if r.Latency > 0 {
		parts = append(parts, fmt.Sprintf("%.1f s", r.Latency))
	}
	if tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", tokens))
	}
	if r.ContextPct > 0 {
		parts = append(parts, fmt.Sprintf("context %d %%", r.ContextPct))
	}
	if r.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", r.Cost))
	}
	if len(parts) > 0 {
		v.line(v.style.Dim("  " + strings.Join(parts, " · ")))
	}
}

// notification shows a notice. Of the other kinds the thing itself is shown.
func (v *view) notification(n wire.Notification) {
	if n.Kind == "generic" {
		v.block("! ", terminal.CleanLine(n.Title)+": "+terminal.CleanLine(n.Body), v.style.Accent, plain)
	}
}

// idle ends a turn: whatever was left open in it stays as it is.
func (v *view) idle() {
	v.busy = false
	v.running = nil
	clear(v.tools)
	clear(v.notes)
	v.fresh()
}

// elsewhere shows what was said in another lane, once it is whole.
func (v *view) elsewhere(f device.Frame) error {
	name := v.name(f.Lane)
	say := func(id, text string) {
		if !v.done[id] {
			v.finish(f.Lane, id)
			v.block("["+name+"] ", terminal.CleanLine(text), v.style.Dim, plain)
		}
	}
	switch f.Type {
	case "notification":
		return with(f, v.notification)
	case "message":
		return with(f, func(p wire.Message) { say(p.MessageID, p.Text) })
	case "message.stop":
		return with(f, func(p wire.MessageStop) {
			if !p.Commentary {
				say(p.MessageID, p.FinalText)
			}
		})
	}
	return nil
}
