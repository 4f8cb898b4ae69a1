package testenv

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
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
	var list struct{ Items []struct{ Name string } }
	call(t, http.MethodGet, objectsOf(bucket), "", &list)
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	slices.Sort(names)
	return names
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
