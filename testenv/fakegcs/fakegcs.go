// Package fakegcs runs fake-gcs-server, a Cloud Storage that keeps its objects in
// a folder. It has a package of its own because it is large: only cmd/testenv
// needs it, the tests talk to it through Google's client.
package fakegcs

import (
	"fmt"
	"os"
	"strings"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

// Start returns the address of a Cloud Storage, host:port, and a function that
// ends it and removes what it kept.
func Start() (host string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "fake-gcs-*")
	if err != nil {
		return "", nil, err
	}
	s, err := fakestorage.NewServerWithOptions(fakestorage.Options{Scheme: "http", Host: "127.0.0.1", StorageRoot: dir})
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, fmt.Errorf("fake-gcs-server: %w", err)
	}
	stop = func() {
		s.Stop()
		os.RemoveAll(dir)
	}
	return strings.TrimPrefix(s.URL(), "http://"), stop, nil
}
