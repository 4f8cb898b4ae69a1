package deploytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// containerCommand is the image's entry point. Only root can become the image's
// user and lock a process into a folder; others run it as themselves.
func containerCommand(t *testing.T, img image, root string) *exec.Cmd {
	t.Helper()
	var uid, gid uint32
	if _, err := fmt.Sscanf(img.user, "%d:%d", &uid, &gid); err != nil || uid == 0 || gid == 0 {
		t.Fatalf("USER %s: want numbers, so that Cloud Run and Kubernetes see that it is not root", img.user)
	}
	cmd := &exec.Cmd{Path: img.entrypoint[0], Args: img.entrypoint, Dir: "/"}
	cmd.Env = append(img.env, "PORT=0", "IRIS_STORE=memory", "IRIS_ADMIN_TOKEN="+adminToken)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	} else {
		cmd.Path = filepath.Join(root, cmd.Path)
	}
	return cmd
}
