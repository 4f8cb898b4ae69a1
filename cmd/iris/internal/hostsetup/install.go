package hostsetup

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"iris-gateway/cmd/iris/internal/hermes"
)

// Names of what the plugin reads.
const (
	envURL     = "IRIS_URL"
	envToken   = "IRIS_TOKEN"
	pluginName = "iris"
)

var (
	enabledPath  = []string{"plugins", "enabled"}
	disabledPath = []string{"plugins", "disabled"}
)

// ErrNoToken and ErrNoURL are what PlanInstall returns when neither the options
// nor the home say which gateway, or with which token.
var (
	ErrNoToken = errors.New("which host token? `iris gateway create` shows one")
	ErrNoURL   = errors.New("which gateway? Give --url or set IRIS_URL")
)

// PlanInstall plans what makes a home a host of Iris. What is so already stays;
// a setting that the user has changed since an earlier install does, too.
func PlanInstall(opts Options) (*Plan, error) {
	p, config, env, err := newPlan(opts.Home)
	if err != nil {
		return nil, err
	}
	p.install = true
	p.after.Version = stateVersion
	p.plugin.planInstall(p)
	if err := p.planEnv(env, opts); err != nil {
		return nil, err
	}
	if err := p.planConfig(config); err != nil {
		return nil, fmt.Errorf("%s: %w", p.config.path, err)
	}
	for _, f := range []*file{p.config, p.env} {
		if !f.exists && f.changed() {
			p.after.Files = append(p.after.Files, f.name)
		}
	}
	return p, nil
}

// planEnv plans the plugin's settings.
func (p *Plan) planEnv(env *dotenv, opts Options) error {
	_, _, oldURL := env.find(envURL)
	_, _, oldToken := env.find(envToken)
	address, token := opts.URL, opts.Token
	if address == "" {
		address = oldURL
	}
	if token == "" {
		token = oldToken
	}
	if address == "" {
		return ErrNoURL
	}
	if err := p.checkURL(address); err != nil {
		return err
	}
	if token == "" {
		return ErrNoToken
	}
	if strings.ContainsAny(token, " \t\r\n\"'#$\\") {
		return errors.New("that is no host token: it holds characters that none has")
	}
	p.setEnv(env, envURL, address, address)
	p.setEnv(env, envToken, token, "••••")
	p.env.after = env.text
	if p.env.exists && p.env.mode != secretMode {
		p.Changes = append(p.Changes, Change{
			File: p.env.name, Name: "permissions", Before: fmt.Sprintf("%04o", p.env.mode), After: fmt.Sprintf("%04o", secretMode),
		})
	}
	return nil
}

func (p *Plan) checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(address, " \t\r\n\"'#$\\") {
		return fmt.Errorf("%q is no gateway address: it must be like https://iris.example.org", address)
	}
	if host := u.Hostname(); u.Scheme == "http" && host != "localhost" && !strings.HasPrefix(host, "127.") && host != "::1" {
		p.Notes = append(p.Notes, "the way to "+host+" is not encrypted: anybody on it can read the token (use https)")
	}
	return nil
}

func (p *Plan) setEnv(env *dotenv, name, value, shown string) {
	at, line, old := env.find(name)
	if at >= 0 && old == value {
		return
	}
	note := p.after.variable(name)
	if note == nil {
		p.after.Env = append(p.after.Env, variable{Name: name})
		note = p.after.variable(name)
		if at >= 0 {
			note.Before = &line
		}
	}
	note.Hash = hash(value)
	env.set(name, name+"="+value)
	change := Change{File: p.env.name, Name: name, After: shown}
	if at >= 0 {
		change.Before = old
		if shown != value {
			change.Before = shown
		}
	}
	p.Changes = append(p.Changes, change)
}

// planConfig plans the settings of hermes.
func (p *Plan) planConfig(f *yamlFile) error {
	if i := indexOf(f.get(disabledPath), pluginName); i >= 0 {
		if err := f.drop(disabledPath, pluginName); err != nil {
			return err
		}
		p.after.Allowed = true
		p.Changes = append(p.Changes, Change{File: p.config.name, Name: dotted(disabledPath), Before: pluginName})
	}
	if indexOf(f.get(enabledPath), pluginName) < 0 {
		p.after.parents(f, enabledPath)
		if list := f.get(enabledPath); list == nil {
			p.after.Parents = append(p.after.Parents, enabledPath)
		}
		if err := f.add(enabledPath, pluginName); err != nil {
			return err
		}
		p.after.Enabled = true
		p.Changes = append(p.Changes, Change{File: p.config.name, Name: dotted(enabledPath), After: pluginName})
	}
	for _, s := range recommended() {
		if err := p.planSetting(f, s); err != nil {
			return err
		}
	}
	p.config.after = f.text
	return nil
}

// planSetting plans one setting of hermes.
func (p *Plan) planSetting(f *yamlFile, s setting) error {
	now, note := f.get(s.Path), p.after.setting(s.Path)
	switch {
	case same(now, s.Value):
		return nil
	case now != nil && asGood(s.Path, now):
		p.Kept = append(p.Kept, fmt.Sprintf("%s: %s (as good as %s)", dotted(s.Path), inline(now), s.Value))
		return nil
	case now != nil && note != nil && p.before.Done && !same(now, note.Value):
		p.Kept = append(p.Kept, fmt.Sprintf("%s: %s (you have changed it; recommended is %s)", dotted(s.Path), inline(now), s.Value))
		return nil
	}
	change := Change{File: p.config.name, Name: dotted(s.Path), After: s.Value}
	if now != nil {
		before := inline(now)
		s.Before, change.Before = &before, before
	}
	if note != nil {
		note.Value = s.Value
	} else {
		p.after.parents(f, s.Path)
		p.after.Settings = append(p.after.Settings, s)
	}
	p.Changes = append(p.Changes, change)
	return f.set(s.Path, s.Value)
}

// asGood reports whether a value serves Iris as well as the recommended one.
func asGood(path []string, now *yaml.Node) bool {
	switch dotted(path) {
	case "approvals.timeout":
		var seconds float64
		return now.Decode(&seconds) == nil && seconds >= 300
	case "display.busy_input_mode":
		return now.Value == "steer"
	}
	return false
}

// recommended are the settings that hermes should have, beside plugins.enabled.
// The ones of a mapping come last first: each is written as its first.
func recommended() []setting {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(hermes.Recommended), &doc); err != nil { // a constant
		panic(err)
	}
	var list []setting
	root := doc.Content[0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		if name := root.Content[i].Value; name != enabledPath[0] {
			part := leaves([]string{name}, root.Content[i+1])
			slices.Reverse(part)
			list = append(list, part...)
		}
	}
	return list
}

// leaves are the settings below a path.
func leaves(path []string, node *yaml.Node) []setting {
	if node.Kind != yaml.MappingNode {
		return []setting{{Path: path, Value: inline(node)}}
	}
	var list []setting
	for i := 0; i+1 < len(node.Content); i += 2 {
		list = append(list, leaves(append(slices.Clone(path), node.Content[i].Value), node.Content[i+1])...)
	}
	return list
}
