package cloudstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"iris-gateway/cloudstore"
	"iris-gateway/cloudstore/storetest"
	"iris-gateway/testenv"
)

// Importing the Google packages starts one goroutine that nobody can stop.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Store { return open(t) })
}

// open returns a store in a project of its own; its user closes it.
func open(t testing.TB) *cloudstore.Store {
	t.Helper()
	s, err := cloudstore.Open(t.Context(), cloudstore.Config{Project: testenv.Firestore(t).Project, MaxSockets: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
