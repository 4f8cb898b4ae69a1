package model

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func post(t *testing.T, s *Server, body string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

const tools = `"tools":[{"type":"function","function":{"name":"terminal"}}]`

func TestHeldAnswer(t *testing.T) {
	t.Parallel()
	s := Start()
	defer s.Close()
	c := s.Control("marker-1")
	resp := post(t, s, `{"stream":true,`+tools+`,"messages":[{"role":"user","content":[{"type":"text","text":"marker-1"}]}]}`)
	<-c.Arrived()
	lines := bufio.NewScanner(resp.Body)
	text := func() string {
		for lines.Scan() {
			var e struct {
				Choices []struct{ Delta struct{ Content string } }
			}
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if ok && json.Unmarshal([]byte(data), &e) == nil && len(e.Choices) > 0 && e.Choices[0].Delta.Content != "" {
				return e.Choices[0].Delta.Content
			}
		}
		return ""
	}
	c.Next()
	got := text()
	if want := scenarios["plain"][0].Say[0]; got != want {
		t.Errorf("first piece %q, want %q", got, want)
	}
	c.Rest()
	for p := text(); p != ""; p = text() {
		got += p
	}
	if got != Text("plain") {
		t.Errorf("whole answer %q, want %q", got, Text("plain"))
	}
	if n := s.Turns("marker-1"); n != 1 {
		t.Errorf("%d turns, want 1", n)
	}
}

func TestRoundsAndSideRequests(t *testing.T) {
	t.Parallel()
	s := Start()
	defer s.Close()
	for _, tt := range []struct{ name, body, want string }{
		{"first round calls a tool", `{` + tools + `,"messages":[{"role":"user","content":"do #tool"}]}`, `"tool_calls"`},
		{"second round answers", `{` + tools + `,"messages":[{"role":"user","content":"do #tool"},{"role":"assistant","content":null,"tool_calls":[{}]},{"role":"tool","content":"hi"}]}`, "The command printed hi."},
		{"no tools offered", `{"messages":[{"role":"user","content":"a title for #tool"}]}`, SideAnswer},
		{"scripted failure", `{` + tools + `,"messages":[{"role":"user","content":"#http500"}]}`, "scripted failure"},
		{"garbage", `{`, "unexpected end"},
	} {
		body, err := io.ReadAll(post(t, s, tt.body).Body)
		if err != nil || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s: got %s (%v), want %s in it", tt.name, body, err, tt.want)
		}
	}
	if n := s.Turns("#tool"); n != 1 {
		t.Errorf("%d turns for #tool, want 1: rounds and side requests do not count", n)
	}
}

// TestCloseEndsHeldAnswers: a test that failed half-way must not hang the run.
func TestCloseEndsHeldAnswers(t *testing.T) {
	t.Parallel()
	s := Start()
	s.Control("held")
	resp := post(t, s, `{"stream":true,`+tools+`,"messages":[{"role":"user","content":"held"}]}`)
	closed := make(chan struct{})
	go func() { s.Close(); close(closed) }()
	_, _ = io.Copy(io.Discard, resp.Body)
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Fatal("Close waits for a held answer")
	}
}
