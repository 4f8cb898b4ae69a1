package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// envMain makes the test's binary the command line.
const envMain = "IRIS_TEST_MAIN"

// Whoever read what dev says has gone (`iris dev | head -1`): it ends what it has
// started, and leaves nothing.
func TestDevIntoABrokenPipe(t *testing.T) {
	cache := t.TempDir()
	cmd := exec.Command(os.Args[0], "dev")
	cmd.Env = []string{envMain + "=1", "HOME=" + cache, "XDG_CACHE_HOME=" + cache, "XDG_CONFIG_HOME=" + cache}
	cmd.Stdin = strings.NewReader("hello\n")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = write
	read.Close()
	err = cmd.Start()
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // however it ends
	for _, left := range []string{"dev-*", "iris/dev-*", "Library/Caches/iris/dev-*"} {
		if found, _ := filepath.Glob(filepath.Join(cache, left)); len(found) > 0 {
			t.Errorf("%v is left", found)
		}
	}
}
