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
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/cloudstore/storetest"
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
// custom time: the database takes the row only. So is when a part does, which may
// become the medium.
func TestBucketKnowsWhenMediaExpire(t *testing.T) {
	composed := composes(t)
	never := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	for _, retention := range []time.Duration{0, time.Hour, 90 * 24 * time.Hour} {
		s, bucket := openMedia(t, retention)
		g := iris.Gateway{ID: iris.NewID("g_")}
		if err := s.CreateGateway(t.Context(), g, iris.Token{Hash: g.ID}); err != nil {
			t.Fatal(err)
		}
		now := time.Now().Truncate(time.Second)
		s.Library.Now = storetest.Hasty(func() time.Time { return now }) // what is composed has two parts
		upload := func(size int) (iris.Upload, []byte) {
			b := make([]byte, size)
			u, err := s.BeginUpload(t.Context(), g.ID, "key", iris.Media{Size: int64(size)}, true)
			if err != nil {
				t.Fatal(err)
			}
			for piece := range slices.Chunk(b[u.Offset():], 1<<20) {
				if _, err := u.Write(piece); err != nil {
					t.Fatal(err)
				}
			}
			return u, b
		}
		finish := func(size int) time.Time {
			u, b := upload(size)
			m, err := u.Finish(t.Context(), hashOf(b))
			if err != nil {
				t.Fatal(err)
			}
			return m.Created
		}
		only := func() (at time.Time) {
			for _, at = range testenv.CustomTimes(t, bucket) {
			}
			return at
		}

		cut, _ := upload(1 << 20)
		if err := cut.Suspend(); err != nil {
			t.Fatal(err)
		}
		until := only()
		created := finish(1 << 20)
		if want := created.Add(iris.UploadLifetime); !until.Equal(want) {
			t.Errorf("kept for %v: the part of %v has custom time %v, want %v", retention, created, until, want)
		}
		want := created.Add(max(retention, iris.UploadLifetime)) // a custom time never goes back
		if retention == 0 {
			want = never
		}
		if got := only(); !got.Equal(want) {
			t.Errorf("kept for %v: the medium of %v has custom time %v, want %v", retention, created, got, want)
		}

		created = finish(9 << 20)
		want = time.Time{}
		if retention > 0 {
			want = created.Add(retention)
		}
		if got := <-composed; !got.Equal(want) {
			t.Errorf("kept for %v: the medium of %v is composed with custom time %v, want %v", retention, created, got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Cloud Storage may refuse a second change of one object within a second, and the
// medium's is right behind its bytes: it is asked again.
func TestBucketThrottles(t *testing.T) {
	var asked atomic.Int64
	between(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch || asked.Add(1) > 1 {
			return false
		}
		http.Error(w, `{"error":{"code":429,"message":"exceeded the rate limit for object mutation operations"}}`, http.StatusTooManyRequests)
		return true
	})
	s, bucket := openMedia(t, 0)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	g := iris.Gateway{ID: iris.NewID("g_")}
	if err := s.CreateGateway(t.Context(), g, iris.Token{Hash: g.ID}); err != nil {
		t.Fatal(err)
	}
	u, err := s.BeginUpload(t.Context(), g.ID, "key", iris.Media{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Finish(t.Context(), hashOf(nil)); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times, want twice", n)
	}
	if left := testenv.Lasting(t, bucket); len(left) != 1 {
		t.Errorf("objects that last: %v, want one", left)
	}
}

// composes tells the custom time of each object that is composed: fake-gcs-server
// forgets it.
func composes(t *testing.T) <-chan time.Time {
	told := make(chan time.Time, 1)
	between(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/compose") {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var compose struct {
				Destination struct{ CustomTime time.Time }
			}
			if err := json.Unmarshal(body, &compose); err != nil {
				t.Error(err)
			}
			told <- compose.Destination.CustomTime
		}
		return false
	})
	return told
}

// between puts itself between the stores that are opened from now on and Cloud
// Storage, which gets what answer does not answer.
func between(t *testing.T, answer func(http.ResponseWriter, *http.Request) bool) {
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: os.Getenv(testenv.EnvStorage)})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	t.Setenv(testenv.EnvStorage, proxy.Listener.Addr().String())
}
