package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"iris-gateway/testenv"
	"iris-gateway/testenv/proc"
)

const (
	adminToken = "an-admin-token-that-is-long-enough-for-tests"
	patience   = time.Minute
)

// process is a gateway, or something like it, that listens.
type process struct {
	*proc.Process
	addr      string
	metrics   string        // address, "" for none
	listening time.Duration // from its start to the line that says so
}

// launch starts a process and waits until it says that it listens.
func launch(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	testenv.Confide(adminToken)
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = w, testenv.Log(t, testenv.Gateways, "gateway")
	began := time.Now()
	p, err := proc.Start(cmd)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	_ = out.SetReadDeadline(began.Add(patience))
	var line struct{ Message, Addr, Metrics string }
	text, err := bufio.NewReader(out).ReadString('\n')
	if json.Unmarshal([]byte(text), &line) != nil || line.Message != "listening" {
		t.Fatalf("it says %q (%v)", text, err)
	}
	return &process{Process: p, addr: line.Addr, metrics: line.Metrics, listening: time.Since(began)}
}

// environment is that of a gateway on the emulator.
func environment(emu testenv.Emulator) []string {
	return []string{
		"PORT=0", "IRIS_ADDR=127.0.0.1", "IRIS_PROJECT=" + emu.Project, testenv.EnvFirestore + "=" + emu.Host,
		"IRIS_ADMIN_TOKEN=" + adminToken, "IRIS_PUSH=off",
	}
}

// call makes an admin call and returns the texts of the answer.
func (p *process) call(t testing.TB, path string) map[string]string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.addr+path, strings.NewReader(`{"name":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer map[string]any
	data, err := io.ReadAll(res.Body)
	testenv.ConfideFrame(data)
	if err != nil || res.StatusCode/100 != 2 || json.Unmarshal(data, &answer) != nil {
		t.Fatalf("POST %s: %s %v", path, res.Status, err)
	}
	texts := map[string]string{}
	for name, v := range answer {
		texts[name] = fmt.Sprint(v)
	}
	return texts
}
