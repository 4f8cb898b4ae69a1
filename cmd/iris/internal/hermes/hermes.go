package hermes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"iris-gateway/plugin"
)

// Config says which hermes to run and how.
type Config struct {
	Path  string // a hermes executable, a Python that has hermes-agent, or the folder of its virtual environment
	Home  string // HERMES_HOME; "" makes one below Dir
	Dir   string // folder for what is made: home, work folder, log
	URL   string // of the gateway, for the plugin
	Token string // host token
	Model Model  // only with a home of our own
}

// Host is a hermes that is ready to run.
type Host struct {
	Log     string // path of its log
	Home    string
	NoModel bool // nothing found that says which model to ask

	command []string
	env     []string
	dir     string // to start in, "" is the caller's
}

// stopGrace is how long hermes has to end by itself.
const stopGrace = 8 * time.Second

// Prepare finds hermes and sets its home up.
func Prepare(cfg Config) (*Host, error) {
	command, err := find(cfg.Path)
	if err != nil {
		return nil, err
	}
	h := &Host{command: append(command, "gateway", "run"), Home: cfg.Home, Log: filepath.Join(cfg.Dir, "hermes.log")}
	if cfg.Home == "" {
		err = h.ownHome(cfg)
	} else {
		err = h.usersHome()
	}
	if err != nil {
		return nil, err
	}
	if err := plugin.Install(filepath.Join(h.Home, "plugins", "iris")); err != nil {
		return nil, err
	}
	h.env = append(h.env, "HERMES_HOME="+h.Home, "IRIS_URL="+cfg.URL, "IRIS_TOKEN="+cfg.Token,
		"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1")
	return h, nil
}

// find returns the command line of hermes.
func find(path string) ([]string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "bin", "hermes")
	}
	exe, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("no hermes at %q: give its executable, or the Python or virtual environment that has hermes-agent", path)
	}
	// A relative name must still be found when the work folder is another.
	if exe, err = filepath.Abs(exe); err != nil {
		return nil, err
	}
	if strings.HasPrefix(filepath.Base(exe), "python") {
		return []string{exe, "-m", "hermes_cli.main"}, nil
	}
	return []string{exe}, nil
}

// ownHome makes a home that nobody else uses. Only the model settings come
// from the user's own hermes.
func (h *Host) ownHome(cfg Config) error {
	h.Home = filepath.Join(cfg.Dir, "hermes")
	work := filepath.Join(cfg.Dir, "work")
	for _, dir := range []string{h.Home, work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	h.dir = work // not the caller's: hermes looks around where it starts
	users := usersOwn()
	h.env = environment(users)
	settings, err := readConfig(users)
	if err != nil {
		return err
	}
	_, hasModel := settings["model"]
	h.NoModel = cfg.Model.URL == "" && !hasModel && !hasModelKey(h.env)
	return writeConfig(h.Home, work, cfg.Model, settings)
}

// usersOwn is the home of the user's own hermes.
func usersOwn() string {
	if home := os.Getenv("HERMES_HOME"); home != "" {
		return home
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".hermes")
}

// usersHome uses the home that the user named. Its settings are the user's:
// they are only written when there are none.
func (h *Host) usersHome() error {
	home, err := filepath.Abs(h.Home)
	if err != nil {
		return err
	}
	h.Home, h.env = home, os.Environ()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	cfg, err := readConfig(home)
	if err != nil {
		return err
	}
	if cfg == nil {
		return os.WriteFile(filepath.Join(home, "config.yaml"), []byte(strings.TrimPrefix(Recommended, "\n")), 0o600)
	}
	if !enabled(cfg) {
		return fmt.Errorf("hermes would not load the plugin: in %s add iris to plugins.enabled, "+
			"or run: HERMES_HOME=%s %s plugins enable iris", filepath.Join(home, "config.yaml"), home, h.command[0])
	}
	return nil
}

// Run runs hermes until ctx ends, which is no error, or until it ends by
// itself, which is one.
func (h *Host) Run(ctx context.Context) error {
	log, err := os.OpenFile(h.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(h.command[0], h.command[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = h.env, h.dir, log, log
	ownGroup(cmd) // Ctrl-C is for us; we tell hermes
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("hermes does not start: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		killGroup(cmd)
		if err == nil {
			err = errors.New("exit status 0")
		}
		return fmt.Errorf("hermes has ended (%w); its log %s says:\n%s", err, h.Log, tail(h.Log, 8))
	case <-ctx.Done():
	}
	terminate(cmd)
	select {
	case <-ended:
		killGroup(cmd) // whatever it left behind
	case <-time.After(stopGrace):
		killGroup(cmd)
		<-ended
	}
	return nil
}

// tail returns the last lines of a file.
func tail(path string, n int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-n):], "\n  ")
}
