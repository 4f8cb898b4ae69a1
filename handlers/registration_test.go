package handlers_test

import (
	"net/http"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// What a hello says of push is kept when it is news, and written only then: most hellos
// say the same again, or nothing.
func TestRegistrationAtHello(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	in := start(t, s)
	g, _ := in.gateway()
	token := in.pair(g)
	for _, c := range []struct {
		says, fcm, ntfy string
		tokens, topics  int // that the log has been told of
	}{
		{`,"fcm_token":"f1","ntfy_topic":"n1"`, "f1", "n1", 1, 1},
		{`,"fcm_token":"f1","ntfy_topic":"n1"`, "f1", "n1", 1, 1},
		{``, "f1", "n1", 1, 1},
		{`,"fcm_token":"f1","ntfy_topic":"n2"`, "f1", "n2", 1, 2},
		{`,"fcm_token":"f2"`, "f2", "n2", 2, 2},
	} {
		p := in.socket("d1")
		p.send(`{"type":"hello","payload":{"token":%q,"device_id":"d1"%s}}`, token, c.says)
		p.next("status")
		ask(p, "message.send", iris.Lane{}, `{"text":"behind the registration"}`)
		p.drop()
		d, err := s.Device(t.Context(), g, "d1")
		if err != nil || d.FCMToken != c.fcm || d.NtfyTopic != c.ntfy {
			t.Errorf("hello with %s: %q and %q, %v, want %q and %q", c.says, d.FCMToken, d.NtfyTopic, err, c.fcm, c.ntfy)
		}
		told := map[string]int{}
		for _, e := range logOf(t, s, g, 0) {
			for _, control := range e.Control {
				if control.Device == "d1" && control.Push != "" {
					told[string(control.Kind)]++
				}
			}
		}
		if told[string(iris.PushRegistered)] != c.tokens || told[string(iris.PushTopic)] != c.topics {
			t.Errorf("hello with %s: the log tells %v, want %d tokens and %d topics", c.says, told, c.tokens, c.topics)
		}
	}
}

// A token that was taken away is gone, not only unusable: of the device that is revoked,
// and each that the host had.
func TestTokensThatAreTakenAreGone(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	in := start(t, s)
	g, first := in.gateway()
	host, _ := in.host(first, "e1", 0, 0, "")
	paired := in.pair(g)
	in.device(paired, "d1").next("status")
	in.admin("DELETE", "/admin/gateways/"+g+"/devices/d1", "", http.StatusNoContent, nil)
	rotate := func() string {
		var made struct {
			HostToken string `json:"host_token"`
		}
		in.admin("POST", "/admin/gateways/"+g+"/host-token", "", http.StatusOK, &made)
		return made.HostToken
	}
	second := rotate()
	if code := host.closeCode(); code != 4401 {
		t.Errorf("close code %d, want 4401", code)
	}
	in.host(second, "e1", 0, 0, "")
	third := rotate()
	for name, token := range map[string]string{"the device's": paired, "the host's first": first, "its second": second} {
		if _, err := s.Token(t.Context(), iris.HashToken(token)); iris.ErrorCode(err) != iris.CodeAuth {
			t.Errorf("%s token is still there: %v", name, err)
		}
	}
	if gw, err := s.Gateway(t.Context(), g); err != nil || gw.Host.Seen.IsZero() || gw.HostToken != iris.HashToken(third) {
		t.Errorf("the gateway's row says %+v, %v", gw, err)
	}
	in.host(third, "e1", 0, 0, "")
}
