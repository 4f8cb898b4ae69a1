package hostsetup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"iris-gateway/plugin"
)

// folder is the plugin's.
type folder struct {
	path   string
	exists bool
	link   string // where it points to, "" for a real folder
	change string // what becomes of it, in words
}

// lookAt looks at the plugin's folder of a home.
func lookAt(home string) (folder, error) {
	f := folder{path: filepath.Join(home, "plugins", pluginName)}
	info, err := os.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, err
	case info.Mode()&fs.ModeSymlink != 0:
		f.link, err = os.Readlink(f.path)
	}
	f.exists = true
	return f, err
}

func (f *folder) planInstall(p *Plan) {
	switch {
	case f.link != "": // to a checkout, which must not be written over
		p.Notes = append(p.Notes, f.path+" is a link to "+f.link+": the plugin there stays as it is")
		return
	case f.exists && !p.before.Plugin:
		p.Notes = append(p.Notes, f.path+" was there already: its modules are replaced, and --remove will leave it there")
	case !f.exists:
		p.after.Plugin = true
	}
	if f.current() {
		return
	}
	f.change = f.path + " gets the plugin"
	p.Changes = append(p.Changes, Change{File: "plugins/iris", Name: "plugin", After: "installed"})
}

// current reports whether all files of the plugin are there as they should be.
func (f *folder) current() bool {
	files, err := fs.ReadDir(plugin.Files, pluginName)
	if err != nil { // embedded
		panic(err)
	}
	wanted := 0
	for _, file := range files {
		body, err := fs.ReadFile(plugin.Files, pluginName+"/"+file.Name())
		there, errThere := os.ReadFile(filepath.Join(f.path, file.Name()))
		if err != nil || errThere != nil || !bytes.Equal(body, there) {
			return false
		}
		if filepath.Ext(file.Name()) == ".py" {
			wanted++
		}
	}
	modules, err := filepath.Glob(filepath.Join(f.path, "*.py"))
	return err == nil && len(modules) == wanted
}

func (f *folder) planRemove(p *Plan) {
	if !p.before.Plugin || !f.exists || f.link != "" {
		return
	}
	f.change = f.path + " is removed"
	p.Changes = append(p.Changes, Change{File: "plugins/iris", Name: "plugin", Before: "installed"})
}

// secretMode is that of files with secrets in them.
const secretMode fs.FileMode = 0o600

// Apply does what is planned and returns the paths of the backups it made. It
// can be undone from the first step on: what was there is noted before anything
// is changed.
func (p *Plan) Apply() (backups []string, err error) {
	if backups, err = p.backUp(time.Now()); err != nil {
		return backups, err
	}
	if p.install {
		err = p.applyInstall()
	} else {
		err = p.applyRemove()
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: run this as the user that hermes runs as", err)
	}
	return backups, err
}

func (p *Plan) applyInstall() error {
	if err := os.MkdirAll(filepath.Dir(statePath(p.Home)), 0o700); err != nil {
		return err
	}
	p.after.Done = false
	if err := p.note(); err != nil {
		return err
	}
	if p.plugin.change != "" {
		if err := plugin.Install(p.plugin.path); err != nil {
			return err
		}
	}
	if p.env.exists && p.env.mode != secretMode {
		if err := os.Chmod(p.env.path, secretMode); err != nil {
			return err
		}
	}
	p.env.mode = secretMode
	// config.yaml last: only with it does hermes load the plugin.
	for _, f := range []*file{p.env, p.config} {
		if err := f.write(); err != nil {
			return err
		}
	}
	p.after.Done = true
	return p.note()
}

// note writes down what was done.
func (p *Plan) note() error { return replace(statePath(p.Home), p.after.encode(), secretMode) }

func (p *Plan) applyRemove() error {
	for _, f := range []*file{p.config, p.env} {
		if err := p.restore(f); err != nil {
			return err
		}
	}
	if p.plugin.change != "" {
		if err := os.RemoveAll(p.plugin.path); err != nil {
			return err
		}
	}
	return os.Remove(statePath(p.Home))
}

// restore writes an edited file, or removes it.
func (p *Plan) restore(f *file) error {
	if p.goes(f) {
		return os.Remove(f.path)
	}
	return f.write()
}

// goes reports whether a file was made by the install, and is empty again.
func (p *Plan) goes(f *file) bool {
	return !p.install && f.exists && f.after == "" && slices.Contains(p.before.Files, f.name)
}

// backUp copies the files that change. The first copy of config.yaml is also
// what an untouched one is restored from.
func (p *Plan) backUp(now time.Time) (made []string, err error) {
	for _, f := range []*file{p.config, p.env} {
		if !f.exists || !f.changed() || p.goes(f) {
			continue
		}
		name := f.name + ".before-iris-" + now.UTC().Format("20060102-150405.000")
		if err := replace(filepath.Join(p.Home, name), []byte(f.before), secretMode); err != nil {
			return made, err
		}
		made = append(made, filepath.Join(p.Home, name))
		if f == p.config && !p.Installed() {
			p.after.Original = name
		}
	}
	if p.config.changed() {
		if p.Installed() && hash(p.config.before) != p.before.Written && p.original() != p.config.before {
			p.after.Original = "" // the user's changes are not in it
		}
		p.after.Written = hash(p.config.after)
	}
	return made, nil
}

// original is config.yaml as it was before anything was done, "" if that is not
// known.
func (p *Plan) original() string {
	if p.before.Original == "" {
		return ""
	}
	f, err := open(p.Home, p.before.Original)
	if err != nil {
		return "" // then it is undone setting by setting
	}
	return f.before
}

func (f *file) write() error {
	if !f.changed() {
		return nil
	}
	return replace(f.path, []byte(f.after), f.mode)
}

// replace writes a file so that a crash leaves the old one or the new one.
func replace(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".iris-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
