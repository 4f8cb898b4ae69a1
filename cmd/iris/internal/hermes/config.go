package hermes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Recommended are the settings that make hermes a good host for Iris: text is
// streamed, tools are told by hooks, and notices that the phone shows in its
// own way are not sent as text.
const Recommended = `
plugins: {enabled: [iris]}
approvals: {timeout: 300}
display:
  busy_input_mode: queue
  busy_ack_enabled: false
  platforms:
    iris:
      streaming: true
      tool_progress: "off"
      interim_assistant_messages: true
      show_reasoning: false
      long_running_notifications: false
      busy_steer_ack_enabled: false
      runtime_footer: {enabled: false}
platforms:
  iris:
    enabled: true
    gateway_restart_notification: false
    typing_indicator: false
`

// modelKeys are the parts of a hermes configuration that say which model to
// use and where.
var modelKeys = []string{"model", "providers", "custom_providers"}

// Model says which model hermes shall use. Empty: what the user's own hermes uses.
type Model struct {
	URL  string // of an OpenAI-compatible server, like http://127.0.0.1:11434/v1
	Name string
}

// writeConfig writes the configuration of a home of our own. work is the
// folder that the agent works in.
func writeConfig(home, work string, model Model, user map[string]any) error {
	var cfg map[string]any
	if err := yaml.Unmarshal([]byte(Recommended), &cfg); err != nil {
		return err
	}
	cfg["terminal"] = map[string]any{"backend": "local", "cwd": work}
	for _, key := range modelKeys {
		if v, ok := user[key]; ok {
			cfg[key] = v
		}
	}
	if model.URL != "" {
		// hermes wants some key, even for a server that asks for none.
		key := os.Getenv("OPENAI_API_KEY")
		if key == "" {
			key = "none"
		}
		cfg["model"] = map[string]any{"provider": "custom", "base_url": model.URL, "default": model.Name, "api_key": key}
	} else if model.Name != "" {
		m, _ := cfg["model"].(map[string]any)
		if m == nil {
			m = map[string]any{}
		}
		m["default"] = model.Name
		cfg["model"] = m
	}
	out, err := yaml.Marshal(cfg)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "config.yaml"), out, 0o600) // may hold a key
}

// readConfig reads config.yaml of a home; without one it returns nil.
func readConfig(home string) (map[string]any, error) {
	path := filepath.Join(home, "config.yaml")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var cfg map[string]any
	if err := yaml.Unmarshal(data, &cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cfg, nil
}

// enabled reports whether a configuration lets the plugin in.
func enabled(cfg map[string]any) bool {
	plugins, _ := cfg["plugins"].(map[string]any)
	list, _ := plugins["enabled"].([]any)
	return slices.Contains(list, any("iris"))
}
