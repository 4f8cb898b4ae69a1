package hostsetup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Options say which home becomes a host of which gateway.
type Options struct {
	Home  string // of hermes
	URL   string // of the gateway; "" keeps what the home has
	Token string // host token; "" keeps what the home has
}

// Plan is what would be done to a home. Nothing is done before Apply.
type Plan struct {
	Home    string
	Changes []Change
	Kept    []string // settings that stay as the user wants them, in words
	Notes   []string // what the user should know beside that

	config, env *file
	before      state // as it is on disk
	after       state // as it will be
	install     bool  // the plugin is installed, or removed
	plugin      folder
}

// Change is a setting that changes, in words that may be shown.
type Change struct {
	File   string `json:"file"` // config.yaml, .env or plugins/iris
	Name   string `json:"name"`
	Before string `json:"before,omitempty"` // "" for nothing
	After  string `json:"after,omitempty"`
}

// file is one that is edited.
type file struct {
	name          string // below the home
	path          string // links followed
	exists        bool
	mode          fs.FileMode
	before, after string
}

// open reads a file of a home; a missing one is empty.
func open(home, name string) (*file, error) {
	f := &file{name: name, path: filepath.Join(home, name), mode: secretMode}
	if real, err := filepath.EvalSymlinks(f.path); err == nil {
		f.path = real // the link stays one
	}
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return nil, err
	}
	f.exists, f.mode, f.before, f.after = true, info.Mode().Perm(), string(data), string(data)
	return f, nil
}

func (f *file) changed() bool { return f.before != f.after }

// DefaultHome is where hermes lives unless it is told otherwise.
func DefaultHome() (string, error) {
	if home := os.Getenv("HERMES_HOME"); home != "" {
		return home, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".hermes"), nil
}

// newPlan reads a home.
func newPlan(home string) (p *Plan, config *yamlFile, env *dotenv, err error) {
	if home, err = filepath.Abs(home); err != nil {
		return nil, nil, nil, err
	}
	switch info, err := os.Stat(home); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil, fmt.Errorf("there is no hermes home at %s: run hermes once, or say where it is with --hermes-home", home)
	case err != nil:
		return nil, nil, nil, err
	case !info.IsDir():
		return nil, nil, nil, fmt.Errorf("%s is no folder, so it cannot be the home of hermes", home)
	}
	p = &Plan{Home: home}
	if p.config, err = open(home, "config.yaml"); err != nil {
		return nil, nil, nil, err
	}
	if p.env, err = open(home, ".env"); err != nil {
		return nil, nil, nil, err
	}
	if p.before, err = loadState(home); err != nil {
		return nil, nil, nil, err
	}
	p.after = p.before.clone()
	if config, err = parseYAML(p.config.before); err != nil {
		return nil, nil, nil, unreadable(p.config.path, err)
	}
	if p.plugin, err = lookAt(home); err != nil {
		return nil, nil, nil, err
	}
	return p, config, &dotenv{p.env.before}, nil
}

// unreadable puts an error of the YAML library into words.
func unreadable(path string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	return fmt.Errorf("%s is no YAML that hermes could read (%s): put that right first", path, strings.ReplaceAll(text, "\n  ", "; "))
}

// Changed reports whether there is anything to do.
func (p *Plan) Changed() bool { return len(p.Changes) > 0 || p.config.changed() || p.env.changed() }

// Installed reports whether Iris had been installed in the home before.
func (p *Plan) Installed() bool { return p.before.Version != 0 }

// Diff shows what would change, for a person: secrets are not in it.
func (p *Plan) Diff() []string {
	var out []string
	if p.plugin.change != "" {
		out = append(out, p.plugin.change)
	}
	for _, f := range []*file{p.config, p.env} {
		if !f.changed() {
			continue
		}
		out = append(out, f.path)
		for _, line := range Diff(f.before, f.after) {
			if f == p.env && line[0] == ' ' {
				continue // other programs' secrets are nobody's business here
			}
			out = append(out, "  "+mask(line))
		}
	}
	return out
}

// secret finds what must not be shown: in hermes' files keys stand in the clear.
var secret = regexp.MustCompile(`(?i)((?:key|token|secret|password|passwd|authorization|credentials?)["']?\s*[:=]\s*)\S.*$`)

func mask(line string) string { return secret.ReplaceAllString(line, "${1}••••") }
