// Package fakefcm is a server that answers like Firebase Cloud Messaging, which
// has no emulator: its errors come with the details by which the real SDK tells
// them apart.
package fakefcm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Call is one message that was sent.
type Call struct {
	At       time.Time
	Token    string
	Data     map[string]string
	Priority string
	TTL      string // like "30s", "" for none
	Collapse string
	Other    bool   // it holds something beside data, such as a notification
	Answer   string // what it was answered with
}

// Server is the fake. Its zero answer is 200.
type Server struct {
	URL string

	web *httptest.Server

	mu      sync.Mutex
	calls   []Call
	answers map[string][]string // by token: what comes next; the last one stays
	hang    chan struct{}       // closed at the end
	came    chan struct{}       // closed and replaced at each call
}

// Start starts a server; its user closes it.
func Start() *Server {
	s := &Server{answers: map[string][]string{}, hang: make(chan struct{}), came: make(chan struct{})}
	s.web = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.web.URL
	return s
}

// Close ends the server and all that hangs.
func (s *Server) Close() {
	close(s.hang)
	s.web.Close()
}

// Answer says what the messages to a token are answered with, one after the
// other: "200", "400", "401", "404" (without details), "unregistered", "sender",
// "429", "429 3" (Retry-After in seconds), "500", "503 3", "hang", "close",
// "cut" (in the middle of the answer).
func (s *Server) Answer(token string, answers ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[token] = answers
}

// Calls returns what was sent to a token; "" for all.
func (s *Server) Calls(token string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if token == "" || c.Token == token {
			out = append(out, c)
		}
	}
	return out
}

// Wait returns the calls to a token once there are n, or what there is when the
// time is up.
func (s *Server) Wait(token string, n int, patience time.Duration) []Call {
	timeout := time.After(patience)
	for {
		s.mu.Lock()
		came := s.came
		s.mu.Unlock()
		if calls := s.Calls(token); len(calls) >= n {
			return calls
		}
		select {
		case <-came:
		case <-timeout:
			return s.Calls(token)
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Message struct {
			Token        string
			Data         map[string]string
			Notification any
			Webpush      any
			APNS         any
			Android      struct {
				Priority     string
				TTL          string
				CollapseKey  string `json:"collapse_key"`
				Notification any
			}
		}
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages:send") || json.NewDecoder(r.Body).Decode(&body) != nil {
		http.Error(w, "not FCM", http.StatusNotFound)
		return
	}
	m := body.Message
	answer := s.note(Call{
		At: time.Now(), Token: m.Token, Data: m.Data, Priority: m.Android.Priority, TTL: m.Android.TTL, Collapse: m.Android.CollapseKey,
		Other: m.Notification != nil || m.Webpush != nil || m.APNS != nil || m.Android.Notification != nil,
	})
	s.reply(w, r, answer, m.Token)
}

// note keeps a call and returns its answer.
func (s *Server) note(c Call) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Answer = "200"
	if next := s.answers[c.Token]; len(next) > 0 {
		c.Answer = next[0]
		if len(next) > 1 {
			s.answers[c.Token] = next[1:]
		}
	}
	s.calls = append(s.calls, c)
	close(s.came)
	s.came = make(chan struct{})
	return c.Answer
}

// fcmErrors are the answers that are no success: status, status word and FCM's
// own code.
var fcmErrors = map[string]struct {
	status     int
	word, code string
}{
	"400": {400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"}, "401": {401, "UNAUTHENTICATED", ""}, "404": {404, "NOT_FOUND", ""},
	"unregistered": {404, "NOT_FOUND", "UNREGISTERED"}, "sender": {403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"},
	"429": {429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"}, "500": {500, "INTERNAL", "INTERNAL"}, "503": {503, "UNAVAILABLE", "UNAVAILABLE"},
}

func (s *Server) reply(w http.ResponseWriter, r *http.Request, answer, token string) {
	kind, after, _ := strings.Cut(answer, " ")
	switch kind {
	case "hang":
		select {
		case <-s.hang:
		case <-r.Context().Done():
		}
		return
	case "close":
		panic(http.ErrAbortHandler)
	case "cut":
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, `{"name":`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if after != "" {
		w.Header().Set("Retry-After", after)
	}
	e, ok := fcmErrors[kind]
	if !ok {
		fmt.Fprintf(w, `{"name":"projects/demo/messages/%d"}`, time.Now().UnixNano())
		return
	}
	w.WriteHeader(e.status)
	details := "[]"
	if e.code != "" {
		details = fmt.Sprintf(`[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":%q}]`, e.code)
	}
	// The real one repeats values that it does not like: nobody may log it.
	fmt.Fprintf(w, `{"error":{"code":%d,"message":"Invalid value at 'message.token': %s","status":%q,"details":%s}}`, e.status, token, e.word, details)
}
