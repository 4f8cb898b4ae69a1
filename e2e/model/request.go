package model

import (
	"encoding/json"
	"regexp"
	"strings"
)

// chatRequest is what the script looks at of a request.
type chatRequest struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	Messages []message       `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
}

// tail is the text of the last message.
func (r chatRequest) tail() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return string(r.Messages[len(r.Messages)-1].Content)
}

type message struct {
	Role      string            `json:"role"`
	Content   content           `json:"content"`
	ToolCalls []json.RawMessage `json:"tool_calls"`
}

// content is a message's text: a string, or a list of parts some of which are text.
type content string

func (c *content) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil { // null too: no text
		*c = content(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	*c = content(strings.Join(texts, " "))
	return nil
}

var key = regexp.MustCompile(`key=([a-z0-9-]+)`)

// context is all that the model is given to read.
func (r chatRequest) context() string {
	var all strings.Builder
	for _, m := range r.Messages {
		all.WriteString(string(m.Content) + "\n")
		for _, c := range m.ToolCalls {
			all.WriteString(string(c) + "\n")
		}
	}
	return all.String()
}

// fill puts the key of the user's message into what is said and into the arguments
// of the calls.
func (r Round) fill(user string) Round {
	found := key.FindStringSubmatch(user)
	if found == nil {
		return r
	}
	calls := make([]Tool, len(r.Call))
	for i, c := range r.Call {
		calls[i] = Tool{c.Name, strings.ReplaceAll(c.Args, "{key}", found[1])}
	}
	r.Call = calls
	for _, texts := range []*[]string{&r.Think, &r.Say} {
		filled := make([]string, len(*texts))
		for i, text := range *texts {
			filled[i] = strings.ReplaceAll(text, "{key}", found[1])
		}
		*texts = filled
	}
	return r
}

var keyword = regexp.MustCompile(`#([a-z0-9]+)`)

// pick chooses the scenario by the last user message and the round by the tool
// calls made since; hermes' own nudges to go on count as rounds too. A request without tools is one of hermes' own: scenario "".
func pick(req chatRequest) (scenario string, round int, user string) {
	for _, m := range req.Messages {
		switch {
		case m.Role == "user" && user != "" && strings.HasPrefix(string(m.Content), "[System: "):
			round++
		case m.Role == "user":
			user, round = string(m.Content), 0
		case m.Role == "assistant" && len(m.ToolCalls) > 0:
			round++
		}
	}
	if len(req.Tools) == 0 || string(req.Tools) == "null" || string(req.Tools) == "[]" {
		return "", 0, user
	}
	scenario = "plain"
	for _, k := range keyword.FindAllStringSubmatch(user, -1) {
		if _, ok := scenarios[k[1]]; ok {
			scenario = k[1]
		}
	}
	return scenario, round, user
}
