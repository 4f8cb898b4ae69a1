package cloudstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"iris-gateway/iris"
)

// The outcomes by log.md, "Commit". Most of these codes cannot be had from the
// emulator.
func TestOutcome(t *testing.T) {
	t.Parallel()
	of := func(c codes.Code) error { return fmt.Errorf("wrapped: %w", status.Error(c, "text")) }
	for _, c := range []struct {
		err, want error
	}{
		{of(codes.AlreadyExists), iris.ErrRefused},
		{of(codes.NotFound), iris.ErrRefused},
		{of(codes.FailedPrecondition), iris.ErrRefused},
		{of(codes.DeadlineExceeded), iris.ErrNoAnswer},
		{of(codes.Canceled), iris.ErrNoAnswer},
		{of(codes.Unavailable), iris.ErrNoAnswer},
		{of(codes.Aborted), iris.ErrNoAnswer},
		{of(codes.Internal), iris.ErrNoAnswer},
		{of(codes.Unknown), iris.ErrNoAnswer},
		{of(codes.ResourceExhausted), iris.ErrNoAnswer},
		{of(codes.Unauthenticated), iris.ErrNoAnswer},
		{context.Canceled, iris.ErrNoAnswer},
		{fmt.Errorf("wrapped: %w", context.DeadlineExceeded), iris.ErrNoAnswer},
		{of(codes.InvalidArgument), iris.ErrRejected},
		{of(codes.PermissionDenied), iris.ErrRejected},
		{of(codes.OutOfRange), iris.ErrRejected},
		{of(codes.Unimplemented), iris.ErrRejected},
		{of(codes.DataLoss), iris.ErrRejected},
		{errors.New("firestore: no paths to update"), iris.ErrRejected},
	} {
		if got := outcome(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}
