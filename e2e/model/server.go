// Package model is a scripted stand-in for an OpenAI-compatible model server, so
// that a real hermes can be tested without a model, an account or the network.
//
// What it answers is picked by a keyword in the user's message (see scenario.go).
// A test takes control of the answer to its own message (Control) and then lets
// it go piece by piece: "in the middle of an answer" is an event, not a sleep.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Name is the model's name, as hermes is configured with.
const Name = "test-model"

// SideAnswer answers what hermes asks on its own account: titles and the like,
// recognised by the missing tools.
const SideAnswer = "Bench title"

// Server is the scripted model.
type Server struct {
	http *httptest.Server
	stop context.CancelFunc // ends held answers
	ctx  context.Context

	mu       sync.Mutex
	requests []Request
	controls []*Control
}

// Request is one chat completion that hermes asked for.
type Request struct {
	Scenario string // "" for a side request
	Round    int    // how many tool rounds came before
	Stream   bool
	User     string   // the last user message
	Tail     string   // the last message, often a tool's result
	Context  string   // all messages
	Images   [][]byte // that came with the last user message
}

// Start starts the server on a free port of the loopback interface.
func Start() *Server {
	s := &Server{}
	s.ctx, s.stop = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1/chat/completions", s.completions)
	s.http = httptest.NewServer(mux)
	return s
}

// URL is the base URL for an OpenAI client.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// Close ends held answers and the server.
func (s *Server) Close() {
	s.stop()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests are all requests so far, in the order they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Turns counts how often an answer to a message with the marker was begun: 1 for
// a message that was answered once, however many tools it took.
func (s *Server) Turns(marker string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Scenario != "" && r.Round == 0 && strings.Contains(r.User, marker) {
			n++
		}
	}
	return n
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": []any{
		map[string]any{"id": Name, "object": "model", "owned_by": "iris", "context_length": 131072, "max_model_len": 131072},
	}})
}

func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &req)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	name, round, user := pick(req)
	script := Round{Say: []string{SideAnswer}}
	if name != "" {
		rounds := scenarios[name]
		script = rounds[min(round, len(rounds)-1)]
	}
	control := s.record(Request{Scenario: name, Round: round, Stream: req.Stream, User: user, Tail: req.tail(), Context: req.context(), Images: req.images()})
	if script.Status != 0 {
		fail(w, script.Status, "scripted failure")
		return
	}
	// A held answer ends when hermes goes away or the server is closed.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	script = script.fill(user)
	script.confide()
	a := answer{model: req.Model, round: script, control: control, prompt: len(body) / 4}
	if req.Stream {
		a.stream(ctx, w)
	} else {
		a.whole(ctx, w)
	}
}

// record notes the request and returns the control for it, if a test has one.
func (s *Server) record(r Request) *Control {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if r.Scenario == "" {
		return nil
	}
	for _, c := range s.controls {
		if strings.Contains(r.User, c.marker) {
			c.arrive()
			return c
		}
	}
	return nil
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // hermes may have gone: nobody to tell
}

func fail(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]any{"error": map[string]any{"message": message, "type": "scripted", "code": status}})
}

// pieces makes the n pieces of a long text.
func pieces(format string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i+1)
	}
	return out
}
