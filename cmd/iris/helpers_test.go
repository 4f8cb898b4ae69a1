package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"iris-gateway/cmd/iris/internal/gatewaytest"
)

// lines passes on the line that is a pairing URL.
type lines struct {
	b     bytes.Buffer
	found chan string
}

func (l *lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if strings.HasPrefix(line, "iris://") {
			l.found <- strings.TrimSpace(line)
		}
	}
	return l.b.Write(p)
}

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// withdraw drops every pairing that nobody has used.
func withdraw(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	base := "http://" + g.Addr + "/admin/gateways/" + g.ID + "/pairings"
	call := func(method, url string) []byte {
		req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+g.Token())
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	var list struct {
		Pairings []struct {
			ID string `json:"id"`
		} `json:"pairings"`
	}
	if err := json.Unmarshal(call(http.MethodGet, base), &list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Pairings {
		call(http.MethodDelete, base+"/"+p.ID)
	}
	http.DefaultClient.CloseIdleConnections()
}
