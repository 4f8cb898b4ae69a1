package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"iris-gateway/cmd/iris/internal/device"
)

// paired is what this user's terminal keeps of its pairing.
type paired struct {
	URL      string `json:"url"` // of the device socket
	Token    string `json:"token"`
	DeviceID string `json:"device_id"` // stays, whatever it is paired with
	Name     string `json:"name"`
}

func (p paired) config() device.Config {
	return device.Config{URL: p.URL, Token: p.Token, DeviceID: p.DeviceID, DeviceName: p.Name}
}

// pairedFile is where it is kept: iris/chat.json in the user's configuration folder.
func pairedFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "iris", "chat.json"), nil
}

// loadPaired returns the zero value when there is nothing yet.
func loadPaired() (paired, error) {
	var p paired
	path, err := pairedFile()
	if err != nil {
		return p, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("%s is damaged (%w): remove it and pair again", path, err)
	}
	return p, nil
}

// save writes the pairing so that only the user can read it, and so that a
// crash leaves the old one or the new one.
func (p paired) save() error {
	path, err := pairedFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "chat-*.json") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	if _, err := f.Write(append(data, '\n')); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
