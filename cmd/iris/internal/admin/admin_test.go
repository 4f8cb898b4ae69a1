package admin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"iris-gateway/cmd/iris/internal/admin"
)

// A gateway with much in it is deleted by as many calls as that needs.
func TestDeleteGatewayGoesOn(t *testing.T) {
	t.Parallel()
	calls := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete || r.URL.EscapedPath() != "/admin/gateways/g%2F1" {
			t.Errorf("%s %s", r.Method, r.URL.EscapedPath())
		}
		switch calls++; calls {
		case 3:
			fmt.Fprint(w, `{"host":{"gateway_id":"g/1","until":7}}`)
			return
		case 4:
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"removed":%d}`, calls*10)
	}))
	defer srv.Close()
	c, err := admin.New(srv.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	var told []int
	host, err := c.DeleteGateway(t.Context(), "g/1", func(removed int) { told = append(told, removed) })
	if err != nil || host == nil || *host != (admin.RemovedHost{GatewayID: "g/1", Until: 7}) {
		t.Fatal(host, err)
	}
	if !slices.Equal(told, []int{10, 30}) || calls != 3 {
		t.Errorf("told %v in %d calls", told, calls)
	}
	if host, err := c.DeleteGateway(t.Context(), "g/1", nil); host != nil || err != nil {
		t.Error(host, err)
	}
}

// Whatever else answers at an address is told apart from a gateway.
func TestNoGateway(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	c, err := admin.New(srv.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Gateways(t.Context()); err == nil || !strings.Contains(err.Error(), srv.URL+" answers 404 Not Found, which is no answer of an Iris gateway") {
		t.Error(err)
	}
}
