package cloudstore_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"iris-gateway/cloudstore"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

func TestDetectProject(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/computeMetadata/v1/project/project-id" || r.Header.Get("Metadata-Flavor") != "Google" {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte("iris-prod\n"))
	}))
	defer srv.Close()
	t.Setenv("GOOGLE_CLOUD_PROJECT", "")
	// Nobody there: the error says what to set.
	t.Setenv("GCE_METADATA_HOST", "127.0.0.1:1")
	if p, err := cloudstore.DetectProject(t.Context()); err == nil || !strings.Contains(err.Error(), "IRIS_PROJECT") {
		t.Fatalf("got %q, %v, want an error that names IRIS_PROJECT", p, err)
	}
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(srv.URL, "http://"))
	if p, err := cloudstore.DetectProject(t.Context()); err != nil || p != "iris-prod" {
		t.Fatalf("got %q, %v, want iris-prod from the metadata server", p, err)
	}
	t.Setenv("GOOGLE_CLOUD_PROJECT", "named")
	if p, err := cloudstore.DetectProject(t.Context()); err != nil || p != "named" {
		t.Fatalf("got %q, %v, want named from the environment", p, err)
	}
}

func TestOpenWithoutProject(t *testing.T) {
	t.Setenv(testenv.EnvFirestore, "127.0.0.1:1")
	if _, err := cloudstore.Open(t.Context(), cloudstore.Config{}); err == nil || !strings.Contains(err.Error(), "IRIS_PROJECT") {
		t.Fatalf("got %v, want an error that names IRIS_PROJECT", err)
	}
}

// Databases of one project are apart, and "" is "(default)".
func TestDatabases(t *testing.T) {
	t.Parallel()
	project := testenv.Firestore(t).Project
	for _, db := range []string{"", "other", "(default)"} {
		s, err := cloudstore.Open(t.Context(), cloudstore.Config{Project: project, Database: db, MaxSockets: 1000})
		if err != nil {
			t.Fatal(err)
		}
		head, err := s.Head(t.Context(), "g")
		if err == nil && head.Cursor == 0 {
			err = s.Append(t.Context(), "g", iris.Commit{Entry: iris.Entry{Cursor: 1}})
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]int64{"": 0, "other": 0, "(default)": 1}[db]; head.Cursor != want {
			t.Fatalf("database %q has head %d, want %d", db, head.Cursor, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
