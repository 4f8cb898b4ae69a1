package hostsetup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// state is what was done to a home, so that it can be undone. It stands beside
// the plugin, and only its owner may read it: an older token may be in it.
type state struct {
	Version  int        `json:"version"` // 0 when nothing was done
	Done     bool       `json:"done"`    // the last install went through to its end
	Plugin   bool       `json:"plugin"`  // the plugin's folder is ours
	Settings []setting  `json:"settings"`
	Parents  [][]string `json:"parents"`  // mappings that did not exist before
	Enabled  bool       `json:"enabled"`  // iris was put into plugins.enabled
	Allowed  bool       `json:"allowed"`  // iris was taken from plugins.disabled
	Files    []string   `json:"files"`    // that did not exist before
	Env      []variable `json:"env"`      // of .env
	Original string     `json:"original"` // backup of config.yaml as it was
	Written  string     `json:"written"`  // hash of config.yaml as it was left
}

// setting is one of config.yaml, its values in YAML on one line.
type setting struct {
	Path   []string `json:"path"`
	Before *string  `json:"before"` // nil: it was not there
	Value  string   `json:"value"`  // as we wrote it
}

// variable is one of .env.
type variable struct {
	Name   string  `json:"name"`
	Before *string `json:"before"` // the line; nil: it was not there
	Hash   string  `json:"hash"`   // of the value that we wrote
}

const stateVersion = 1

func statePath(home string) string { return filepath.Join(home, "plugins", "iris-install.json") }

func loadState(home string) (state, error) {
	var s state
	data, err := os.ReadFile(statePath(home))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s, where iris notes what it did, is damaged (%w): remove it, then iris forgets what was there before", statePath(home), err)
	}
	if s.Version != stateVersion {
		return s, fmt.Errorf("%s is of another version of iris: use that one", statePath(home))
	}
	return s, nil
}

func (s state) clone() state {
	s.Settings, s.Parents = slices.Clone(s.Settings), slices.Clone(s.Parents)
	s.Files, s.Env = slices.Clone(s.Files), slices.Clone(s.Env)
	return s
}

func (s state) encode() []byte {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil { // texts and lists of them
		panic(err)
	}
	return append(data, '\n')
}

// setting returns the note about a setting, nil for none.
func (s *state) setting(path []string) *setting {
	for i := range s.Settings {
		if slices.Equal(s.Settings[i].Path, path) {
			return &s.Settings[i]
		}
	}
	return nil
}

// variable returns the note about a variable, nil for none.
func (s *state) variable(name string) *variable {
	for i := range s.Env {
		if s.Env[i].Name == name {
			return &s.Env[i]
		}
	}
	return nil
}

// parents notes which mappings above a path do not exist yet.
func (s *state) parents(f *yamlFile, path []string) {
	for depth := 1; depth < len(path); depth++ {
		parent := path[:depth]
		known := slices.ContainsFunc(s.Parents, func(p []string) bool { return slices.Equal(p, parent) })
		if f.get(parent) == nil && !known {
			s.Parents = append(s.Parents, slices.Clone(parent))
		}
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func dotted(path []string) string { return strings.Join(path, ".") }
