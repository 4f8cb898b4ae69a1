package push_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"iris-gateway/handlers/push"
	"iris-gateway/iris"
)

// What an ntfy server gets, and what each of its answers means. The topic, which
// is a secret, stands in no address and no error.
func TestNtfyServer(t *testing.T) {
	t.Parallel()
	type message struct {
		Topic, Title, Message, Click string
		Priority                     int
		SequenceID                   *string `json:"sequence_id"`
	}
	got := make(chan message, 1)
	var requests atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if strings.Contains(r.URL.String(), "secret") || r.Method != http.MethodPost || r.URL.Path != "/" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		var m message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		switch answer := strings.TrimPrefix(m.Topic, "secret-"); answer {
		case "ok":
			got <- m
		case "429":
			w.Header().Set("Retry-After", "12")
			w.WriteHeader(429)
		case "503":
			w.Header().Set("Retry-After", "-3")
			w.WriteHeader(503)
		case "500":
			w.WriteHeader(500)
		case "403":
			w.WriteHeader(403)
		case "elsewhere":
			http.Redirect(w, r, "/elsewhere?secret", http.StatusTemporaryRedirect)
		case "hang":
			<-r.Context().Done()
		case "close":
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(web.Close)
	n := push.NewNtfy(web.URL)
	t.Cleanup(n.Close)
	p := iris.Push{Data: map[string]string{"title": "Default", "body": "done", "chat_id": "android:default", "cursor": "7", "kind": "message"}, Collapse: "k"}
	if err := n.Send(t.Context(), "secret-ok", p); err != nil {
		t.Fatal(err)
	}
	m := <-got
	link, err := url.Parse(m.Click)
	if err != nil || m.Title != "Default" || m.Message != "done" || m.Priority != 4 || m.SequenceID == nil || *m.SequenceID != "k" || link.Scheme != "iris" ||
		link.Query().Get("cursor") != "7" || link.Query().Get("chat_id") != "android:default" || link.Query().Has("body") {
		t.Errorf("ntfy got %+v", m)
	}
	if err := n.Send(t.Context(), "secret-ok", iris.Push{Data: map[string]string{"title": "New message"}}); err != nil {
		t.Fatal(err)
	}
	if m := <-got; m.Message != "New message" || m.SequenceID != nil {
		t.Errorf("without preview ntfy got %+v", m)
	}
	for topic, want := range map[string]iris.PushError{
		"secret-429":       {Failure: iris.PushQuota, Detail: "status 429", RetryAfter: 12 * time.Second},
		"secret-503":       {Failure: iris.PushAway, Detail: "status 503"},
		"secret-500":       {Failure: iris.PushAway, Detail: "status 500"},
		"secret-403":       {Failure: iris.PushRefused, Detail: "status 403"},
		"secret-elsewhere": {Failure: iris.PushRefused, Detail: "status 307"},
		"secret-hang":      {Failure: iris.PushAway, Detail: "no answer"},
		"secret-close":     {Failure: iris.PushAway, Detail: "no answer"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		before := requests.Load()
		err := n.Send(ctx, topic, p)
		cancel()
		var e *iris.PushError
		if !errors.As(err, &e) || *e != want {
			t.Errorf("%s: Send = %+v, want %+v", topic, err, want)
		}
		if n := requests.Load() - before; n != 1 {
			t.Errorf("%s: %d requests", topic, n)
		}
	}
}

// What the operator is told of the server: whether it is one, and well.
func TestNtfyCheck(t *testing.T) {
	t.Parallel()
	for answer, well := range map[string]bool{`{"healthy":true}`: true, `{"healthy":false}`: false, `<html>`: false, ``: false} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/health" {
				t.Errorf("asked for %s", r.URL)
			}
			_, _ = w.Write([]byte(answer))
		}))
		n := push.NewNtfy(web.URL + "/")
		if err := n.Check(t.Context()); (err == nil) != well {
			t.Errorf("a server that answers %q: %v", answer, err)
		}
		n.Close()
		web.Close()
		if n.Check(t.Context()) == nil {
			t.Error("a server that is gone is well")
		}
	}
	if push.NewNtfy("http://a b").Check(t.Context()) == nil {
		t.Error("an address that is none is well")
	}
}
