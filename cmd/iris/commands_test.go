package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/gatewaytest"
	"iris-gateway/iris"
)

// A gateway that is half deleted is listed with what to do, and its name is free.
func TestHalfDeleted(t *testing.T) {
	g := gatewaytest.Start(t)
	operate(t, g)
	if err := g.Store.BeginRemoval(t.Context(), iris.Removal{Gateway: g.ID, Name: "test"}, ""); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := irisCLI(t, "", "gateway", "list"); code != exitDone || !strings.Contains(out, "half deleted: iris gateway delete "+g.ID) {
		t.Errorf("list: exit %d, %q %q", code, out, errs)
	}
	if code, out, errs := irisCLI(t, "", "gateway", "create", "test"); code != exitDone || !strings.Contains(out, "Gateway test (g_") {
		t.Errorf("create: exit %d, %q %q", code, out, errs)
	}
	if code, _, errs := irisCLI(t, "", "gateway", "delete", "test", "--yes"); code != exitFailed || !strings.Contains(errs, `2 gateways are called "test": give the id`) {
		t.Errorf("delete by name: exit %d, %q", code, errs)
	}
	code, out, errs := irisCLI(t, "", "gateway", "delete", g.ID, "--yes", "--json")
	if want := `{"deleted":"` + g.ID + "\"}\n"; code != exitDone || out != want {
		t.Errorf("delete by id: exit %d, %q %q, want %q", code, out, errs, want)
	}
}

func TestExportCommand(t *testing.T) {
	g := gatewaytest.Start(t)
	operate(t, g)
	folder := filepath.Join(t.TempDir(), "a")
	if code, out, errs := irisCLI(t, "", "export", folder, "--gateway", "test"); code != exitDone || out != folder+" holds 0 messages and 0 media of test.\n" {
		t.Errorf("exit %d, %q %q", code, out, errs)
	}
	if code, out, errs := irisCLI(t, "", "export", folder); code != exitFailed || out != "" || !strings.Contains(errs, "choose another folder") {
		t.Errorf("again: exit %d, %q %q", code, out, errs)
	}
	code, out, errs := irisCLI(t, "", "export", folder+"2", "--json")
	if code != exitDone || !json.Valid([]byte(out)) {
		t.Errorf("as JSON: exit %d, %q %q", code, out, errs)
	}
}

// Ctrl-C ends the waiting for a device, and says nothing more.
func TestPairInterrupted(t *testing.T) {
	g := gatewaytest.Start(t)
	operate(t, g)
	ctx, interrupt := contextWithCancel(t)
	out, errs, code := &lines{found: make(chan string, 1)}, &bytes.Buffer{}, make(chan int, 1)
	go func() { code <- run(ctx, []string{"pair"}, streams{in: strings.NewReader(""), out: out, err: errs}) }()
	<-out.found
	interrupt()
	if got := <-code; got != exitFailed || !strings.Contains(out.b.String(), "For one device of test, until ") ||
		!strings.HasPrefix(errs.String(), "Waiting for the device") || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("exit %d, %q %q", got, out.b.String(), errs.String())
	}
}

// What pair is told about the device and about waiting.
func TestPairFlags(t *testing.T) {
	g := gatewaytest.Start(t)
	operate(t, g)
	code, out, errs := irisCLI(t, "", "pair", "--wait=false", "--name", "tablet")
	if code != exitDone || errs != "" || !strings.Contains(out, "▀") {
		t.Errorf("exit %d, %q %q", code, out, errs)
	}
	ctx, interrupt := contextWithCancel(t)
	made, ended := &firstLine{come: make(chan string, 1)}, make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"pair", "--json", "--wait"}, streams{in: strings.NewReader(""), out: made, err: &bytes.Buffer{}})
	}()
	var p admin.Pairing
	if err := json.Unmarshal([]byte(<-made.come), &p); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-ended:
		t.Errorf("--json --wait has not waited: exit %d", code)
	default:
	}
	interrupt()
	if code := <-ended; code != exitFailed {
		t.Errorf("exit %d", code)
	}
}

// firstLine passes on the first thing that is written.
type firstLine struct{ come chan string }

func (f *firstLine) Write(p []byte) (int, error) {
	select {
	case f.come <- string(p):
	default:
	}
	return len(p), nil
}

// A chat keeps its pairing until it is told of another gateway; its name and what
// it is among the devices can be said.
func TestChatPairsAnew(t *testing.T) {
	g := gatewaytest.Start(t)
	operate(t, g)
	second, err := g.Admin.CreateGateway(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	devices := func(gateway string) (ids, names string) {
		t.Helper()
		list, err := g.Admin.Devices(t.Context(), gateway)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			ids, names = ids+d.DeviceID, names+d.Name
		}
		return ids, names
	}
	for _, args := range [][]string{{"--gateway", "test", "--name", "kitchen"}, {}, {"--gateway", "second"}} {
		if code, out, errs := irisCLI(t, "", append([]string{"chat"}, args...)...); code != exitDone || !strings.Contains(errs, "connected") {
			t.Fatalf("%v: exit %d, %q %q", args, code, out, errs)
		}
	}
	firstID, firstName := devices(g.ID)
	secondID, secondName := devices(second.GatewayID)
	if firstName != "kitchen" || secondName != terminalName() || firstID == "" || firstID != secondID {
		t.Errorf("devices %q %q, and of the second %q %q", firstID, firstName, secondID, secondName)
	}
	code, out, errs := irisCLI(t, "", "chat", "--json", "--history", "200", "--wait", "0")
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %q", line)
		}
	}
	if code != exitDone || out == "" {
		t.Errorf("--json: exit %d, %q %q", code, out, errs)
	}
	if code, out, _ := irisCLI(t, "", "doctor", "--gateway", "second"); !strings.Contains(out, "✓ device token  this terminal is let in") || !strings.Contains(out, "second was never attached") {
		t.Errorf("doctor: exit %d, %q", code, out)
	}
	// --url is another gateway, for all that iris knows: the operator pairs anew
	if code, _, errs := irisCLI(t, "", "chat", "--url", "http://"+g.Addr); code != exitFailed || !strings.Contains(errs, "there are 2 gateways") {
		t.Errorf("--url: exit %d, %q", code, errs)
	}
}

// For a phone the way is shown that it can take, which is not encrypted.
func TestDevForPhones(t *testing.T) {
	isolate(t)
	code, out, errs := irisCLI(t, "picture\n", "dev", "--pace", "0s", "--addr", "phones.example")
	if code != exitDone || !strings.Contains(errs, "iris://pair?url=ws%3A%2F%2Fphones.example%3A") || !strings.Contains(errs, "▀") || !strings.Contains(errs, "is not encrypted") {
		t.Errorf("exit %d, %q", code, errs)
	}
	if !strings.Contains(out, "rainbow.png") {
		t.Errorf("no picture in %q", out)
	}
}

// What was there before is kept beside it, and what is not safe is said.
func TestHostInstallKeeps(t *testing.T) {
	dir := isolate(t)
	t.Setenv("IRIS_TOKEN", "secret-token")
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".env"), []byte("A=b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	install := []string{"host", "install", "--hermes-home", home, "--url", "http://192.168.1.5:8080", "--yes"}
	code, out, errs := irisCLI(t, "", install...)
	if code != exitDone || !strings.Contains(out, "as it was before: "+home) || !strings.Contains(out, "Iris is installed in "+home) ||
		!strings.Contains(errs, "note: the way to 192.168.1.5 is not encrypted") {
		t.Errorf("exit %d, %q %q", code, out, errs)
	}
	if strings.Contains(out, "Everything is in place") {
		t.Errorf("nothing was changed, it says: %q", out)
	}
	code, out, errs = irisCLI(t, "", "host", "install", "--hermes-home", home, "--remove", "--yes")
	if code != exitDone || !strings.Contains(out, "- IRIS_URL=http://192.168.1.5:8080") || !strings.Contains(out, "Iris is removed from "+home) {
		t.Errorf("remove: exit %d, %q %q", code, out, errs)
	}
}

// A gateway that is away for a while does not end the waiting.
func TestPairOutlastsARestart(t *testing.T) {
	g := gatewaytest.Start(t)
	operate(t, g)
	out, notes, ended := &lines{found: make(chan string, 1)}, &firstLine{come: make(chan string, 1)}, make(chan error, 1)
	go func() {
		ended <- pair(t.Context(), streams{out: out, err: notes}, g.Admin,
			pairing{gateway: admin.Gateway{GatewayID: g.ID, Name: "test"}, name: "phone", wait: true, poll: time.Millisecond})
	}()
	socket, token, err := parsePairURL(<-out.found)
	if err != nil {
		t.Fatal(err)
	}
	<-notes.come // that it waits
	g.Stop()
	if note := <-notes.come; !strings.HasPrefix(note, "Still waiting, but: cannot reach the gateway") {
		t.Errorf("noted %q", note)
	}
	g.Restart()
	phone := device.New(device.Config{URL: socket, Token: token, DeviceID: "d1", DeviceName: "my phone", Handle: func(device.Event) {}})
	ctx, cancel := contextWithCancel(t)
	gone := make(chan error, 1)
	go func() { gone <- phone.Run(ctx) }()
	if err := <-ended; err != nil || !strings.Contains(out.b.String(), "my phone is paired (d1).") {
		t.Errorf("pair = %v, and wrote %q", err, out.b.String())
	}
	cancel()
	<-gone
}

// What the gateway says for good ends the waiting at once.
func TestPasses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{errors.New("cannot reach the gateway"), true},
		{&admin.Error{Status: http.StatusServiceUnavailable}, true},
		{&admin.Error{Status: http.StatusInternalServerError}, true},
		{&admin.Error{Status: http.StatusTooManyRequests}, true},
		{&admin.Error{Status: http.StatusUnauthorized}, false},
		{fmt.Errorf("devices: %w", &admin.Error{Status: http.StatusNotFound}), false},
	} {
		if got := passes(tt.err); got != tt.want {
			t.Errorf("%#v passes: %v", tt.err, got)
		}
	}
}
