package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/server"
	"iris-gateway/testenv"
	"iris-gateway/testenv/fakefcm"
)

// pushing runs a whole gateway that wakes devices by a server that answers like
// FCM, and returns a client of it.
func pushing(t *testing.T, fcm *fakefcm.Server) *admin.Client {
	t.Helper()
	const token = "an-admin-token-that-is-long-enough-for-tests"
	testenv.Confide(token)
	log := testenv.Logger(t, testenv.CommandLine)
	listening, ended := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() {
		ended <- server.Run(ctx, server.Config{
			Addr: "127.0.0.1", Store: server.StoreMemory, AdminToken: token, Push: server.PushFCM, FCMEndpoint: fcm.URL,
			LogEntries: server.Number(64), RateLimits: server.Off, MaxSockets: server.Number(10), Log: server.LogText,
		}, server.Options{Log: log, Listening: func(addr string) { listening <- addr }})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("gateway: %v", err)
		}
	})
	select {
	case addr := <-listening:
		t.Setenv("IRIS_URL", "http://"+addr)
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	t.Setenv("IRIS_ADMIN_TOKEN", token)
	op := operator{}
	c, err := op.client(newDevices(streams{}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// phone pairs a device that registers, and goes away.
func phone(t *testing.T, c *admin.Client, gateway, id, fcm string) {
	t.Helper()
	p, err := c.Pair(t.Context(), gateway, id)
	if err != nil {
		t.Fatal(err)
	}
	socket, token, err := parsePairURL(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	ws, _, err := websocket.Dial(t.Context(), socket, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	hello := fmt.Sprintf(`{"v":1,"type":"hello","payload":{"token":%q,"device_id":%q,"device_name":"Phone of %s","fcm_token":%q}}`, token, id, id, fcm)
	testenv.ConfideFrame([]byte(hello))
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(hello)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		list, err := c.Devices(t.Context(), gateway)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%s does not register: %+v, %v", id, list, err)
		}
		for _, d := range list {
			if d.DeviceID == id && (d.Push == "fcm") == (fcm != "") {
				return
			}
		}
	}
}

// `iris push test` says what FCM answered; `iris devices` how the last push went.
func TestPushCommand(t *testing.T) {
	isolate(t)
	fcm := fakefcm.Start()
	t.Cleanup(fcm.Close)
	c := pushing(t, fcm)
	g, err := c.CreateGateway(t.Context(), "home")
	if err != nil {
		t.Fatal(err)
	}
	phone(t, c, g.GatewayID, "d1", "f1")
	phone(t, c, g.GatewayID, "d2", "")
	for _, tt := range []struct {
		answer, device string
		code           int
		want           string // on stdout if it is done, else on stderr
		listed         string
	}{
		{"200", "d1", exitDone, "✓ Phone of d1 was sent a push (fcm)", "fcm, sent by fcm now"},
		{"401", "Phone of d1", exitFailed, "the push to Phone of d1 failed: fcm: 401 UNAUTHENTICATED", "fcm, failed (fcm: 401 UNAUTHENTICATED) now"},
		{"unregistered", "d1", exitFailed, "does not know Phone of d1 any more", "none, unregistered (fcm: 404 UNREGISTERED) now"},
		{"200", "d2", exitFailed, "Phone of d2 cannot be woken", "none"},
		{"200", "d3", exitFailed, `there is no device "d3"`, ""},
	} {
		fcm.Answer("f1", tt.answer)
		code, out, errs := irisCLI(t, "", "push", "test", tt.device)
		if code != tt.code || !strings.Contains(out+errs, tt.want) || (out == "") != (code != exitDone) {
			t.Errorf("push test %s, FCM answers %s: exit %d, %q %q", tt.device, tt.answer, code, out, errs)
		}
		if code, out, _ := irisCLI(t, "", "devices"); code != exitDone || !strings.Contains(out, tt.listed) {
			t.Errorf("devices: exit %d, no %q in\n%s", code, tt.listed, out)
		}
	}
	if code, out, _ := irisCLI(t, "", "push", "test", "d2", "--json"); code != exitFailed || !strings.Contains(out, `"outcome":"none"`) {
		t.Errorf("push test --json: exit %d, %q", code, out)
	}
}
