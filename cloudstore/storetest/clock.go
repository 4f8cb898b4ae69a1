package storetest

import (
	"sync/atomic"
	"time"
)

// Hasty returns a clock on which a second passes with each look: a store of media that
// goes by it takes everything to come slowly, in parts of 8 MiB.
func Hasty(now func() time.Time) func() time.Time {
	var looks atomic.Int64
	return func() time.Time { return now().Add(time.Duration(looks.Add(1)) * time.Second) }
}
