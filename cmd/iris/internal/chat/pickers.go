package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// markAsk stands in front of a question of the agent, and of the prompt while
// one waits.
const markAsk = "? "

// picker is a question that waits for an answer.
type picker struct {
	id        string
	question  string
	details   []string
	options   []option
	allowText bool
	waits     bool // its turn waits for the answer
}

// option is an answer that can be chosen.
type option struct{ value, label, note string }

// pickerOf reads a picker frame; ok is false for a kind that it does not know.
func pickerOf(f device.Frame) (p picker, ok bool, err error) {
	switch f.Type {
	case wire.PickerApproval{}.FrameType():
		err = with(f, func(w wire.PickerApproval) { p = approval(w) })
	case wire.PickerClarify{}.FrameType():
		err = with(f, func(w wire.PickerClarify) {
			p = picker{id: w.PickerID, question: w.Question, options: options(w.Choices), allowText: w.AllowText, waits: true}
		})
	case wire.PickerConfirm{}.FrameType():
		err = with(f, func(w wire.PickerConfirm) {
			p = picker{id: w.PickerID, question: w.Title, details: strings.Split(w.Text, "\n"), options: options(w.Choices)}
		})
	case wire.PickerChoice{}.FrameType():
		err = with(f, func(w wire.PickerChoice) {
			p = picker{id: w.PickerID, question: w.Title, options: options(w.Choices)}
		})
	case wire.PickerModel{}.FrameType():
		err = with(f, func(w wire.PickerModel) { p = models(w) })
	default:
		return p, false, nil
	}
	return p, err == nil, err
}

func approval(w wire.PickerApproval) picker {
	p := picker{id: w.PickerID, question: "May this run?", details: strings.Split(w.Command, "\n"), options: options(w.Choices), waits: true}
	if w.Description != "" {
		p.details = append(p.details, "("+w.Description+")")
	}
	if w.ExpiresAt > 0 {
		p.details = append(p.details, "until "+time.UnixMilli(w.ExpiresAt).Format("15:04:05"))
	}
	return p
}

func models(w wire.PickerModel) picker {
	p := picker{id: w.PickerID, question: "Which model?"}
	for _, provider := range w.Providers {
		for _, m := range provider.Models {
			o := option{value: provider.ID + "/" + m.ID, label: cmp.Or(m.Label, m.ID), note: cmp.Or(provider.Label, provider.ID)}
			if provider.ID == w.CurrentProvider && m.ID == w.CurrentModel {
				o.note += ", current"
			}
			p.options = append(p.options, o)
		}
	}
	return p
}

func options(choices []wire.Choice) []option {
	var list []option
	for _, c := range choices {
		o := option{value: c.Value, label: cmp.Or(c.Label, c.Value), note: c.Description}
		if c.IsCurrent {
			o.note = strings.TrimPrefix(o.note+", current", ", ")
		}
		list = append(list, o)
	}
	return list
}

// ask shows a question, once: an open one comes again after a reconnect.
func (v *view) ask(f device.Frame) error {
	p, ok, err := pickerOf(f)
	if !ok || v.asked[p.id] {
		return err
	}
	v.asked[p.id] = true
	if f.Lane != v.lane {
		v.block("["+v.name(f.Lane)+"] ", "asks: "+terminal.CleanLine(p.question)+" (/go there to answer)", v.style.Dim, plain)
	} else {
		v.showPicker(p)
	}
	v.pickers = append(v.pickers, asking{lane: f.Lane, picker: p})
	return nil
}

// asking is a picker and where it was asked.
type asking struct {
	lane iris.Lane
	picker
	pending bool // an answer is on its way
}

// pending notes that an answer to a question is on its way, or is not.
func (v *view) pending(id string, on bool) {
	for i := range v.pickers {
		if v.pickers[i].id == id {
			v.pickers[i].pending = on
		}
	}
}

func (v *view) showPicker(p picker) {
	v.block(markAsk, terminal.Clean(p.question), v.style.Accent, v.style.Bold)
	for _, d := range p.details {
		if d = terminal.Clean(d); strings.TrimSpace(d) != "" {
			v.line("  " + d)
		}
	}
	for i, o := range p.options {
		line := fmt.Sprintf("  %s  %s", v.style.Accent(fmt.Sprintf("%2d", i+1)), terminal.CleanLine(o.label))
		if note := terminal.CleanLine(o.note); note != "" {
			line += v.style.Dim("  " + note)
		}
		v.line(line)
	}
	how := "type a number, or an answer of your own"
	switch {
	case len(p.options) == 0:
		how = "type your answer"
	case !p.allowText:
		how = "type a number"
	}
	v.line(v.style.Dim("  " + how))
}

// answered takes a question away.
func (v *view) answered(p wire.PickerClosed, own string) {
	v.asked[p.PickerID] = true
	i := slices.IndexFunc(v.pickers, func(a asking) bool { return a.id == p.PickerID })
	if i < 0 {
		return
	}
	a := v.pickers[i]
	v.pickers = slices.Delete(v.pickers, i, i+1)
	if a.lane != v.lane {
		return
	}
	answer := p.Text
	if p.Value != nil {
		answer = *p.Value
		for _, o := range a.options {
			if o.value == *p.Value {
				answer = o.label
			}
		}
	}
	switch answer = terminal.CleanLine(answer); {
	case answer == "":
		v.line(v.style.Dim("  closed without an answer"))
	case p.DeviceID == own:
		v.line("  " + v.style.Good("✓ ") + answer)
	default:
		v.line("  " + v.style.Good("✓ ") + answer + v.style.Dim(" (answered elsewhere)"))
	}
}

// question returns the question that a line answers: the newest of the lane,
// which is the one that stands lowest on the screen.
func (v *view) question() (picker, bool) {
	for _, a := range slices.Backward(v.pickers) {
		if a.lane == v.lane && !a.pending {
			return a.picker, true
		}
	}
	return picker{}, false
}

// choose finds the answer that a person means: by its number, its words, or,
// where that is allowed, words of their own. ok is false for a line that is no
// answer.
func (p picker) choose(text string) (answer wire.PickerSelect, ok bool) {
	answer.PickerID = p.id
	text = strings.TrimSpace(text)
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(p.options) {
		answer.Value = &p.options[n-1].value
		return answer, true
	}
	for i, o := range p.options {
		if strings.EqualFold(text, o.value) || strings.EqualFold(text, o.label) {
			answer.Value = &p.options[i].value
			return answer, true
		}
	}
	answer.Text = text
	return answer, p.allowText && text != ""
}
