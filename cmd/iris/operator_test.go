package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"iris-gateway/cmd/iris/internal/agent"
	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/gatewaytest"
	"iris-gateway/handlers/wire"
	"iris-gateway/testenv"
)

// join connects a device that pairs with a token, waits until it is in, and
// returns how its connection ends.
func join(t *testing.T, g *gatewaytest.Gateway, id, name string) chan error {
	t.Helper()
	in, ended := make(chan struct{}, 10), make(chan error, 1)
	d := device.New(device.Config{
		URL: "ws://" + g.Addr + "/ws", Token: g.Pair(), DeviceID: id, DeviceName: name,
		Handle: func(e device.Event) {
			if _, ok := e.(device.Connected); ok {
				in <- struct{}{}
			}
		},
	})
	ctx, cancel := contextWithCancel(t)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		ended <- d.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-gone
	})
	select {
	case <-in:
	case <-time.After(30 * time.Second):
		t.Fatal("not connected")
	}
	return ended
}

// operate sets the environment of an operator.
func operate(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	isolate(t)
	t.Setenv("IRIS_URL", "http://"+g.Addr)
	t.Setenv("IRIS_ADMIN_TOKEN", g.Token())
}

func TestRevoke(t *testing.T) {
	g := gatewaytest.Start(t)
	operate(t, g)
	first, second, third := join(t, g, "d1", "phone"), join(t, g, "d2", "phone"), join(t, g, "d3", "d1")
	if code, out, errs := irisCLI(t, "", "devices"); code != exitDone || !strings.HasPrefix(out, "NAME ") || strings.Count(out, " attached ") != 3 {
		t.Errorf("devices: exit %d, %q, %q", code, out, errs)
	}
	if code, out, errs := irisCLI(t, "", "devices", "--json"); code != exitDone || strings.Count(out, `"device_id"`) != 3 {
		t.Errorf("devices --json: exit %d, %q, %q", code, out, errs)
	}
	if code, _, errs := irisCLI(t, "", "revoke", "phone"); code != exitFailed || !strings.Contains(errs, `2 devices are called "phone": give the id`) {
		t.Errorf("by a name of two: exit %d, %q", code, errs)
	}
	if code, _, errs := irisCLI(t, "", "revoke", "tablet"); code != exitFailed || !strings.Contains(errs, `no device "tablet"`) {
		t.Errorf("unknown: exit %d, %q", code, errs)
	}
	if code, out, errs := irisCLI(t, "", "revoke", "d1"); code != exitDone || !strings.Contains(out, "phone (d1) is shut out") {
		t.Errorf("by id: exit %d, %q, %q", code, out, errs)
	}
	if code, out, _ := irisCLI(t, "", "revoke", "phone", "--json"); code != exitDone || out != "{\"revoked\":\"d2\"}\n" {
		t.Errorf("by name: exit %d, %q", code, out)
	}
	for _, ended := range []chan error{first, second} {
		var closed *device.CloseError
		select {
		case err := <-ended:
			if !errors.As(err, &closed) || closed.Code != wire.CloseAuth {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("still connected")
		}
	}
	select {
	case err := <-third:
		t.Errorf("the wrong one was shut out: %v", err)
	default:
	}
}

func TestHostToken(t *testing.T) {
	g := gatewaytest.Start(t)
	operate(t, g)
	code, out, errs := irisCLI(t, "", "gateway", "host-token", "--json")
	var made struct {
		HostToken string `json:"host_token"`
	}
	if err := json.Unmarshal([]byte(out), &made); code != exitDone || err != nil || made.HostToken == "" || made.HostToken == g.HostToken {
		t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
	if code, out, _ = irisCLI(t, "", "gateway", "host-token"); code != exitDone || strings.Contains(out, made.HostToken) || !strings.Contains(out, "shown only now") {
		t.Errorf("exit %d, %q", code, out)
	}
}

// A device that comes by another pairing is not the one that is waited for, and
// a withdrawn pairing is not waited for at all.
func TestPairIsExact(t *testing.T) {
	isolate(t)
	g := gatewaytest.Start(t)
	gateways, err := g.Admin.Gateways(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, done := &lines{found: make(chan string, 1)}, make(chan error, 1)
	go func() {
		done <- pair(t.Context(), streams{out: out, err: &bytes.Buffer{}}, g.Admin,
			pairing{gateway: gateways[0], name: "phone", wait: true, poll: time.Millisecond})
	}()
	<-out.found
	join(t, g, "d1", "somebody else")
	select {
	case err := <-done:
		t.Fatalf("pair = %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	withdraw(t, g)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "withdrawn") {
		t.Errorf("pair = %v", err)
	}
}

// A gateway is deleted by its name, after a question that only yes answers.
func TestGatewayDelete(t *testing.T) {
	g := gatewaytest.Start(t)
	operate(t, g)
	ended := join(t, g, "d1", "phone")
	if code, _, errs := irisCLI(t, "no\n", "gateway", "delete", "test"); code != exitFailed || !strings.Contains(errs, "Delete test (g_") || !strings.Contains(errs, "nothing was deleted") {
		t.Errorf("no: exit %d, %q", code, errs)
	}
	if code, _, errs := irisCLI(t, "", "gateway", "delete", "tset", "--yes"); code != exitFailed || !strings.Contains(errs, `no gateway "tset"`) {
		t.Errorf("unknown: exit %d, %q", code, errs)
	}
	if code, out, errs := irisCLI(t, "yes\n", "gateway", "delete", "test"); code != exitDone || !strings.Contains(out, "is deleted.\nNothing is left") {
		t.Fatalf("yes: exit %d, %q, %q", code, out, errs)
	}
	var closed *device.CloseError
	select {
	case err := <-ended:
		if !errors.As(err, &closed) || closed.Code != wire.CloseAuth || !strings.Contains(closed.Message, "deleted") {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("still connected")
	}
	if code, out, _ := irisCLI(t, "", "gateway", "list", "--json"); code != exitDone || out != "{\"gateways\":[],\"removed_hosts\":[]}\n" {
		t.Errorf("list: exit %d, %q", code, out)
	}
}

// A host that is there erases its copies at once; one that is away is said to, and
// listed until it has.
func TestGatewayDeleteWithHost(t *testing.T) {
	for _, away := range []bool{false, true} {
		g := gatewaytest.Start(t)
		operate(t, g)
		leave, ended := attach(t, g)
		want := "Nothing is left of it, on its host neither."
		if away {
			leave()
			<-ended
			awaitAway(t, g)
			want = "Its host has not erased its copies yet"
		}
		if code, out, errs := irisCLI(t, "", "gateway", "delete", "test", "--yes"); code != exitDone || !strings.Contains(out, want) {
			t.Errorf("away %v: exit %d, %q, %q", away, code, out, errs)
		}
		if code, out, errs := irisCLI(t, "", "gateway", "list"); code != exitDone || away != strings.Contains(out, g.ID) || away != strings.Contains(out, "deleted; its host") {
			t.Errorf("away %v: exit %d, %q, %q", away, code, out, errs)
		}
		if away {
			_, ended = attach(t, g)
		}
		if err := <-ended; !errors.Is(err, agent.ErrToken) {
			t.Errorf("away %v: the host ends with %v", away, err)
		}
		if code, out, errs := irisCLI(t, "", "gateway", "list"); code != exitDone || !strings.Contains(out, "No gateway yet") {
			t.Errorf("away %v: exit %d, %q, %q", away, code, out, errs)
		}
	}
}

// attach runs a host until leave is called, and returns how it ends, once it is in.
func attach(t *testing.T, g *gatewaytest.Gateway) (leave func(), ended <-chan error) {
	t.Helper()
	attached, end := make(chan struct{}, 10), make(chan error, 1)
	a := agent.New(agent.Config{
		URL: "ws://" + g.Addr + "/host", Token: g.HostToken, Log: testenv.Logger(t, testenv.CommandLine),
		Attached: func() { attached <- struct{}{} }, MinRetry: time.Millisecond, MaxRetry: 20 * time.Millisecond,
	})
	ctx, leave := contextWithCancel(t)
	go func() { end <- a.Run(ctx) }()
	select {
	case <-attached:
	case <-time.After(30 * time.Second):
		t.Fatal("not attached")
	}
	return leave, end
}

// awaitAway waits until the host is known to be away: nothing announces it to an
// operator.
func awaitAway(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if list, err := g.Admin.Gateways(t.Context()); err == nil && len(list) == 1 && !list[0].Host.Attached {
			return
		}
	}
	t.Fatal("the host is still attached")
}
