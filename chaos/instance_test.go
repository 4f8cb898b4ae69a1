package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"iris-gateway/testenv"
	"iris-gateway/testenv/proc"
)

const (
	adminToken = "chaos-admin-token-of-more-than-32-characters"
	startLimit = 60 * time.Second // a second on an idle machine
	endLimit   = 8 * time.Second  // after SIGTERM (operations.md, "Deploy and upgrade")
	raceCode   = 66               // exit code of a race that the detector found
)

// instance is a gateway process with a proxy in front of it and one behind it.
// Ended, it can be started again: on another port, behind the same proxy.
type instance struct {
	t           testing.TB
	name        string
	env         []string
	front, rear *proxy
	log         *os.File // of all its lives
	p           *proc.Process
	metrics     atomic.Value // address of its metrics, a string; another in each life
}

// newInstance prepares a gateway; start starts it. All ends with the test.
func newInstance(t testing.TB, name string, emu testenv.Emulator, logEntries int) *instance {
	t.Helper()
	in := &instance{t: t, name: name}
	var err error
	if in.front, err = startProxy(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.front.close)
	if in.rear, err = startProxy(emu.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.rear.close)
	in.log = testenv.Log(t, testenv.Gateways, "chaos-"+t.Name()+"-"+name)
	testenv.Confide(adminToken)
	t.Cleanup(in.end)
	in.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "PORT=0", "IRIS_ADDR=127.0.0.1",
		"IRIS_STORE=firestore", "IRIS_PROJECT=" + emu.Project, testenv.EnvFirestore + "=" + in.rear.addr(),
		"IRIS_ADMIN_TOKEN=" + adminToken, fmt.Sprint("IRIS_LOG_ENTRIES=", logEntries),
		"IRIS_RATE_LIMITS=off", "IRIS_PUSH=off", "IRIS_LOG=json", "IRIS_METRICS_ADDR=127.0.0.1:0",
		fmt.Sprint("GORACE=halt_on_error=1 atexit_sleep_ms=0 exitcode=", raceCode),
	}
	return in
}

// start starts the process and waits until it listens.
func (in *instance) start() error {
	addr := &announcement{found: make(chan listening, 1), log: in.log}
	cmd := exec.Command(binary)
	cmd.Env, cmd.Stdout, cmd.Stderr = in.env, addr, in.log
	p, err := proc.Start(cmd)
	if err != nil {
		return err
	}
	in.p = p
	select {
	case a := <-addr.found:
		in.front.aim(a.Addr)
		in.metrics.Store(a.Metrics)
		return nil
	case <-p.Done():
		return fmt.Errorf("%s ended while starting: %v", in.name, p.Err())
	case <-time.After(startLimit):
		return fmt.Errorf("%s does not listen after %v", in.name, startLimit)
	}
}

// listening is the line by which a process says that it can be used.
type listening struct{ Message, Addr, Metrics string }

// announcement looks for that line in what a process writes.
type announcement struct {
	found chan listening
	log   io.Writer
	mu    sync.Mutex
	text  []byte
}

func (a *announcement) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text = append(a.text, b...)
	if line, rest, ok := bytes.Cut(a.text, []byte("\n")); ok {
		a.text = rest
		var l listening
		if json.Unmarshal(line, &l) == nil && l.Message == "listening" {
			a.found <- l
		}
	}
	return a.log.Write(b)
}

// alive complains if the process has ended by itself.
func (in *instance) alive() bool {
	if !in.p.Wait(0) {
		return true
	}
	in.t.Errorf("%s ended by itself: exit code %d (%v)", in.name, in.p.ExitCode(), in.p.Err())
	return false
}

// kill ends the process in the middle of whatever it does.
func (in *instance) kill() {
	in.alive()
	in.front.aim("")
	in.p.Kill()
}

// terminate ends the process as Cloud Run does. With clean it must manage to
// finish its commits, and say so by exit code 0.
func (in *instance) terminate(clean bool) {
	began := time.Now()
	in.p.Signal(syscall.SIGTERM)
	switch {
	case !in.p.Wait(endLimit):
		in.t.Errorf("%s still runs %v after SIGTERM", in.name, endLimit)
	case in.p.ExitCode() != 0 && (clean || in.p.ExitCode() != 1):
		in.t.Errorf("%s: exit code %d %v after SIGTERM, want 0", in.name, in.p.ExitCode(), time.Since(began))
	default:
		in.t.Logf("%s ended %v after SIGTERM", in.name, time.Since(began).Round(time.Millisecond))
	}
	in.front.aim("")
	in.p.Kill()
}

// end makes sure that no process is left, and shows its last words if the test
// has failed.
func (in *instance) end() {
	if in.p != nil {
		in.p.Kill()
	}
	if in.t.Failed() {
		if b, err := os.ReadFile(in.log.Name()); err == nil {
			in.t.Logf("%s wrote:\n%s", in.name, lastLines(string(b), 60))
			keep(in.t, in.name+".log", b)
		}
	}
}

// keep saves what helps to understand a failure in $IRIS_CHAOS_KEEP.
func keep(t testing.TB, name string, b []byte) {
	dir := os.Getenv("IRIS_CHAOS_KEEP")
	if dir == "" {
		return
	}
	dir = filepath.Join(dir, t.Name())
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), b, 0o644)); err != nil {
		t.Log(err)
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// admin makes an admin call.
func (in *instance) admin(method, path, body string, out any) {
	in.t.Helper()
	req, err := http.NewRequestWithContext(in.t.Context(), method, "http://"+in.front.addr()+path, strings.NewReader(body))
	if err != nil {
		in.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		in.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	testenv.ConfideFrame(data)
	if err != nil || res.StatusCode/100 != 2 || json.Unmarshal(data, out) != nil {
		in.t.Fatalf("%s %s: %s %s (%v)", method, path, res.Status, data, err)
	}
}
