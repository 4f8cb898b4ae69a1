package testenv_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No test throws away what a gateway logs: it would not be looked through.
func TestNoLogIsDiscarded(t *testing.T) {
	discards := "slog.New(slog." + "DiscardHandler)"
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != ".go" {
			return err
		}
		source, err := os.ReadFile(path)
		if strings.Contains(string(source), discards) {
			t.Errorf("%s discards a log: give it testenv.Logger", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
