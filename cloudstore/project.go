package cloudstore

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/compute/metadata"
)

// DetectProject returns the project that GOOGLE_CLOUD_PROJECT names, or else
// the one that this machine belongs to, by Google Cloud's metadata server.
func DetectProject(ctx context.Context) (string, error) {
	if p := os.Getenv("GOOGLE_CLOUD_PROJECT"); p != "" {
		return p, nil
	}
	// Outside Google Cloud nobody answers: a person who forgot the setting
	// must not wait for long.
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	p, err := metadata.NewClient(&http.Client{Transport: transport}).GetWithContext(ctx, "project/project-id")
	if err != nil {
		return "", fmt.Errorf("cloudstore: no project: set IRIS_PROJECT or GOOGLE_CLOUD_PROJECT (the metadata server, which knows it on Google Cloud, says: %w)", err)
	}
	return strings.TrimSpace(p), nil
}
