package model

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"iris-gateway/testenv"
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
	return r.Messages[len(r.Messages)-1].Content.text
}

// images are the pictures that came with the last user message.
func (r chatRequest) images() [][]byte {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return m.Content.images
		}
	}
	return nil
}

type message struct {
	Role      string            `json:"role"`
	Content   content           `json:"content"`
	ToolCalls []json.RawMessage `json:"tool_calls"`
}

// content is what a message says: a string, or a list of parts of which some are
// text and some pictures.
type content struct {
	text   string
	images [][]byte
}

func (c *content) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &c.text) == nil { // null too: no text
		return nil
	}
	var parts []struct {
		Text  string `json:"text"`
		Image struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
		if _, data, ok := strings.Cut(p.Image.URL, ";base64,"); ok {
			image, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				return err
			}
			c.images = append(c.images, image)
		}
	}
	c.text = strings.Join(texts, " ")
	return nil
}

var (
	key  = regexp.MustCompile(`key=([a-z0-9-]+)`)
	path = regexp.MustCompile(`path=(\S+)`)
)

// context is all that the model is given to read.
func (r chatRequest) context() string {
	var all strings.Builder
	for _, m := range r.Messages {
		all.WriteString(m.Content.text + "\n")
		for _, c := range m.ToolCalls {
			all.WriteString(string(c) + "\n")
		}
	}
	return all.String()
}

// fill puts the key of the user's message into what is said and into the arguments
// of the calls, and a media tag for each path in it into what is said.
func (r Round) fill(user string) Round {
	var tags strings.Builder
	for _, found := range path.FindAllStringSubmatch(user, -1) {
		tags.WriteString("MEDIA:" + found[1] + "\n")
	}
	fields := []string{"{media}", tags.String()}
	if found := key.FindStringSubmatch(user); found != nil {
		fields = append(fields, "{key}", found[1])
	}
	fill := strings.NewReplacer(fields...)
	calls := make([]Tool, len(r.Call))
	for i, c := range r.Call {
		calls[i] = Tool{c.Name, fill.Replace(c.Args)}
	}
	r.Call = calls
	for _, texts := range []*[]string{&r.Think, &r.Say} {
		filled := make([]string, len(*texts))
		for i, text := range *texts {
			filled[i] = fill.Replace(text)
		}
		*texts = filled
	}
	return r
}

// confide tells the run what is going to be said: as a whole, and the pieces it is
// streamed in.
func (r Round) confide() {
	for _, texts := range [][]string{r.Say, r.Think} {
		testenv.ConfideText(strings.Join(texts, ""))
		testenv.ConfideText(texts...)
	}
	for _, c := range r.Call {
		testenv.ConfideFrame([]byte(`{"args":` + c.Args + `}`))
	}
}

var keyword = regexp.MustCompile(`#([a-z0-9]+)`)

// pick chooses the scenario by the last user message and the round by the tool
// calls made since; hermes' own nudges to go on count as rounds too. A request without tools is one of hermes' own: scenario "".
func pick(req chatRequest) (scenario string, round int, user string) {
	for _, m := range req.Messages {
		switch {
		case m.Role == "user" && user != "" && strings.HasPrefix(m.Content.text, "[System: "):
			round++
		case m.Role == "user":
			user, round = m.Content.text, 0
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
