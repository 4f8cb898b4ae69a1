package deploytest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"iris-gateway/testenv"
)

const (
	version       = "v0.0.0-of-the-test"
	maxCompressed = 20 << 20
	patience      = 30 * time.Second
	adminToken    = "a-token-that-is-only-for-this-test-0000"
)

// TestContainer builds the binary by the Dockerfile's own command and starts it
// as the image would: its entry point, its user, its environment, and, where the
// test runs as root, nothing else in the file system.
func TestContainer(t *testing.T) {
	t.Parallel()
	img := readDockerfile(t)
	root := openTempDir(t)
	binary := filepath.Join(root, img.copied)
	buildBinary(t, img, binary)
	t.Run("binary", func(t *testing.T) { checkBinary(t, binary) })
	t.Run("run", func(t *testing.T) { runContainer(t, img, root) })
}

// openTempDir is a folder that another user may enter too.
func openTempDir(t *testing.T) string {
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func buildBinary(t *testing.T, img image, binary string) {
	t.Helper()
	if !strings.Contains(img.build, " -o "+img.copied+" ") {
		t.Fatalf("RUN %s: does not build %s, which is copied into the image", img.build, img.copied)
	}
	command := strings.Replace(img.build, " -o "+img.copied+" ", ` -o "$OUT" `, 1)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = ".."
	cmd.Env = append(append(os.Environ(), img.buildEnv...), "OUT="+binary, "VERSION="+version, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

func checkBinary(t *testing.T, binary string) {
	raw, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(raw); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if packed.Len() > maxCompressed {
		t.Errorf("%d bytes compressed, want at most %d", packed.Len(), maxCompressed)
	}
	t.Logf("%.1f MB, compressed %.1f MB", float64(len(raw))/1e6, float64(packed.Len())/1e6)
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte(here)) {
		t.Errorf("the binary holds %s: built elsewhere it would be another one", here)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "vcs") {
			t.Errorf("the binary says %s=%s: it depends on more than its source", s.Key, s.Value)
		}
	}
	if runtime.GOOS == "linux" {
		checkStatic(t, binary)
	}
}

// checkStatic looks for the loader that a dynamic binary asks for.
func checkStatic(t *testing.T, binary string) {
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("not static: %v", p.Type)
		}
	}
}

func runContainer(t *testing.T, img image, root string) {
	testenv.Confide(adminToken)
	cmd := containerCommand(t, img, root)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = io.MultiWriter(&stderr, testenv.Log(t, testenv.Gateways, "container"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("ended before it listened: %v\n%s", err, stderr.Bytes())
	}
	var said struct{ Message, Addr, Version string }
	if err := json.Unmarshal(line, &said); err != nil || said.Message != "listening" || said.Version != version {
		t.Errorf("said %q: %v, want version %s", line, err, version)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(said.Addr, "[::]"), ":")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get("http://127.0.0.1:" + port + "/health")
	if err != nil {
		t.Errorf("/health: %v", err)
	} else {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("/health: %s", resp.Status)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, stderr.Bytes())
	}
}
