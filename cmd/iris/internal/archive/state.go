package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"iris-gateway/cmd/iris/internal/admin"
)

// Format is the version of the archive's form.
const Format = 1

// Names of the files of an archive.
const (
	manifestFile = "export.json"
	gatewayFile  = "gateway.json"
	channelsFile = "channels.jsonl"
	devicesFile  = "devices.jsonl"
	messagesFile = "messages.jsonl"
	mediaFile    = "media.jsonl"
	mediaFolder  = "media"
)

// manifest is export.json: what the archive is, and, until it is complete, how
// far it is.
type manifest struct {
	Format    int    `json:"format"`
	GatewayID string `json:"gateway_id"`
	Name      string `json:"name"`
	Began     int64  `json:"began"` // ms since 1970
	Complete  bool   `json:"complete"`
	Ended     int64  `json:"ended,omitempty"`
	Messages  part   `json:"messages"`
	Media     part   `json:"media"`
}

// part is how far a file of lines is.
type part struct {
	Lines int    `json:"lines"`
	Bytes int64  `json:"bytes"`          // of the file; what is behind them is half a page
	Next  string `json:"next,omitempty"` // where the gateway goes on
	Done  bool   `json:"done"`
}

// load reads the manifest of a folder, or begins one. A folder that holds
// something else is left alone.
func load(dir string, g admin.Gateway, now int64) (manifest, error) {
	fresh := manifest{Format: Format, GatewayID: g.GatewayID, Name: g.Name, Began: now}
	data, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return manifest{}, err
		}
		if len(files) > 0 {
			return manifest{}, fmt.Errorf("%s is not empty, and no export that could go on: choose another folder", dir)
		}
		return fresh, nil
	}
	if err != nil {
		return manifest{}, err
	}
	var m manifest
	switch err := json.Unmarshal(data, &m); {
	case err != nil:
		return m, fmt.Errorf("%s cannot be read: %w", filepath.Join(dir, manifestFile), err)
	case m.Format != Format:
		return m, fmt.Errorf("%s has format %d, this program writes %d: choose another folder", dir, m.Format, Format)
	case m.GatewayID != g.GatewayID:
		return m, fmt.Errorf("%s holds another gateway, %q: choose another folder", dir, m.GatewayID)
	case m.Complete:
		return m, fmt.Errorf("%s holds a complete export: choose another folder", dir)
	}
	return m, nil
}

// save writes a file whole or not at all.
func save(dir, name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if err := writeSynced(path+".new", append(data, '\n')); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// appendLines adds lines behind what is known of a file, and notes them.
func (p *part) appendLines(dir, name string, lines []json.RawMessage) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	var data []byte
	for _, line := range lines {
		data = append(append(data, line...), '\n')
	}
	err = f.Truncate(p.Bytes)
	if err == nil {
		_, err = f.WriteAt(data, p.Bytes)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	p.Bytes += int64(len(data))
	p.Lines += len(lines)
	return nil
}
