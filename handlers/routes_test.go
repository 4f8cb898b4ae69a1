package handlers_test

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"iris-gateway/cloudstore/memstore"
)

// surface is all that listens on the public port, and whom it is for.
var surface = map[string]string{
	"GET /ws": "socket", "GET /host": "socket", "GET /health": "anyone", "GET /ready": "anyone",
	"GET /admin/status": "operator", "POST /admin/gateways": "operator", "GET /admin/gateways": "operator",
	"POST /admin/gateways/{gateway}/devices": "operator", "GET /admin/gateways/{gateway}/devices": "operator",
	"GET /admin/gateways/{gateway}/export": "operator", "GET /admin/gateways/{gateway}/export/messages": "operator",
	"GET /admin/gateways/{gateway}/export/media": "operator", "GET /admin/gateways/{gateway}/export/media/{media}": "operator",
	"DELETE /admin/gateways/{gateway}":                  "operator",
	"DELETE /admin/gateways/{gateway}/devices/{device}": "operator", "POST /admin/gateways/{gateway}/devices/{device}/push-test": "operator",
	"GET /admin/gateways/{gateway}/pairings": "operator", "DELETE /admin/gateways/{gateway}/pairings/{pairing}": "operator",
	"POST /admin/gateways/{gateway}/host-token": "operator",
	"POST /host/send": "host", "POST /host/devices": "host", "GET /host/devices": "host", "DELETE /host/devices/{device}": "host",
}

// ending are the calls that end what the others are tried with.
var ending = []string{"POST /admin/gateways/{gateway}/host-token", "DELETE /admin/gateways/{gateway}"}

// Nothing answers on the public port but what is named, and that only those
// whom it is for.
func TestSurface(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, hostToken := in.gateway()
	routes := in.server.Routes()
	if want := slices.Sorted(maps.Keys(surface)); !slices.Equal(slices.Sorted(slices.Values(routes)), want) {
		t.Errorf("answers\n%q, want\n%q", slices.Sorted(slices.Values(routes)), want)
	}
	tokens := map[string]string{"nobody": "", "operator": adminToken, "host": hostToken, "device": in.pair(g)}
	for pattern, who := range surface {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.NewReplacer("{gateway}", g, "{device}", "d", "{pairing}", "p", "{media}", "m").Replace(path)
		if slices.Contains(ending, pattern) {
			continue // would take the host its token; in the others' hands it is tried below
		}
		for name, token := range tokens {
			status := in.ask(method, path, token)
			refused := status == http.StatusUnauthorized
			if (who == "operator" || who == "host") && refused == (name == who) || who == "anyone" && status != http.StatusOK || who == "socket" && status != http.StatusUpgradeRequired {
				t.Errorf("%s %s as %s: %d", method, path, name, status)
			}
		}
	}
	for _, token := range []string{"", hostToken, tokens["device"]} {
		for _, pattern := range ending {
			method, path, _ := strings.Cut(strings.Replace(pattern, "{gateway}", g, 1), " ")
			if status := in.ask(method, path, token); status != http.StatusUnauthorized {
				t.Errorf("%s: %d", pattern, status)
			}
		}
	}
	for _, path := range []string{"/", "/metrics", "/debug/pprof/", "/debug/vars", "/healthz", "/admin", "/admin/", "/ws/", "/../health", "//admin/gateways"} {
		if status := in.ask("GET", path, adminToken); status != http.StatusNotFound && status/100 != 3 {
			t.Errorf("GET %s: %d, want 404", path, status)
		}
	}
}

// ask makes a request with a token and returns the status.
func (in *instance) ask(method, path, token string) int {
	in.t.Helper()
	req, err := http.NewRequestWithContext(in.t.Context(), method, in.url+path, strings.NewReader("{}"))
	if err != nil {
		in.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		in.t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}
