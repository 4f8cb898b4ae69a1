package deploytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// The rules deny everybody who comes as a client does, and not the gateway.
func TestRulesDenyClients(t *testing.T) {
	t.Parallel()
	emu := testenv.Firestore(t)
	base := "http://" + emu.Host
	file := map[string]string{"name": "firestore.rules", "content": read(t, "terraform/firestore.rules")}
	rules, err := json.Marshal(map[string]any{"rules": map[string]any{"files": []any{file}}})
	if err != nil {
		t.Fatal(err)
	}
	documents := fmt.Sprintf("%s/v1/projects/%s/databases/(default)/documents/", base, emu.Project)
	// Without rules of ours the emulator lets everybody in.
	call(t, "PATCH", documents+"anything/before", `{}`, http.StatusOK)
	call(t, "PUT", fmt.Sprintf("%s/emulator/v1/projects/%s:securityRules", base, emu.Project), string(rules), http.StatusOK)

	s, err := cloudstore.Open(t.Context(), cloudstore.Config{Project: emu.Project})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateGateway(t.Context(), iris.Gateway{ID: "g"}, iris.Token{Hash: "h"}); err != nil {
		t.Errorf("the gateway is denied: %v", err)
	}
	for _, path := range []string{"anything/before", "gateways/g", "gateways/g/outbox/000000000001", "tokens/h"} {
		call(t, "GET", documents+path, "", http.StatusForbidden)
		call(t, "PATCH", documents+path, `{}`, http.StatusForbidden)
		call(t, "DELETE", documents+path, "", http.StatusForbidden)
	}
	call(t, "GET", documents+"gateways", "", http.StatusForbidden) // a list
}

// call wants an answer with the status.
func call(t *testing.T, method, url, body string, want int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != want {
		t.Errorf("%s %s: %s, want %d: %s", method, url, resp.Status, want, said)
	}
}
