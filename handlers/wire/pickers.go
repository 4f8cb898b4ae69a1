package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"iris-gateway/iris"
)

// TypePickerSelect is the type of the request that answers a picker.
const TypePickerSelect = "picker.select"

// Pickers are questions of the agent (protocol: Pickers). The picker_id
// is the host's prompt_id. Extra holds fields of the host that this package does
// not know: they are copied through.
type (
	// PickerModel asks for a model. Its answer's value is provider/model.
	PickerModel struct {
		PickerID        string           `json:"picker_id"`
		CurrentModel    string           `json:"current_model"`
		CurrentProvider string           `json:"current_provider"`
		Providers       []PickerProvider `json:"providers"`
		Extra           map[string]any   `json:"-"`
	}

	// PickerChoice asks to choose one of some settings.
	PickerChoice struct {
		PickerID string         `json:"picker_id"`
		Title    string         `json:"title"`
		Choices  []Choice       `json:"choices"`
		Extra    map[string]any `json:"-"`
	}

	// PickerClarify asks what the person means.
	PickerClarify struct {
		PickerID  string         `json:"picker_id"`
		Question  string         `json:"question"`
		Choices   []Choice       `json:"choices"`
		AllowText bool           `json:"allow_text"` // an answer may be free text
		Extra     map[string]any `json:"-"`
	}

	// PickerApproval asks whether a command may run.
	PickerApproval struct {
		PickerID    string         `json:"picker_id"`
		Command     string         `json:"command"`
		Description string         `json:"description"`
		Choices     []Choice       `json:"choices"`
		ExpiresAt   int64          `json:"expires_at,omitempty"` // ms since 1970; then the host gives up
		Extra       map[string]any `json:"-"`
	}

	// PickerConfirm asks whether to go on.
	PickerConfirm struct {
		PickerID string         `json:"picker_id"`
		Title    string         `json:"title"`
		Text     string         `json:"text"`
		Choices  []Choice       `json:"choices"`
		Extra    map[string]any `json:"-"`
	}

	// PickerClosed takes a picker away: it was answered, or the host gave it up
	// (then value is null, and no device is named).
	PickerClosed struct {
		PickerID string  `json:"picker_id"`
		Value    *string `json:"value" jsonschema:"nullable"` // null for free text, too
		Text     string  `json:"text,omitempty"`              // free text
		DeviceID string  `json:"device_id,omitempty"`         // who answered
	}
)

// Choice is something that can be chosen in a picker.
type Choice struct {
	Value       string `json:"value"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Style       string `json:"style,omitempty" jsonschema:"enum=primary,enum=danger"`
	IsCurrent   bool   `json:"is_current,omitempty"`
}

// PickerProvider is a provider of models in [PickerModel].
type PickerProvider struct {
	ID     string       `json:"id"`
	Label  string       `json:"label"`
	Models []ModelLabel `json:"models"`
}

// ModelLabel names a model in [PickerModel].
type ModelLabel struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// PickerSelect answers a picker: with the value of one of its choices, or with
// free text.
type PickerSelect struct {
	PickerID string  `json:"picker_id" jsonschema:"required"`
	Value    *string `json:"value"`
	Text     string  `json:"text,omitempty"`
}

// Validate checks an answer (protocol: Pickers).
func (p *PickerSelect) Validate() error {
	switch {
	case p.PickerID == "":
		return iris.Errorf(iris.CodeUnsupported, "picker_id is missing")
	case p.Value == nil && p.Text == "":
		return iris.Errorf(iris.CodeUnsupported, "value is missing: send the value of a choice, or null with a text")
	case p.Value != nil && p.Text != "":
		return iris.Errorf(iris.CodeUnsupported, "text goes with value null: an answer is either a choice or free text")
	case p.Value != nil && len(*p.Value) > MaxPickerValue:
		return iris.Errorf(iris.CodeUnsupported, "value has %d bytes, the limit is %d", len(*p.Value), MaxPickerValue)
	case len(p.Text) > MaxMessageText:
		return iris.Errorf(iris.CodeUnsupported, "text has %d bytes, the limit is %d (64 KiB)", len(p.Text), MaxMessageText)
	}
	return CheckID("picker_id", p.PickerID)
}

// FrameType implements [Payload].
func (PickerModel) FrameType() string    { return "picker.model" }
func (PickerChoice) FrameType() string   { return "picker.choice" }
func (PickerClarify) FrameType() string  { return "picker.clarify" }
func (PickerApproval) FrameType() string { return "picker.approval" }
func (PickerConfirm) FrameType() string  { return "picker.confirm" }
func (PickerClosed) FrameType() string   { return "picker.closed" }

// MarshalJSON adds what the host added.
func (p PickerModel) MarshalJSON() ([]byte, error) {
	type plain PickerModel
	p.Providers = list(p.Providers)
	return withExtra(plain(p), p.Extra)
}

// MarshalJSON adds what the host added.
func (p PickerChoice) MarshalJSON() ([]byte, error) {
	type plain PickerChoice
	p.Choices = list(p.Choices)
	return withExtra(plain(p), p.Extra)
}

// MarshalJSON adds what the host added.
func (p PickerClarify) MarshalJSON() ([]byte, error) {
	type plain PickerClarify
	p.Choices = list(p.Choices)
	return withExtra(plain(p), p.Extra)
}

// MarshalJSON adds what the host added.
func (p PickerApproval) MarshalJSON() ([]byte, error) {
	type plain PickerApproval
	p.Choices = list(p.Choices)
	return withExtra(plain(p), p.Extra)
}

// MarshalJSON adds what the host added.
func (p PickerConfirm) MarshalJSON() ([]byte, error) {
	type plain PickerConfirm
	p.Choices = list(p.Choices)
	return withExtra(plain(p), p.Extra)
}

// list makes a list of none an empty one: null is not what a client expects.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// withExtra encodes a struct and, behind its own fields, those of extra that it
// does not have.
func withExtra(plain any, extra map[string]any) ([]byte, error) {
	var b bytes.Buffer
	write(&b, plain)
	if len(extra) == 0 {
		return b.Bytes(), nil
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(b.Bytes(), &own); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - 1) // the closing brace; a picker always has a field
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, taken := own[name]; taken {
			continue
		}
		b.WriteByte(',')
		write(&b, name)
		b.WriteByte(':')
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(extra[name]); err != nil {
			return nil, err
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
