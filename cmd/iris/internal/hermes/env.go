package hermes

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
)

// passed are the variables that a hermes in a home of its own gets. Others
// may be the tokens of other platforms: a second hermes with the same bot
// would fight with the user's own for its messages.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "TZ",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"ANTHROPIC_TOKEN", "HF_TOKEN",
}

// passes reports whether a variable is for finding and asking a model, or for
// living on this machine.
func passes(name string) bool {
	for _, p := range passed {
		if name == p {
			return true
		}
	}
	return strings.HasPrefix(name, "LC_") || isModelKey(name)
}

func isModelKey(name string) bool {
	return (strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_BASE_URL")) && !strings.HasPrefix(name, "API_SERVER")
}

// environment is what a hermes in a home of our own may know: the caller's
// variables that pass, and the model keys of the user's hermes. They are
// handed over, never written down.
func environment(userHome string) []string {
	env := map[string]string{}
	for name, value := range dotenv(filepath.Join(userHome, ".env")) {
		if passes(name) {
			env[name] = value
		}
	}
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); value != "" && passes(name) {
			env[name] = value
		}
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// hasModelKey reports whether an environment holds anything to ask a model with.
func hasModelKey(env []string) bool {
	for _, pair := range env {
		if name, value, _ := strings.Cut(pair, "="); isModelKey(name) && value != "" {
			return true
		}
	}
	return false
}

// dotenv reads the plain lines of a .env file: NAME=value, with or without
// quotes and "export". A missing file is an empty one.
func dotenv(path string) map[string]string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	env := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimPrefix(strings.TrimSpace(s.Text()), "export ")
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		env[strings.TrimSpace(name)] = value
	}
	return env
}
