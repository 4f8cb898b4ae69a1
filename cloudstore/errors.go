package cloudstore

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"iris-gateway/iris"
)

// outcome says what the error of a commit means for its sender: repeat it, read
// and decide again, or never send it again (log.md, "Commit").
//
// Two codes need a thought. ResourceExhausted is also the emulator's answer to
// a commit above 4 MiB, which would be repeated for ever; but those are refused
// by rows.Commit before they are sent, so what is left is a quota, and whether
// an earlier try of the client landed nobody knows. Unauthenticated is what
// gRPC says when no access token could be fetched: it passes, and refusing
// people's messages meanwhile would be wrong.
func outcome(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return iris.ErrNoAnswer
	}
	st, ok := status.FromError(err)
	if !ok {
		return iris.ErrRejected // of the client itself, which could not even encode it
	}
	switch st.Code() {
	case codes.AlreadyExists, codes.NotFound, codes.FailedPrecondition:
		return iris.ErrRefused
	case codes.DeadlineExceeded, codes.Canceled, codes.Unavailable, codes.Aborted,
		codes.Internal, codes.Unknown, codes.ResourceExhausted, codes.Unauthenticated:
		return iris.ErrNoAnswer
	default:
		return iris.ErrRejected
	}
}

// wrap adds what was tried to an error of Firestore, and the context's error
// when it has ended, which gRPC's errors do not wrap.
func wrap(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("cloudstore: %s: %w: %w", what, ended, err)
	}
	return fmt.Errorf("cloudstore: %s: %w", what, err)
}

// missing reports whether an error says that a document is not there.
func missing(err error) bool { return status.Code(err) == codes.NotFound }

// stale reports whether a write met a row that somebody else had just written.
func stale(err error) bool {
	switch status.Code(err) {
	case codes.AlreadyExists, codes.NotFound, codes.FailedPrecondition, codes.Aborted:
		return true
	}
	return false
}
