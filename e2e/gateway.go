package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"iris-gateway/testenv"
	"iris-gateway/testenv/proc"
)

// startLimit is how long the gateway may take until it listens: a second on an
// idle machine, more for a -race binary beside other tests.
const startLimit = 60 * time.Second

// adminToken is the operator's; the gateway wants 32 characters or more.
const adminToken = "e2e-admin-token-of-more-than-32-characters"

// Gateway is the gateway binary on a Firestore project of its own. Stopped or
// killed it can be started again on the same port and project.
type Gateway struct {
	bin  string
	env  []string
	port string // "0" before the first start
	addr string // host:port
	out  *output
	p    *proc.Process // nil before the first start

	firestore testenv.Emulator
	bucket    string

	started time.Time // the newest start
}

// BuildGateway builds the real binary, with the race detector, once for all tests.
func BuildGateway(bin string) error {
	out, err := exec.Command("go", "build", "-race", "-o", bin, "iris-gateway/cmd/gateway").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build of the gateway: %w\n%s", err, out)
	}
	return nil
}

// NewGateway prepares a gateway that has never run, with a bucket of its own for
// media; Start starts it.
func NewGateway(t testing.TB, bin string, firestore testenv.Emulator) *Gateway {
	t.Helper()
	log, err := testenv.OpenLog(testenv.Gateways, "e2e") // a gateway may be there for longer than a test
	if err != nil {
		t.Fatal(err)
	}
	testenv.Confide(adminToken)
	bucket := testenv.Bucket(t)
	return &Gateway{
		bin: bin, port: "0", out: newOutput(log), firestore: firestore, bucket: bucket,
		env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(),
			"IRIS_STORE=firestore", "IRIS_PROJECT=" + firestore.Project, testenv.EnvFirestore + "=" + firestore.Host,
			"IRIS_BUCKET=" + bucket, testenv.EnvStorage + "=" + os.Getenv(testenv.EnvStorage),
			"IRIS_ADDR=127.0.0.1", "IRIS_ADMIN_TOKEN=" + adminToken,
			"IRIS_LOG=json", "IRIS_PUSH=off", "IRIS_RATE_LIMITS=off",
			// A race found by the detector is an exit code that every stop looks at.
			"GORACE=halt_on_error=1 exitcode=66", runMark,
		},
	}
}

// Running tells whether the process runs.
func (g *Gateway) Running() bool { return g.p != nil && !g.p.Wait(0) }

// URL is the gateway's base URL; the same after each restart.
func (g *Gateway) URL() string { return "http://" + g.addr }

// Start starts the process and waits until it says that it listens.
func (g *Gateway) Start(t testing.TB) {
	t.Helper()
	from := g.out.len()
	cmd := exec.Command(g.bin)
	cmd.Env = append(append([]string{}, g.env...), "PORT="+g.port)
	cmd.Stdout, cmd.Stderr = g.out, g.out
	p, err := proc.Start(cmd)
	if err != nil {
		t.Fatalf("start the gateway: %v", err)
	}
	g.p, g.started = p, time.Now()
	var addr string
	err = g.out.await(from, startLimit, p.Done(), func(line string) bool {
		var l struct{ Message, Addr string }
		if json.Unmarshal([]byte(line), &l) != nil || l.Message != "listening" || l.Addr == "" {
			return false
		}
		addr = l.Addr
		return true
	})
	if err != nil {
		t.Fatalf("awaited the gateway's line \"listening\": %v; it wrote:\n%s", err, g.out.tail(40))
	}
	if addr == g.addr {
		return // as in its former life; whoever dials it reads it meanwhile
	}
	g.addr = addr
	if _, g.port, err = net.SplitHostPort(addr); err != nil {
		t.Fatalf("the gateway listens on %q: %v", addr, err)
	}
}

// Terminate ends the gateway as Cloud Run does: SIGTERM, and 8 s until exit code 0.
func (g *Gateway) Terminate(t testing.TB) {
	t.Helper()
	g.p.Signal(syscall.SIGTERM)
	if !g.p.Wait(8 * time.Second) {
		t.Errorf("the gateway still runs 8 s after SIGTERM")
	} else if code := g.p.ExitCode(); code != 0 {
		t.Errorf("the gateway's exit code after SIGTERM is %d (%v), want 0; it wrote:\n%s", code, g.p.Err(), g.out.tail(20))
	}
	g.p.Kill()
}

// Kill ends the gateway in the middle of whatever it does (SIGKILL).
func (g *Gateway) Kill(t testing.TB) {
	t.Helper()
	if g.p.Wait(0) {
		t.Errorf("the gateway ended before it was killed: %v", g.p.Err())
	}
	g.p.Kill()
}

// Freeze stops it where it stands: its sockets stay open and nobody reads them.
func (g *Gateway) Freeze() { g.p.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen gateway go on.
func (g *Gateway) Thaw() { g.p.Signal(syscall.SIGCONT) }

// Stop ends the gateway at the end of the tests.
func (g *Gateway) Stop() {
	if g.p != nil {
		g.p.Stop(10 * time.Second)
	}
}

// Holding lists where the gateway keeps a text: documents of the store, objects of
// the bucket, and lines that it has logged in all its lives.
func (g *Gateway) Holding(t testing.TB, text string) []string {
	t.Helper()
	var found []string
	for _, document := range testenv.Documents(t, g.firestore) {
		if strings.Contains(document, text) {
			found = append(found, "document "+document)
		}
	}
	for _, name := range testenv.Objects(t, g.bucket) {
		if bytes.Contains(testenv.Object(t, g.bucket, name), []byte(text)) {
			found = append(found, "object "+name)
		}
	}
	for line := range strings.Lines(g.out.tail(1 << 20)) {
		if strings.Contains(line, text) {
			found = append(found, "log line "+line)
		}
	}
	return found
}

// Races is what the race detector reported in all the gateway's lives, "" for nothing.
func (g *Gateway) Races() string {
	all := g.out.tail(1 << 20)
	if i := strings.Index(all, "WARNING: DATA RACE"); i >= 0 {
		return all[i:min(len(all), i+4000)]
	}
	return ""
}

// ShowOnFailure prints what it wrote during this test, if the test fails. One that
// still runs is ended by SIGQUIT, so that the last it writes is where each of its
// goroutines stood: a test mostly fails because something did not come.
func (g *Gateway) ShowOnFailure(t testing.TB) {
	g.out.showOnFailure(t, "the gateway")
	t.Cleanup(func() {
		if t.Failed() && g.Running() {
			g.p.Signal(syscall.SIGQUIT)
			g.p.Wait(10 * time.Second)
			g.p.Kill()
		}
	})
}

// Host is a gateway as the operator makes it for one hermes host.
type Host struct {
	GatewayID string `json:"gateway_id"`
	Token     string `json:"host_token"`
}

// CreateHost makes a gateway record; its token is what a hermes host is given.
func (g *Gateway) CreateHost(t testing.TB, name string) Host {
	t.Helper()
	var h Host
	g.admin(t, http.MethodPost, "/admin/gateways", map[string]string{"name": name}, http.StatusCreated, &h)
	if h.GatewayID == "" || h.Token == "" {
		t.Fatalf("POST /admin/gateways answered without id or token: %+v", h)
	}
	return h
}

// Pair makes a device token, as `iris pair` does.
func (g *Gateway) Pair(t testing.TB, h Host, name string) string {
	t.Helper()
	var d struct{ Token, URL string }
	g.admin(t, http.MethodPost, "/admin/gateways/"+h.GatewayID+"/devices", map[string]string{"name": name}, http.StatusCreated, &d)
	if d.Token == "" || !strings.HasPrefix(d.URL, "iris://pair?") {
		t.Fatalf("pairing answered token %q, url %q", d.Token, d.URL)
	}
	return d.Token
}

// AwaitHost waits until the host is attached to the gateway as it runs now, by
// asking: nothing announces it to an operator. A gateway that was killed left the
// host attached in its log, so it counts only when it was seen since.
func (g *Gateway) AwaitHost(t testing.TB, h Host) {
	t.Helper()
	g.awaitHost(t, h, true)
}

// AwaitHostGone waits until the host is known to be away.
func (g *Gateway) AwaitHostGone(t testing.TB, h Host) {
	t.Helper()
	g.awaitHost(t, h, false)
}

func (g *Gateway) awaitHost(t testing.TB, h Host, attached bool) {
	t.Helper()
	var list json.RawMessage
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		g.admin(t, http.MethodGet, "/admin/gateways", nil, http.StatusOK, &list)
		var l struct {
			Gateways []struct {
				ID   string `json:"gateway_id"`
				Host struct {
					Attached bool
					Seen     int64
				}
			}
		}
		if err := json.Unmarshal(list, &l); err != nil {
			t.Fatalf("GET /admin/gateways: %v in %s", err, list)
		}
		for _, gw := range l.Gateways {
			if gw.ID == h.GatewayID && gw.Host.Attached == attached && (!attached || gw.Host.Seen >= g.started.UnixMilli()) {
				return
			}
		}
	}
	t.Fatalf("awaited that the host of %s is attached: %v; after %s the list says %s", h.GatewayID, attached, waitLimit, list)
}

// admin calls the admin API.
func (g *Gateway) admin(t testing.TB, method, path string, body any, want int, into any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, g.URL()+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	testenv.ConfideFrame(answer)
	if err != nil || resp.StatusCode != want {
		t.Fatalf("%s %s: %s %s (%v), want %d", method, path, resp.Status, answer, err, want)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatalf("%s %s answered %s: %v", method, path, answer, err)
	}
}

// client keeps no connection: a gateway that is killed would leave dead ones behind.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Delete deletes a gateway record, as `iris gateway delete` does, and returns the
// status: 204 when nothing is left anywhere, 200 when its host has still to erase
// its copies.
func (g *Gateway) Delete(t testing.TB, h Host) int {
	t.Helper()
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, g.URL()+"/admin/gateways/"+h.GatewayID, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+adminToken)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusAccepted { // there is more to remove
			return resp.StatusCode
		}
	}
}
