package hostsetup

import (
	"fmt"
	"slices"
	"strings"
)

// PlanRemove plans how to undo what was done to a home, and nothing else: what
// the user has changed since stays.
func PlanRemove(home string) (*Plan, error) {
	p, config, env, err := newPlan(home)
	if err != nil {
		return nil, err
	}
	p.after = state{}
	if !p.Installed() {
		return p, nil
	}
	p.plugin.planRemove(p)
	p.undoEnv(env)
	if err := p.undoConfig(config); err != nil {
		return nil, fmt.Errorf("%s: %w", p.config.path, err)
	}
	p.Changes = append(p.Changes, Change{File: "plugins", Name: "iris-install.json", Before: "what iris has noted"})
	return p, nil
}

func (p *Plan) undoEnv(env *dotenv) {
	for _, v := range p.before.Env {
		at, _, value := env.find(v.Name)
		switch {
		case at < 0:
			continue
		case hash(value) != v.Hash:
			p.Kept = append(p.Kept, v.Name+" in .env (you have changed it)")
			continue
		case v.Before == nil:
			env.remove(v.Name)
		default:
			env.set(v.Name, *v.Before)
		}
		p.Changes = append(p.Changes, Change{File: p.env.name, Name: v.Name, Before: "••••"})
	}
	p.env.after = env.text
}

// undoConfig restores the whole file if nobody has touched it, else setting by
// setting.
func (p *Plan) undoConfig(f *yamlFile) error {
	if err := p.undoSettings(f); err != nil {
		return err
	}
	p.config.after = f.text
	if original := p.original(); original != "" && hash(p.config.before) == p.before.Written {
		p.config.after = original
	}
	return nil
}

func (p *Plan) undoSettings(f *yamlFile) error {
	for _, s := range slices.Backward(p.before.Settings) {
		if err := p.undoSetting(f, s); err != nil {
			return err
		}
	}
	if p.before.Enabled && indexOf(f.get(enabledPath), pluginName) >= 0 {
		p.Changes = append(p.Changes, Change{File: p.config.name, Name: dotted(enabledPath), Before: pluginName})
		if err := f.drop(enabledPath, pluginName); err != nil {
			return err
		}
	}
	if p.before.Allowed && indexOf(f.get(disabledPath), pluginName) < 0 {
		p.Changes = append(p.Changes, Change{File: p.config.name, Name: dotted(disabledPath), After: pluginName})
		if err := f.add(disabledPath, pluginName); err != nil {
			return err
		}
	}
	parents := slices.Clone(p.before.Parents)
	slices.SortStableFunc(parents, func(a, b []string) int { return len(b) - len(a) }) // inner ones first
	for _, path := range parents {
		if node := f.get(path); node != nil && (isNull(node) || node.Value == "" && len(node.Content) == 0) {
			if err := f.remove(path); err != nil {
				return err
			}
		}
	}
	if strings.TrimSpace(f.text) == "" {
		f.text = ""
	}
	return nil
}

func (p *Plan) undoSetting(f *yamlFile, s setting) error {
	now := f.get(s.Path)
	if now == nil {
		return nil
	}
	if !same(now, s.Value) {
		p.Kept = append(p.Kept, fmt.Sprintf("%s: %s (you have changed it)", dotted(s.Path), inline(now)))
		return nil
	}
	change := Change{File: p.config.name, Name: dotted(s.Path), Before: s.Value}
	if s.Before != nil {
		change.After = *s.Before
		p.Changes = append(p.Changes, change)
		return f.set(s.Path, *s.Before)
	}
	p.Changes = append(p.Changes, change)
	return f.remove(s.Path)
}
