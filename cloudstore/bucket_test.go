package cloudstore_test

import (
	"strings"
	"testing"

	"iris-gateway/cloudstore"
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
