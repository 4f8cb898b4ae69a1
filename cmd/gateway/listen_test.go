package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"iris-gateway/testenv"
)

// A gateway listens on its port, and where its metrics are wanted, nowhere else; the
// metrics are only there. What answers on its port: handlers/routes_test.go.
func TestListensNowhereElse(t *testing.T) {
	if _, err := os.Stat("/proc/self/net/tcp"); err != nil {
		t.Skip("only Linux tells what a process listens on")
	}
	for metrics, want := range map[string]int{"": 1, "127.0.0.1:0": 2} {
		env := append(environment(testenv.Firestore(t)), "IRIS_METRICS_ADDR="+metrics)
		p := launch(t, gateway(t, env...))
		if got := listening(t, p.Pid()); len(got) != want {
			t.Errorf("with metrics on %q it listens on %v, want %d", metrics, got, want)
		}
		for addr, want := range map[string]int{p.addr: http.StatusNotFound, p.metrics: http.StatusOK} {
			if addr == "" {
				continue
			}
			res, err := http.Get("http://" + addr + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("GET /metrics on %s: %s, want %d", addr, res.Status, want)
			}
		}
		http.DefaultClient.CloseIdleConnections()
		p.Stop(patience)
		if code := p.ExitCode(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// listening returns the local addresses of a process' listening sockets.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	own := map[string]bool{} // sockets of the process, by inode
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if link, err := os.Readlink(fd); err == nil && strings.HasPrefix(link, "socket:[") {
			own[strings.Trim(link, "socket:[]")] = true
		}
	}
	const listen, stateField, inodeField = "0A", 3, 9 // of proc_net(5)
	var found []string
	for _, file := range []string{"tcp", "tcp6", "udp", "udp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			bound := strings.HasPrefix(file, "udp") || fields[stateField] == listen
			if len(fields) > inodeField && own[fields[inodeField]] && bound {
				found = append(found, file+" "+fields[1])
			}
		}
	}
	slices.Sort(found)
	return found
}
