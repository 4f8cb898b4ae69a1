package e2e_test

import (
	"fmt"
	"strings"

	"iris-gateway/e2e"
)

// faults are what is wrong with the frames of a lane, whatever was said: the rules
// that also hold for live frames, of which some may be missing.
func faults(frames []e2e.Frame) []string {
	r := rules{texts: map[string]string{}, stopped: map[string]bool{}, started: map[string]bool{}}
	for i, f := range frames {
		r.frame(i, f)
	}
	for id := range r.started {
		if !r.stopped[id] {
			r.fault("message %s never stops", id)
		}
	}
	if r.busy {
		r.fault("the lane stays busy")
	}
	if r.typing {
		r.fault("typing stays on")
	}
	return r.found
}

type rules struct {
	found   []string
	texts   map[string]string // message → newest text
	started map[string]bool
	stopped map[string]bool
	running []int // tools
	last    int   // index of the last tool
	busy    bool
	typing  bool
}

func (r *rules) fault(format string, args ...any) {
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

func (r *rules) frame(i int, f e2e.Frame) {
	id, at := f.Body.MessageID, fmt.Sprintf("frame %d, %s", i, f)
	switch f.Type {
	case "agent.busy":
		r.busy = true
	case "agent.idle":
		if !r.busy {
			r.fault("idle though not busy: %s", at)
		}
		r.busy, r.last, r.running = false, 0, nil
	case "typing":
		r.typing = f.Body.On
	case "message.start":
		if r.started[id] || r.stopped[id] {
			r.fault("starts twice: %s", at)
		}
		r.started[id] = true
	case "message.update":
		r.text(id, f.Body.Text, at)
		if !r.started[id] {
			r.fault("not started: %s", at)
		}
		r.inTurn(at)
	case "message.stop":
		r.text(id, f.Body.FinalText, at)
		r.stopped[id] = true
		r.inTurn(at)
	case "tool.start":
		if f.Body.Index < r.last {
			r.fault("index goes back: %s", at)
		}
		r.last = f.Body.Index
		r.inTurn(at)
	case "tool.end":
		r.inTurn(at)
	}
	for _, text := range []string{f.Body.Text, f.Body.FinalText} {
		if strings.HasPrefix(text, "\n") || strings.Contains(text, "▉") || strings.Contains(text, "\nMEDIA:") {
			r.fault("what no phone should see: %s", at)
		}
	}
}

// text wants a message's text to grow, blanks at the end aside, until it stops once.
func (r *rules) text(id, text, at string) {
	if r.stopped[id] {
		r.fault("already stopped: %s", at)
	}
	if !strings.HasPrefix(text, strings.TrimRight(r.texts[id], " \n")) {
		r.fault("%q does not grow: %s", r.texts[id], at)
	}
	r.texts[id] = text
}

func (r *rules) inTurn(at string) {
	if !r.busy {
		r.fault("outside a turn: %s", at)
	}
}
