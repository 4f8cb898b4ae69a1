package handlers_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
)

// An operator is told how the instance is, nobody else.
func TestStatus(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New(), func(cfg *handlers.Config) {
		cfg.Version, cfg.PublicURL = "v1", "https://iris.example.org"
		cfg.Checks = []handlers.Check{
			{Name: "a", Note: "well", Do: func(context.Context) error { return nil }},
			{Name: "b", Do: func(context.Context) error { return errors.New("broken") }},
			{Name: "c", Off: "not set"},
		}
	})
	g, _ := in.gateway()
	p := in.device(in.pair(g), "d1")
	p.next("hello.ack")
	var got struct {
		Version   string
		PublicURL string `json:"public_url"`
		Time      int64
		Sockets   int
		Checks    []struct{ Name, State, Detail string }
	}
	in.admin("GET", "/admin/status", "", http.StatusOK, &got)
	if got.Version != "v1" || got.PublicURL != "https://iris.example.org" || got.Time == 0 || got.Sockets != 1 {
		t.Errorf("status %+v", got)
	}
	want := []struct{ Name, State, Detail string }{{"a", "ok", "well"}, {"b", "failed", "broken"}, {"c", "off", "not set"}}
	for i, c := range want {
		if got.Checks[i] != c {
			t.Errorf("check %+v, want %+v", got.Checks[i], c)
		}
	}
	res, err := http.Get(in.url + "/admin/status")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", res.Status)
	}
}
