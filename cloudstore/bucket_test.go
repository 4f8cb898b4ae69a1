package cloudstore_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// Whether the bucket is there is asked before anybody relies on it.
func TestReadyAsksTheBucket(t *testing.T) {
	t.Parallel()
	project := testenv.Firestore(t).Project
	for bucket, there := range map[string]bool{testenv.Bucket(t): true, project + "-none": false, "": true} {
		s, err := cloudstore.Open(t.Context(), cloudstore.Config{Project: project, MaxSockets: 1, Bucket: bucket})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Ready(t.Context()); (err == nil) != there || err != nil && !strings.Contains(err.Error(), bucket) {
			t.Errorf("bucket %q: %v", bucket, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// When a medium expires is said to the bucket too, whose lifecycle rule goes by the
// custom time: the database takes the row only.
func TestBucketKnowsWhenMediaExpire(t *testing.T) {
	project, bucket := testenv.Firestore(t).Project, testenv.Bucket(t)
	composed := composes(t)
	for _, retention := range []time.Duration{0, 90 * 24 * time.Hour} {
		s, err := cloudstore.Open(t.Context(), cloudstore.Config{
			Project: project, MaxSockets: 1, Bucket: bucket, Media: iris.MediaLimits{MaxBytes: 1, Quota: 10}, Retention: retention,
		})
		if err != nil {
			t.Fatal(err)
		}
		g := iris.Gateway{ID: iris.NewID("g_")}
		if err := s.CreateGateway(t.Context(), g, iris.Token{Hash: g.ID}); err != nil {
			t.Fatal(err)
		}
		u, err := s.BeginUpload(t.Context(), g.ID, "key", iris.Media{Size: 1}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		m, err := u.Finish(t.Context(), hashOf([]byte("x")))
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if retention > 0 {
			want = m.Created.Add(retention).UTC().Format(time.RFC3339)
		}
		if got := <-composed; got != want {
			t.Errorf("kept for %v from %v: custom time %q, want %q", retention, m.Created, got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// composes puts itself between the stores that are opened from now on and Cloud
// Storage, and tells the custom time of each object that is composed:
// fake-gcs-server forgets it.
func composes(t *testing.T) <-chan string {
	storage := &url.URL{Scheme: "http", Host: os.Getenv(testenv.EnvStorage)}
	told := make(chan string, 1)
	forward := httputil.NewSingleHostReverseProxy(storage)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/compose") {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var compose struct{ Destination struct{ CustomTime string } }
			if err := json.Unmarshal(body, &compose); err != nil {
				t.Error(err)
			}
			told <- compose.Destination.CustomTime
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv(testenv.EnvStorage, proxy.Listener.Addr().String())
	return told
}
