//go:build !linux

package deploytest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// containerCommand is the image's entry point; the image itself is for Linux.
func containerCommand(t *testing.T, img image, root string) *exec.Cmd {
	t.Helper()
	cmd := &exec.Cmd{Path: filepath.Join(root, img.entrypoint[0]), Args: img.entrypoint, Dir: "/"}
	cmd.Env = append(img.env, "PORT=0", "IRIS_STORE=memory", "IRIS_ADMIN_TOKEN="+adminToken)
	return cmd
}
