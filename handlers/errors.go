package handlers

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// public returns what may be told of an error. An error that is no iris.Error
// stays inside: the caller logs it.
func public(err error) *iris.Error {
	var e *iris.Error
	if errors.As(err, &e) {
		return e
	}
	return iris.Errorf(iris.CodeInternal, "something went wrong on the gateway, try again")
}

// frameError returns the error frame for err. Codes that devices do not know
// become the nearest one that they know (protocol: error).
func frameError(err error) wire.Error {
	e := public(err)
	f := wire.Error{Code: e.Code, Message: e.Message, RetryAfter: e.RetryAfter.Seconds()}
	switch e.Code {
	case iris.CodeUnavailable:
		f.Code = iris.CodeInternal
	case iris.CodeConflict:
		f.Code = iris.CodeUnsupported
	}
	return f
}

// httpStatus returns the HTTP status for an error code.
func httpStatus(code iris.Code) int {
	switch code {
	case iris.CodeAuth:
		return http.StatusUnauthorized
	case iris.CodeNotFound:
		return http.StatusNotFound
	case iris.CodeConflict:
		return http.StatusConflict
	case iris.CodeMediaTooLarge:
		return http.StatusRequestEntityTooLarge
	case iris.CodeRateLimited:
		return http.StatusTooManyRequests
	case iris.CodeUnsupported:
		return http.StatusBadRequest
	case iris.CodeUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// replyError answers an HTTP request with an error, and logs what must not be
// told.
func (s *Server) replyError(w http.ResponseWriter, r *http.Request, err error) {
	e := public(err)
	if e.Code == iris.CodeInternal {
		s.logOf(r.Context()).Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds()+0.999)))
	}
	type body struct {
		Code    iris.Code `json:"code"`
		Message string    `json:"message"`
	}
	reply(w, httpStatus(e.Code), map[string]body{"error": {e.Code, e.Message}})
}

// reply answers an HTTP request with JSON.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone: nobody to tell
}
