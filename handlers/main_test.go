package handlers_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Importing the Google packages, for the tests on Firestore, starts one
// goroutine that nobody can stop.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}
