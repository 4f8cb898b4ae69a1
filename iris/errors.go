package iris

import (
	"errors"
	"fmt"
	"time"
)

// Code says what kind of failure an [Error] is. The first six are the codes of
// the wire protocol; the others appear only in HTTP answers.
type Code string

// The codes. What fits no other code is CodeUnsupported.
const (
	CodeAuth          Code = "auth"
	CodeNotFound      Code = "not_found"
	CodeRateLimited   Code = "rate_limited"
	CodeMediaTooLarge Code = "media_too_large"
	CodeUnsupported   Code = "unsupported"
	CodeInternal      Code = "internal"

	CodeConflict    Code = "conflict"
	CodeUnavailable Code = "unavailable"
)

// Error is a failure that a person may read: a code for programs and a message
// that says what was wrong, with which value, and what to do.
type Error struct {
	Code       Code
	Message    string
	RetryAfter time.Duration // for CodeRateLimited: when to try again
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf makes an [Error] with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ErrorCode returns the code of the [Error] in err's chain, "" for nil, and
// CodeInternal for any other error.
func ErrorCode(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	default:
		return CodeInternal
	}
}

// The outcomes of [Commit] that are no success. A store wraps exactly one of
// them around its own error.
var (
	// ErrRefused: a precondition did not hold, nothing was written. It may
	// also be the late echo of a commit of one's own that landed.
	ErrRefused = errors.New("commit refused")
	// ErrNoAnswer: nobody knows whether the commit landed. Repeat the same
	// commit, unchanged.
	ErrNoAnswer = errors.New("no answer to commit")
	// ErrRejected: the store will never take this commit.
	ErrRejected = errors.New("commit rejected")
)
