package media_test

import (
	"context"
	"testing"
	"time"

	"iris-gateway/cloudstore/internal/media"
)

// having are rows of media that a message has.
type having struct{ media.Rows }

func (having) MediaMessages(context.Context, string, string, int) ([]string, error) {
	return []string{"m"}, nil
}

// undeletable is a bucket that removes nothing.
type undeletable struct{ media.Bucket }

func (undeletable) Delete(context.Context, string) error { return errBroken }

// Somebody died while he removed a medium that a message has: the rest goes, and its id
// is free.
func TestRemovedHalfWithAMessage(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	now := time.Now()
	s.Now = func() time.Time { return now }
	s.Rows = having{s.Rows}
	b := bytesOf(1000)
	finish(t, s, ofHost(t, s, len(b), false), b)
	bucket := s.Bucket
	s.Bucket = undeletable{bucket}
	if err := s.DeleteMedia(t.Context(), gateway, "md_1"); err == nil {
		t.Error("removed, but it could not be")
	}
	s.Bucket = bucket
	now = now.Add(2 * time.Minute)
	finish(t, s, ofHost(t, s, len(b), false), b)
}
