// Package plugin carries the hermes plugin in the CLI, so that one binary can
// set up a host.
package plugin

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files is the plugin as hermes wants it: the folder iris with its manifest
// and modules. The patterns leave out what Python caches beside them.
//
//go:embed iris/*.py iris/plugin.yaml
var Files embed.FS

// Install writes the plugin's files into dir, which hermes knows as
// HERMES_HOME/plugins/iris. Files of the same names are replaced, and modules
// of an older plugin that this one does not have are removed: hermes would
// import them.
func Install(dir string) error {
	if err := install(dir); err != nil {
		return fmt.Errorf("install plugin: %w", err)
	}
	return nil
}

func install(dir string) error {
	files, err := fs.ReadDir(Files, "iris")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	current := make(map[string]bool, len(files))
	for _, file := range files {
		current[file.Name()] = true
		body, err := fs.ReadFile(Files, "iris/"+file.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file.Name()), body, 0o644); err != nil {
			return err
		}
	}
	return removeOld(dir, current)
}

// removeOld removes the Python modules in dir that are not current.
func removeOld(dir string, current map[string]bool) error {
	modules, err := filepath.Glob(filepath.Join(dir, "*.py"))
	if err != nil {
		return err
	}
	for _, module := range modules {
		if current[filepath.Base(module)] {
			continue
		}
		if err := os.Remove(module); err != nil {
			return err
		}
	}
	return nil
}
