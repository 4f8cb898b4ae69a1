// Package fakegcs runs fake-gcs-server, a Cloud Storage that keeps its objects in
// memory. It has a package of its own because it is large: only cmd/testenv needs
// it, the tests talk to it through Google's client.
package fakegcs

import (
	"fmt"
	"strings"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

// Start returns the address of a Cloud Storage, host:port, and a function that
// ends it.
func Start() (host string, stop func(), err error) {
	s, err := fakestorage.NewServerWithOptions(fakestorage.Options{Scheme: "http", Host: "127.0.0.1"})
	if err != nil {
		return "", nil, fmt.Errorf("fake-gcs-server: %w", err)
	}
	return strings.TrimPrefix(s.URL(), "http://"), s.Stop, nil
}
