package turn_test

import (
	"encoding/json"
	"slices"
	"strings"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// asking are the arguments of the calls and hooks by which hermes asks, and of
// the operations by which the recording test answered.
type asking struct {
	SessionKey  string          `json:"session_key"`
	Command     string          `json:"command"`
	Description string          `json:"description"`
	Permanent   bool            `json:"allow_permanent"`
	Question    string          `json:"question"`
	Title       string          `json:"title"`
	Message     string          `json:"message"`
	Choices     json.RawMessage `json:"choices"`
	Choice      string          `json:"choice"`
	ClarifyID   string          `json:"clarify_id"`
	ConfirmID   string          `json:"confirm_id"`
	Value       string          `json:"value"`
	Text        string          `json:"text"`
	Provider    string          `json:"provider"`
	CurModel    string          `json:"current_model"`
	CurProvider string          `json:"current_provider"`
	Providers   []struct {
		Slug   string   `json:"slug"`
		Name   string   `json:"name"`
		Models []string `json:"models"`
	} `json:"providers"`
}

// asked is a prompt that waits.
type asked struct {
	id, kind string
	key      string // of the session
	ref      string // what hermes calls it
	lane     iris.Lane
	turn     *recorded
	values   []string
	typed    string // what a person wrote meanwhile
}

// asks handles the calls that ask; it reports whether the call is one.
func (r *recording) asks(l line, lane iris.Lane, turn *recorded) bool {
	b, ok := promptOf(l)
	if !ok {
		return false
	}
	p := &asked{id: b.PromptID, kind: b.Kind, key: l.Args.SessionKey, ref: l.Args.ConfirmID, lane: lane, turn: turn}
	if calls := r.approvals[p.key]; b.Kind == link.PromptApproval && len(calls) > 0 {
		p.ref, r.approvals[p.key] = calls[0], calls[1:]
	}
	for _, c := range b.Choices {
		p.values = append(p.values, c.Value)
	}
	r.prompts = append(r.prompts, p)
	r.add(l, true, link.KindPrompt, lane, turn, b)
	return true
}

// promptOf makes the event's body of a call that asks.
func promptOf(l line) (link.Prompt, bool) {
	a := l.Args
	b := link.Prompt{PromptID: strings.Replace(l.ID, "out", "pr", 1)}
	switch l.Name {
	case "send_exec_approval":
		b.Kind, b.Command, b.Description, b.ExpiresAt = link.PromptApproval, a.Command, a.Description, l.at()+60_000
		for _, v := range []string{"once", "session", "always", "deny"} {
			if v != "always" || a.Permanent {
				b.Choices = append(b.Choices, link.Choice{Value: v})
			}
		}
	case "send_clarify":
		b.Kind, b.Question, b.AllowText, b.ExpiresAt = link.PromptClarify, a.Question, true, l.at()+3600_000
		var choices []string
		_ = json.Unmarshal(a.Choices, &choices)
		for _, c := range choices {
			b.Choices = append(b.Choices, link.Choice{Value: c, Label: c})
		}
	case "send_slash_confirm":
		b.Kind, b.Title, b.Text = link.PromptConfirm, a.Title, a.Message
	case "send_choice_picker":
		b.Kind, b.Title = link.PromptChoice, a.Title
		_ = json.Unmarshal(a.Choices, &b.Choices)
	case "send_model_picker":
		b.Kind, b.CurrentModel, b.CurrentProvider = link.PromptModel, a.CurModel, a.CurProvider
		for _, given := range a.Providers {
			offered := link.Provider{ID: given.Slug, Label: given.Name}
			for _, m := range given.Models {
				offered.Models = append(offered.Models, link.ModelLabel{ID: m, Label: m})
			}
			b.Providers = append(b.Providers, offered)
		}
	default:
		return b, false
	}
	return b, true
}

// closePrompt ends the first prompt that waits and is meant.
func (r *recording) closePrompt(l line, why, answer string, meant func(*asked) bool) (*asked, bool) {
	i := slices.IndexFunc(r.prompts, meant)
	if i < 0 {
		return nil, false
	}
	p := r.prompts[i]
	r.prompts = slices.Delete(r.prompts, i, i+1)
	if why == link.ClosedAnswered && p.turn != nil && p.turn.stopped {
		why = link.ClosedTurnEnded
	}
	b := link.PromptClosed{PromptID: p.id, Why: why}
	switch {
	case why != link.ClosedAnswered:
	case p.kind == link.PromptClarify && !slices.Contains(p.values, answer):
		b.Text = answer
	default:
		b.Value = &answer
	}
	r.add(l, true, link.KindPromptClosed, p.lane, p.turn, b)
	return p, true
}

// approved takes post_approval_response.
func (r *recording) approved(l line) {
	why := link.ClosedAnswered
	if l.Args.Choice == "timeout" {
		why = link.ClosedExpired
	}
	r.closePrompt(l, why, l.Args.Choice, func(p *asked) bool {
		return p.kind == link.PromptApproval && p.key == l.Args.SessionKey && p.ref == l.Args.ToolCallID
	})
}

// clarified takes the end of the clarify tool.
func (r *recording) clarified(l line, turn *recorded) {
	var result struct {
		Response string `json:"user_response"`
	}
	_ = json.Unmarshal([]byte(l.Args.Result), &result)
	r.closePrompt(l, link.ClosedAnswered, result.Response, func(p *asked) bool {
		return p.kind == link.PromptClarify && p.turn == turn
	})
}

// op takes what the recording test did: an answer from a device to a prompt of
// a command, whose reply comes back; or a text that answers one.
func (r *recording) op(l line) {
	a := l.Args
	if l.Name == "inbound" {
		value := map[string]string{"/approve": "once", "/always": "always", "/cancel": "cancel"}[a.Text]
		for _, p := range r.prompts {
			if p.kind == link.PromptConfirm && p.lane.ChatID == a.ChatID {
				p.typed = value
			}
		}
		return
	}
	reply, _ := l.Ret.(string)
	answer, kind := a.Choice, link.PromptConfirm
	switch {
	case reply == "" || l.Name != "result":
		return
	case a.Model != "":
		answer, kind = a.Provider+"/"+a.Model, link.PromptModel
	case a.ConfirmID == "":
		answer, kind = a.Value, link.PromptChoice
	}
	p, ok := r.closePrompt(l, link.ClosedAnswered, answer, func(p *asked) bool {
		return p.kind == kind && (p.lane.ChatID == a.ChatID || p.key == a.SessionKey && p.ref == a.ConfirmID)
	})
	if ok {
		r.add(l, true, link.KindSend, p.lane, nil, link.Send{MessageID: p.id + "-reply", Text: reply, Immediate: true})
	}
}

// typed closes the confirmation that a text has answered, once it is handled.
func (r *recording) typed(l line, lane iris.Lane) {
	for _, p := range r.prompts {
		if p.typed != "" && p.lane == lane {
			r.closePrompt(l, link.ClosedAnswered, p.typed, func(other *asked) bool { return other == p })
			return
		}
	}
}
