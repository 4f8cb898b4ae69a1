package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/gatewaytest"
	"iris-gateway/iris"
	"iris-gateway/server"
	"iris-gateway/testenv"
)

func TestMain(m *testing.M) {
	if os.Getenv(envMain) != "" {
		main()
	}
	// The first is started by Google's packages when they are imported.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// irisCLI runs a command line with folders and an environment of its own.
func irisCLI(t *testing.T, input string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	testenv.ConfideText(strings.Split(input, "\n")...)
	log := testenv.Log(t, testenv.CommandLine, "iris")
	code = run(t.Context(), args, streams{in: strings.NewReader(input), out: &o, err: &e, log: log})
	return code, o.String(), e.String()
}

// isolate keeps a test away from the user's own settings.
func isolate(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, value := range map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "XDG_CACHE_HOME": filepath.Join(dir, "cache"),
		"IRIS_URL": "", "IRIS_ADMIN_TOKEN": "", "NO_COLOR": "",
	} {
		t.Setenv(name, value)
	}
	return dir
}

func TestWrongUsage(t *testing.T) {
	isolate(t)
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"dance"}, `there is no command "dance"`},
		{[]string{"gatway"}, "did you mean gateway?"},
		{[]string{"gateway", "destroy"}, `there is no command "destroy"`},
		{[]string{"gateway", "create"}, "NAME is missing"},
		{[]string{"gateway", "create", "a", "b"}, `"b" is too much`},
		{[]string{"gateway", "create", ""}, "NAME is empty"},
		{[]string{"gateway", "create", " "}, "NAME is empty"},
		{[]string{"help", "gateway", "destroy"}, `there is no command "gateway destroy"`},
		{[]string{"push", "tset"}, "did you mean test?"},
		{[]string{"host", "remove"}, `there is no command "remove"`},
		{[]string{"chat", "x"}, `"x" is too much`},
		{[]string{"dev", "x"}, `"x" is too much`},
		{[]string{"pair", "x"}, `"x" is too much`},
		{[]string{"devices", "x"}, `"x" is too much`},
		{[]string{"gateway", "host-token", "x"}, `"x" is too much`},
		{[]string{"host", "install", "x"}, `"x" is too much`},
		{[]string{"export"}, "FOLDER is missing"},
		{[]string{"revoke"}, "DEVICE is missing"},
		{[]string{"push", "test"}, "DEVICE is missing"},
		{[]string{"gateway", "delete"}, "GATEWAY is missing"},
		{[]string{"gateway", "list"}, "which gateway?"},
		{[]string{"gateway", "list", "--url", "http://x"}, "set IRIS_ADMIN_TOKEN"},
		{[]string{"gateway", "list", "--url", "ftp://x", "--admin-token", "t"}, "no gateway address"},
		{[]string{"pair", "--speed", "9"}, "unknown flag: --speed"},
		{[]string{"dev", "--model", "x"}, "go with --hermes"},
		{[]string{"dev", "--port", "65536"}, "must be from 0 to 65535"},
		{[]string{"dev", "--port", "-1"}, "must be from 0 to 65535"},
		{[]string{"dev", "--port", "many"}, "invalid argument \"many\" for \"--port\" flag\n"},
		{[]string{"dev", "--addr", "http://192.168.1.5"}, "without port"},
		{[]string{"dev", "--addr", "192.168.1.5:80"}, "without port"},
		{[]string{"dev", "--hermes-home", "x"}, "go with --hermes"},
		{[]string{"dev", "--hermes", "x", "--hermes-home", "x", "--model", "x"}, "brings its own model"},
		{[]string{"dev", "--wait", "-1s"}, "must be 0 or more"},
		{[]string{"chat", "--wait", "-1s"}, "must be 0 or more"},
		{[]string{"chat", "--history", "-1"}, "must be from 0 to 200"},
		{[]string{"chat", "--history", "201"}, "must be from 0 to 200"},
		{[]string{"chat"}, "not paired yet"},
		{[]string{"chat", "--pair", "https://example.org"}, "that is no pairing"},
		{[]string{"chat", "--pair", "iris://pair?url=wss%3A%2F%2Fx%2Fws"}, "in quotes"},
	}
	for _, tt := range tests {
		code, out, errs := irisCLI(t, "", tt.args...)
		if code != exitUsage || !strings.Contains(errs, tt.want) || !strings.Contains(errs, "--help") || out != "" {
			t.Errorf("iris %v: exit %d, want %d and %q, wrote %q and %q", tt.args, code, exitUsage, tt.want, out, errs)
		}
	}
}

func TestVersion(t *testing.T) {
	isolate(t)
	code, out, errs := irisCLI(t, "", "--version")
	if want := "iris version " + server.Version() + "\n"; code != exitDone || out != want {
		t.Errorf("iris --version: exit %d, wrote %q and %q, want %q", code, out, errs, want)
	}
}

func TestHelp(t *testing.T) {
	isolate(t)
	for _, args := range [][]string{{}, {"--help"}, {"gateway"}, {"push"}, {"host"}, {"dev", "--help"}, {"help", "gateway", "create"}} {
		if code, out, errs := irisCLI(t, "", args...); code != exitDone || !strings.Contains(out, "Usage:") {
			t.Errorf("iris %v: exit %d, wrote %q and %q", args, code, out, errs)
		}
	}
}

func TestGatewayIsAway(t *testing.T) {
	isolate(t)
	code, _, errs := irisCLI(t, "", "gateway", "list", "--url", "http://127.0.0.1:1", "--admin-token", "t")
	if code != exitFailed || !strings.Contains(errs, "cannot reach the gateway at http://127.0.0.1:1") {
		t.Errorf("exit %d, wrote %q", code, errs)
	}
}

func TestOperator(t *testing.T) {
	isolate(t)
	g := gatewaytest.Start(t)
	t.Setenv("IRIS_URL", "http://"+g.Addr)
	t.Setenv("IRIS_ADMIN_TOKEN", "wrong")
	if code, _, errs := irisCLI(t, "", "gateway", "list"); code != exitFailed || !strings.Contains(errs, "set IRIS_ADMIN_TOKEN to the one") {
		t.Errorf("wrong token: exit %d, %q", code, errs)
	}
	t.Setenv("IRIS_ADMIN_TOKEN", g.Token())

	t.Setenv("IRIS_ADMIN_TOKEN", g.Token()+"\r\n") // read with the end of its line
	code, out, errs := irisCLI(t, "", "devices")
	if code != exitDone || !strings.Contains(out, "No device yet") {
		t.Errorf("devices: exit %d, %q %q", code, out, errs)
	}
	code, out, errs = irisCLI(t, "", "gateway", "create", "second \x1b[31mhome", "--json")
	var made admin.NewGateway
	if err := json.Unmarshal([]byte(out), &made); code != exitDone || err != nil || made.HostToken == "" {
		t.Fatalf("create: exit %d, %q %q", code, out, errs)
	}
	if code, out, _ = irisCLI(t, "", "gateway", "create", "third"); code != exitDone || !strings.Contains(out, "iris host install --url http://"+g.Addr+" ") {
		t.Errorf("create: exit %d, %q", code, out)
	}
	for name, id := range map[string]string{"test": g.ID, " test ": g.ID, "second \x1b[31mhome": made.GatewayID} {
		code, out, errs := irisCLI(t, "", "gateway", "create", name)
		if code != exitFailed || out != "" || !strings.Contains(errs, "already ("+id+"): `iris gateway host-token --gateway "+id+"`") {
			t.Errorf("create %q again: exit %d, %q %q", name, code, out, errs)
		}
	}
	code, out, _ = irisCLI(t, "", "gateway", "list")
	if code != exitDone || !strings.Contains(out, "NAME") || !strings.Contains(out, g.ID) || !strings.Contains(out, made.GatewayID) ||
		!strings.Contains(out, "never seen") || strings.Contains(out, "\x1b") {
		t.Errorf("list: exit %d\n%s", code, out)
	}
	if code, _, errs = irisCLI(t, "", "pair"); code != exitFailed || !strings.Contains(errs, "there are 3 gateways: say which") {
		t.Errorf("pair: exit %d, %q", code, errs)
	}
	if code, _, errs = irisCLI(t, "", "pair", "--gateway", "fourth"); code != exitFailed || !strings.Contains(errs, `no gateway "fourth"`) {
		t.Errorf("pair: exit %d, %q", code, errs)
	}
	code, out, errs = irisCLI(t, "", "pair", "--gateway", "test", "--json")
	var p admin.Pairing
	if err := json.Unmarshal([]byte(out), &p); code != exitDone || err != nil || !strings.HasPrefix(p.URL, "iris://pair?url=ws%3A%2F%2F") || !strings.Contains(out, p.URL) {
		t.Errorf("pair: exit %d, %q %q", code, out, errs)
	}
}

// The whole way of a person: pair shows a code, a phone uses it, pair says so.
func TestPairWaitsForTheDevice(t *testing.T) {
	isolate(t)
	g := gatewaytest.Start(t)
	list, err := g.Admin.Gateways(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, done := &lines{found: make(chan string, 1)}, make(chan error, 1)
	go func() {
		done <- pair(t.Context(), streams{out: out, err: &bytes.Buffer{}}, g.Admin,
			pairing{gateway: list[0], name: "phone", wait: true, poll: time.Millisecond})
	}()
	socket, token, err := parsePairURL(<-out.found)
	if err != nil {
		t.Fatal(err)
	}
	phone := device.New(device.Config{URL: socket, Token: token, DeviceID: "d1", DeviceName: "my phone", Handle: func(device.Event) {}})
	ended := make(chan error, 1)
	ctx, cancel := contextWithCancel(t)
	go func() { ended <- phone.Run(ctx) }()
	if err := <-done; err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
	if text := out.b.String(); !strings.Contains(text, "▀") || !strings.Contains(text, "✓ my phone is paired (d1).") {
		t.Errorf("wrote\n%s", text)
	}
}

// chat pairs itself for the operator, keeps the pairing for itself, and needs
// nobody afterwards.
func TestChatKeepsItsPairing(t *testing.T) {
	dir := isolate(t)
	g := gatewaytest.Start(t)
	t.Setenv("IRIS_URL", "http://"+g.Addr)
	t.Setenv("IRIS_ADMIN_TOKEN", g.Token())
	if code, _, errs := irisCLI(t, "", "chat"); code != exitDone {
		t.Fatalf("exit %d, %q", code, errs)
	}
	info, err := os.Stat(filepath.Join(dir, "config", "iris", "chat.json"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file has mode %v", info.Mode())
	}
	t.Setenv("IRIS_URL", "")
	t.Setenv("IRIS_ADMIN_TOKEN", "")
	code, _, errs := irisCLI(t, "hello\n", "chat", "--wait", "2s")
	if code != exitFailed || !strings.Contains(errs, "the gateway keeps the message for it") || !strings.Contains(errs, "no complete answer") {
		t.Errorf("exit %d, %q", code, errs)
	}
	code, out, _ := irisCLI(t, "", "chat")
	if code != exitDone || !strings.Contains(out, "› hello") {
		t.Errorf("exit %d, history %q", code, out)
	}
	stale := "iris://pair?url=ws%3A%2F%2F" + g.Addr + "%2Fws&token=" + iris.NewToken()
	if code, _, errs := irisCLI(t, "", "chat", "--pair", stale); code != exitFailed || !strings.Contains(errs, "does not know this terminal") {
		t.Errorf("with a pairing that has expired: exit %d, %q", code, errs)
	}
	if code, out, errs := irisCLI(t, "", "chat"); code != exitDone || !strings.Contains(out, "› hello") {
		t.Errorf("after a pairing that had expired: exit %d, history %q, %q", code, out, errs)
	}
	devices, err := g.Admin.Devices(t.Context(), g.ID)
	if err != nil || len(devices) != 1 || !strings.HasPrefix(devices[0].Name, "terminal") {
		t.Errorf("devices %+v (%v)", devices, err)
	}
}

func TestDev(t *testing.T) {
	dir := isolate(t)
	code, out, errs := irisCLI(t, "hello\nweather in Oslo\n", "dev", "--pace", "0s")
	if code != exitDone {
		t.Fatalf("exit %d, %q", code, errs)
	}
	testenv.ConfideText(strings.FieldsFunc(out, func(r rune) bool { return strings.ContainsRune("›●⚙✓\n", r) })...)
	for _, want := range []string{"› hello ✓✓\n● Hello!", "⚙ weather: Oslo ✓", "In **Oslo**"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(errs, "iris://") || strings.Contains(errs, "▀") { // nobody reads it, and no phone may join
		t.Errorf("it invites with %q", errs)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "cache", "iris", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// With --json the frames come as they are, one a line.
func TestDevJSON(t *testing.T) {
	isolate(t)
	code, out, errs := irisCLI(t, "hello\n", "dev", "--pace", "0s", "--json")
	if code != exitDone || !strings.Contains(out, `"type":"message"`) {
		t.Errorf("exit %d, %q %q", code, out, errs)
	}
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %q", line)
		}
	}
}

// When the gateway cannot start, its reason is all that is said.
func TestDevOnATakenPort(t *testing.T) {
	isolate(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	code, _, errs := irisCLI(t, "hello\n", "dev", "--port", port)
	if !strings.Contains(errs, "What was logged is in ") {
		t.Errorf("nothing leads to the log: %q", errs)
	}
	if code != exitFailed || strings.Count(errs, "address already in use") != 1 || strings.Contains(errs, "cannot reach") || strings.Contains(errs, "canceled") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

func TestDevWithoutHermes(t *testing.T) {
	isolate(t)
	code, _, errs := irisCLI(t, "hello\n", "dev", "--hermes", "/nowhere/hermes")
	if code != exitFailed || !strings.Contains(errs, `no hermes at "/nowhere/hermes"`) {
		t.Errorf("exit %d, %q", code, errs)
	}
}
