package testenv

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// Bucket returns a new bucket of the Cloud Storage of this run, which is emptied
// at the end of the test. Like [Firestore] it fails without one.
func Bucket(t testing.TB) string {
	t.Helper()
	need(t, EnvStorage, "a Cloud Storage emulator")
	name := Project()
	call(t, http.MethodPost, "/storage/v1/b?project="+name, fmt.Sprintf(`{"name":%q}`, name), nil)
	t.Cleanup(func() {
		for _, object := range Objects(t, name) {
			call(t, http.MethodDelete, objectsOf(name)+"/"+url.PathEscape(object), "", nil)
		}
	})
	return name
}

// Objects returns the names of all objects of a bucket, sorted.
func Objects(t testing.TB, bucket string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(CustomTimes(t, bucket)))
}

// Lasting returns the names of the objects that no lifecycle rule of the deployed
// bucket would ever remove, if media are kept for ever (terraform/bucket.tf).
func Lasting(t testing.TB, bucket string) (names []string) {
	t.Helper()
	for name, expires := range CustomTimes(t, bucket) {
		never := expires.IsZero() || expires.After(time.Now().AddDate(100, 0, 0))
		if never && !strings.HasPrefix(name, "uploads/") {
			names = append(names, name)
		}
	}
	return names
}

// CustomTimes returns the custom time of each object of a bucket by its name, zero if
// it has none. fake-gcs-server gives none to what it composes.
func CustomTimes(t testing.TB, bucket string) map[string]time.Time {
	t.Helper()
	var list struct {
		Items []struct {
			Name       string
			CustomTime time.Time
		}
	}
	call(t, http.MethodGet, objectsOf(bucket), "", &list)
	times := map[string]time.Time{}
	for _, item := range list.Items {
		times[item.Name] = item.CustomTime
	}
	return times
}

// Object returns the bytes of an object.
func Object(t testing.TB, bucket, name string) []byte {
	t.Helper()
	return fetch(t, http.MethodGet, objectsOf(bucket)+"/"+url.PathEscape(name)+"?alt=media", "")
}

func objectsOf(bucket string) string { return "/storage/v1/b/" + bucket + "/o" }

// call makes a call whose answer is JSON.
func call(t testing.TB, method, path, body string, answer any) {
	t.Helper()
	data := fetch(t, method, path, body)
	if answer == nil {
		return
	}
	if err := json.Unmarshal(data, answer); err != nil {
		t.Fatal(err)
	}
}

// fetch makes a call of Cloud Storage's JSON interface: tests may not import
// Google's client.
func fetch(t testing.TB, method, path, body string) []byte {
	t.Helper()
	host := need(t, EnvStorage, "a Cloud Storage emulator")
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	req, err := http.NewRequest(method, host+path, strings.NewReader(body)) // not t.Context(): also at the end
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // no goroutine stays behind
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}
