package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Frame is a frame of wire protocol v1 as a phone reads it.
type Frame struct {
	V        int             `json:"v"`
	ID       json.RawMessage `json:"id"`
	Type     string          `json:"type"`
	ChatID   string          `json:"chat_id"`
	ThreadID string          `json:"thread_id"`
	Cursor   int64           `json:"cursor"`
	Payload  json.RawMessage `json:"payload"`

	Bytes []byte `json:"-"` // of a binary frame, whose Type is Binary

	// What the tests look at of the payloads, whichever frame it is.
	Body struct {
		MessageID string    `json:"message_id"`
		Role      string    `json:"role"`
		Text      string    `json:"text"`
		FinalText string    `json:"final_text"`
		Model     string    `json:"model"`
		Tokens    int       `json:"tokens"`
		Runtime   *Runtime  `json:"runtime"`
		State     string    `json:"state"`
		Reason    string    `json:"reason"`
		On        bool      `json:"on"`
		Code      string    `json:"code"`
		Message   string    `json:"message"`
		Cursor    int64     `json:"cursor"`
		Complete  bool      `json:"complete"`
		Messages  []Message `json:"messages"`
		Channels  []struct {
			ChatID    string `json:"chat_id"`
			IsDefault bool   `json:"is_default"`
		} `json:"channels"`
		Interrupted bool    `json:"interrupted"`
		ChatID      string  `json:"chat_id"`
		ThreadID    string  `json:"thread_id"`
		PickerID    string  `json:"picker_id"`
		Index       int     `json:"index"`
		Media       []Media `json:"media"`
		OK          bool    `json:"ok"`
	} `json:"-"`
}

// Binary is the type of a binary frame.
const Binary = "(binary)"

// Media describes a file.
type Media struct {
	MediaID  string `json:"media_id"`
	Kind     string `json:"kind"`
	Mime     string `json:"mime"`
	Size     int64  `json:"size"`
	Filename string `json:"filename"`
	SHA256   string `json:"sha256"`
}

// Runtime is the footer of an answer.
type Runtime struct {
	Model      string  `json:"model"`
	ContextPct *int    `json:"context_pct"`
	Latency    float64 `json:"latency"`
}

// Message is a message of a history page.
type Message struct {
	MessageID  string   `json:"message_id"`
	Role       string   `json:"role"`
	Text       string   `json:"text"`
	Model      string   `json:"model"`
	Tokens     int      `json:"tokens"`
	Runtime    *Runtime `json:"runtime"`
	Commentary bool     `json:"commentary"`
	Media      []Media  `json:"media"`
}

// parseFrame reads a frame; the payload's known fields too.
func parseFrame(b []byte) (Frame, error) {
	var f Frame
	if err := json.Unmarshal(b, &f); err != nil {
		return f, fmt.Errorf("not a frame: %w in %.200s", err, b)
	}
	if f.V != 1 {
		return f, fmt.Errorf("v is %d, want 1, in %.200s", f.V, b)
	}
	if len(f.Payload) > 0 {
		if err := json.Unmarshal(f.Payload, &f.Body); err != nil {
			return f, fmt.Errorf("payload of %s: %w in %.200s", f.Type, err, b)
		}
	}
	return f, nil
}

// String is the frame in one short line.
func (f Frame) String() string {
	var b strings.Builder
	b.WriteString(f.Type)
	if len(f.ID) > 0 {
		fmt.Fprintf(&b, " id=%s", f.ID)
	}
	if f.Cursor > 0 {
		fmt.Fprintf(&b, " cursor=%d", f.Cursor)
	}
	if f.Type == Binary {
		fmt.Fprintf(&b, " %d bytes", len(f.Bytes))
	}
	fmt.Fprintf(&b, " %.160s", f.Payload)
	return b.String()
}
