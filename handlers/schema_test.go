package handlers_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"iris-gateway/cloudstore"
	"iris-gateway/cloudstore/storetest"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// schemas reads the published schema of each frame that the gateway sends.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	files, err := filepath.Glob("../docs/protocol/*.json")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no schemas: %v", err)
	}
	all := map[string]*jsonschema.Schema{}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if name == "asyncapi" || strings.HasSuffix(name, ".request") {
			continue
		}
		if all[name], err = jsonschema.NewCompiler().Compile(path); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// fits checks a frame against the published schema of its type: what a client
// written from the documentation expects is what it gets.
func fits(data []byte, kind any) error {
	all, err := schemas()
	if err != nil {
		return err
	}
	schema := all[fmt.Sprint(kind)]
	if schema == nil {
		return fmt.Errorf("type %v is in no schema", kind)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// goldenTypes returns the types that have a golden file, of requests or of what
// the gateway sends.
func goldenTypes(t testing.TB, requests bool) []string {
	t.Helper()
	files, err := os.ReadDir("wire/testdata")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, f := range files {
		name, isFile := strings.CutSuffix(f.Name(), ".json")
		name, isRequest := strings.CutSuffix(name, ".request")
		if isFile && isRequest == requests {
			types = append(types, name)
		}
	}
	return types
}

// firestore opens a store on the emulator, in a project of its own.
func firestore(t testing.TB) store {
	t.Helper()
	s, _ := firestoreWithBucket(t)
	return s
}

// firestoreWithBucket is firestore with the objects of its bucket.
func firestoreWithBucket(t testing.TB) (store, storetest.Objects) {
	t.Helper()
	bucket := testenv.Bucket(t)
	s, err := cloudstore.Open(t.Context(), cloudstore.Config{
		Project: testenv.Firestore(t).Project, MaxSockets: 10, Bucket: bucket,
		Media: iris.MediaLimits{MaxBytes: 64 << 20, Quota: 512 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, storetest.Objects{
		All:     func() []string { return testenv.Objects(t, bucket) },
		Lasting: func() []string { return testenv.Lasting(t, bucket) },
	}
}
