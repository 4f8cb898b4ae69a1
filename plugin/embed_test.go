package plugin_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iris-gateway/plugin"
)

func TestInstall(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "plugins", "iris")
	for range 2 { // a second time over the first
		if err := plugin.Install(dir); err != nil {
			t.Fatal(err)
		}
		old := filepath.Join(dir, "old_module.py")
		if _, err := os.Stat(old); !os.IsNotExist(err) {
			t.Errorf("module of an older plugin: err = %v, want it gone", err)
		}
		if err := os.WriteFile(old, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"plugin.yaml", "__init__.py", "adapter.py"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilesHoldNoCache(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(plugin.Files, ".", func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, "__pycache__") || strings.HasSuffix(path, ".pyc") {
			t.Errorf("%s is embedded", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
