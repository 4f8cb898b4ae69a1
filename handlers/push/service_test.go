package push_test

import (
	"fmt"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/push"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// How a device is woken follows from what it registered and what works here: never
// by a service that is off, nor at an address that there is not.
func TestService(t *testing.T) {
	t.Parallel()
	log := testenv.Logger(t, testenv.Gateways)
	for _, c := range []struct {
		fcm, ntfy    bool   // work here
		prefers      string // by hello
		kind         string
		token, topic string
		by           string // who is called
	}{
		{true, true, "", "fcm", "t", "p", "fcm"},
		{true, true, "ntfy", "ntfy", "t", "p", "fcm"},
		{true, true, "ntfy", "ntfy", "", "p", "ntfy"},
		{true, true, "", "fcm", "", "", ""},
		{true, false, "ntfy", "fcm", "t", "p", "fcm"},
		{true, false, "", "fcm", "", "p", ""},
		{false, true, "fcm", "ntfy", "t", "p", "ntfy"},
		{false, true, "", "ntfy", "t", "", ""},
		{false, false, "ntfy", "none", "t", "p", ""},
	} {
		fcm, ntfy := newService(), newService()
		store := memstore.New()
		cfg := push.Config{Store: store, Log: log}
		if c.fcm {
			cfg.FCM = fcm
		}
		if c.ntfy {
			cfg.Ntfy = ntfy
		}
		p := push.New(cfg)
		if got := p.Kind(c.prefers); got != c.kind {
			t.Errorf("%+v: kind %s", c, got)
		}
		outcome, _ := p.Test(t.Context(), gatewayID, iris.Device{ID: "d", FCMToken: c.token, NtfyTopic: c.topic})
		var called []string
		for _, call := range fcm.take() {
			called = append(called, "fcm "+call.to)
		}
		for _, call := range ntfy.take() {
			called = append(called, "ntfy "+call.to)
		}
		want := map[string]string{"fcm": "[fcm t] sent", "ntfy": "[ntfy p] sent", "": "[] none"}[c.by]
		if got := fmt.Sprint(called, " ", outcome); got != want {
			t.Errorf("%+v: %s", c, got)
		}
		p.Close()
	}
}
