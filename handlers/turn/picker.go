package turn

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
)

// picker returns the frame of a prompt, or nil if its kind is not known. body
// is the event's: the fields of the host that are unknown here are copied.
func picker(b link.Prompt, body json.RawMessage) wire.Payload {
	extra := extraOf(body)
	switch b.Kind {
	case link.PromptApproval:
		return wire.PickerApproval{
			PickerID: b.PromptID, Command: b.Command, Description: b.Description,
			Choices: choices(b, "once", "session", "always", "deny"), ExpiresAt: b.ExpiresAt, Extra: extra,
		}
	case link.PromptClarify:
		return wire.PickerClarify{
			PickerID: b.PromptID, Question: b.Question, Choices: choices(b),
			AllowText: b.AllowText || len(b.Choices) == 0, Extra: extra,
		}
	case link.PromptConfirm:
		return wire.PickerConfirm{
			PickerID: b.PromptID, Title: b.Title, Text: confirmText(b.Text),
			Choices: choices(b, "once", "always", "cancel"), Extra: extra,
		}
	case link.PromptChoice:
		return wire.PickerChoice{PickerID: b.PromptID, Title: b.Title, Choices: choices(b), Extra: extra}
	case link.PromptModel:
		return wire.PickerModel{
			PickerID: b.PromptID, CurrentModel: b.CurrentModel, CurrentProvider: b.CurrentProvider,
			Providers: providers(b), Extra: extra,
		}
	}
	return nil
}

// known are the labels and styles of the values that hermes always uses.
var known = map[string]map[string]wire.Choice{
	link.PromptApproval: {
		"once":    {Label: "Allow once", Style: "primary"},
		"session": {Label: "Allow for this session"},
		"always":  {Label: "Always allow"},
		"deny":    {Label: "Deny", Style: "danger"},
	},
	link.PromptConfirm: {
		"once":   {Label: "Go ahead", Style: "primary"},
		"always": {Label: "Go ahead, never ask again"},
		"cancel": {Label: "Cancel"},
	},
}

// choices returns the choices of a prompt: the host's, or else those that its
// kind always has. One without a value could not be answered.
func choices(b link.Prompt, usual ...string) []wire.Choice {
	given := b.Choices
	if len(given) == 0 {
		for _, value := range usual {
			given = append(given, link.Choice{Value: value})
		}
	}
	all := make([]wire.Choice, 0, len(given))
	for _, c := range given {
		if c.Value == "" {
			continue
		}
		k := known[b.Kind][c.Value]
		all = append(all, wire.Choice{
			Value: c.Value, Label: cmp.Or(c.Label, k.Label, c.Value),
			Description: c.Description, Style: cmp.Or(style(c.Style), k.Style), IsCurrent: c.IsCurrent,
		})
	}
	return all
}

// style returns a style that devices know, or none.
func style(s string) string {
	if s == "primary" || s == "danger" {
		return s
	}
	return ""
}

func providers(b link.Prompt) []wire.PickerProvider {
	all := make([]wire.PickerProvider, 0, len(b.Providers))
	for _, p := range b.Providers {
		models := make([]wire.ModelLabel, 0, len(p.Models))
		for _, m := range p.Models {
			models = append(models, wire.ModelLabel{ID: m.ID, Label: cmp.Or(m.Label, m.ID)})
		}
		all = append(all, wire.PickerProvider{ID: p.ID, Label: cmp.Or(p.Label, p.ID), Models: models})
	}
	return all
}

// confirmText drops what hermes says to people without buttons.
func confirmText(text string) string {
	text, _, _ = strings.Cut(text, "\n\nChoose:\n")
	return strings.Trim(text, "\r\n")
}

// extraOf returns the fields that the host added to a prompt: all but those
// that its picker has. Those that belong to another kind are none if empty.
func extraOf(body json.RawMessage) map[string]any {
	var all, fields map[string]json.RawMessage
	prompt, err := json.Marshal(link.Prompt{})
	if err != nil || json.Unmarshal(prompt, &fields) != nil || json.Unmarshal(body, &all) != nil {
		return nil
	}
	extra := make(map[string]any)
	for name, value := range all {
		if _, field := fields[name]; !field || !isEmpty(value) {
			extra[name] = value
		}
	}
	delete(extra, "prompt_id")
	delete(extra, "kind")
	return extra
}

func isEmpty(value json.RawMessage) bool {
	return slices.Contains([]string{"null", `""`, "0", "false", "[]", "{}"}, string(value))
}

// promptNotification mirrors a prompt that a turn waits for. It is what pushes.
func promptNotification(ev link.Event, b link.Prompt) wire.Notification {
	n := wire.Notification{Kind: b.Kind, Title: "Question", Body: b.Question, TS: ev.At, ExpiresAt: b.ExpiresAt}
	if b.Kind == link.PromptApproval {
		n.Title, n.Body = "Approval needed", cmp.Or(b.Command, b.Description)
	}
	n.Body = preview(n.Body)
	return n
}
