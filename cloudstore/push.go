package cloudstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"time"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/errorutils"
	"firebase.google.com/go/v4/messaging"
	"google.golang.org/api/option"
	htransport "google.golang.org/api/transport/http"

	"iris-gateway/iris"
)

// FCMConfig says how devices are reached by Firebase Cloud Messaging.
type FCMConfig struct {
	Project  string // "" asks the metadata server
	Endpoint string // tests: another base URL, called without credentials
}

// FCM wakes devices by Firebase Cloud Messaging, with data messages of high
// priority (protocol.md, "Push registration").
type FCM struct {
	client *messaging.Client
	http   *http.Client
}

// fcmScope is all that sending needs.
const fcmScope = "https://www.googleapis.com/auth/firebase.messaging"

// OpenFCM makes a client. It does no call yet.
func OpenFCM(ctx context.Context, cfg FCMConfig) (*FCM, error) {
	if cfg.Project == "" {
		project, err := DetectProject(ctx)
		if err != nil {
			return nil, err
		}
		cfg.Project = project
	}
	base := fcmTransport()
	opts := []option.ClientOption{option.WithScopes(fcmScope)}
	if cfg.Endpoint != "" {
		opts = []option.ClientOption{option.WithoutAuthentication(), option.WithEndpoint(cfg.Endpoint)}
	}
	authorized, err := htransport.NewTransport(ctx, base, opts...)
	if err != nil {
		return nil, fmt.Errorf("cloudstore: credentials for push (set IRIS_PUSH=off to do without): %w", err)
	}
	hc := &http.Client{Transport: onceTransport{authorized, base.CloseIdleConnections}}
	opts = []option.ClientOption{option.WithHTTPClient(hc)}
	if cfg.Endpoint != "" {
		opts = append(opts, option.WithEndpoint(cfg.Endpoint))
	}
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: cfg.Project}, opts...)
	if err != nil {
		return nil, fmt.Errorf("cloudstore: push: %w", err)
	}
	client, err := app.Messaging(ctx)
	if err != nil {
		return nil, fmt.Errorf("cloudstore: push: %w", err)
	}
	return &FCM{client: client, http: hc}, nil
}

// fcmTransport carries the calls of FCM.
func fcmTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 32 // as many as are sent at once
	// As Google's client does, but only for a transport of its own: a call that
	// ends by its deadline leaves an HTTP/2 connection as it is. On one that went
	// silently all calls fail until it is pinged, or for the kernel's 15 min.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 20 * time.Second, PingTimeout: 10 * time.Second}
	return t
}

// Close lets the connections go.
func (f *FCM) Close() { f.http.CloseIdleConnections() }

// Send makes one attempt to hand a push to FCM for a registration token. Its
// error is an [iris.PushError]: neither it nor anything else of FCM's words is
// to hold the token or the text, so only codes are taken over.
func (f *FCM) Send(ctx context.Context, token string, p iris.Push) error {
	android := &messaging.AndroidConfig{Priority: "high", CollapseKey: p.Collapse}
	if p.TTL > 0 {
		android.TTL = &p.TTL
	}
	return once(ctx, f.client.Send, &messaging.Message{Token: token, Data: p.Data, Android: android})
}

// Check asks FCM whether it would take pushes of this gateway: it lets it look at
// one to a device that nobody has. That this token is wrong is what FCM says when
// project, credentials and permission are right.
func (f *FCM) Check(ctx context.Context) error {
	err := once(ctx, f.client.SendDryRun, &messaging.Message{Token: "iris-doctor", Data: map[string]string{"type": "test"}})
	var e *iris.PushError
	if errors.As(err, &e) && (e.Failure == iris.PushGone || e.Detail == "400 INVALID_ARGUMENT") {
		return nil
	}
	return err
}

// once makes one attempt to send a message.
func once(ctx context.Context, send func(context.Context, *messaging.Message) (string, error), m *messaging.Message) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	a := &attempt{end: end}
	_, err := send(context.WithValue(ctx, attemptKey{}, a), m)
	switch {
	case err == nil:
		return nil
	case a.failed != nil:
		return a.failed
	case a.status == 0: // the SDK itself did not take it
		return &iris.PushError{Failure: iris.PushRefused, Detail: "cannot be sent"}
	}
	return fcmError(err, a.status, a.retryAfter)
}

// attempt is what one Send met. The SDK repeats 503 and broken connections by
// itself, up to four times and without a look at who has been revoked
// meanwhile; whoever decides about repeating must know. So the transport notes
// what came, and ends the context after it: the SDK gives up.
type attempt struct {
	end        context.CancelFunc
	status     int
	retryAfter time.Duration
	failed     *iris.PushError // there was no answer, or one that the SDK would repeat
}

type attemptKey struct{}

// onceTransport is the transport of the SDK.
type onceTransport struct {
	http.RoundTripper
	closeIdle func()
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (t onceTransport) CloseIdleConnections() { t.closeIdle() }

// RoundTrip implements [http.RoundTripper].
func (t onceTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	a, ok := r.Context().Value(attemptKey{}).(*attempt)
	if !ok {
		return t.RoundTripper.RoundTrip(r)
	}
	res, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		a.failed = &iris.PushError{Failure: iris.PushAway, Detail: "no answer: " + cause(err)}
		a.end()
		return nil, err
	}
	a.status, a.retryAfter = res.StatusCode, retryAfter(res.Header)
	if a.status == http.StatusServiceUnavailable {
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
		a.failed = &iris.PushError{Failure: iris.PushAway, Detail: "503 UNAVAILABLE", RetryAfter: a.retryAfter}
		a.end()
		return res, nil
	}
	res.Body = &watchedBody{res.Body, a}
	return res, nil
}

// watchedBody notes that an answer broke off.
type watchedBody struct {
	io.ReadCloser
	attempt *attempt
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.attempt.failed = &iris.PushError{Failure: iris.PushAway, Detail: "the answer broke off"}
		b.attempt.end()
	}
	return n, err
}

// cause says why there was no answer, without addresses.
func cause(err error) string {
	var u *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	case errors.As(err, &u):
		return "no credentials or no connection"
	default:
		return "no connection"
	}
}

// codeWord is all that is taken over of FCM's words.
var codeWord = regexp.MustCompile(`^[A-Z_]{1,40}$`)

// fcmError says what an answer means. Only UNREGISTERED in FCM's own error
// details is definite; a bare 404 may be a wrong project or an odd proxy.
func fcmError(err error, status int, after time.Duration) *iris.PushError {
	e := &iris.PushError{Failure: iris.PushRefused, RetryAfter: after}
	word := errorWord(err)
	e.Detail = strconv.Itoa(status)
	if word != "" {
		e.Detail += " " + word
	}
	switch {
	case messaging.IsUnregistered(err):
		e.Failure = iris.PushGone
	case status == http.StatusTooManyRequests || messaging.IsQuotaExceeded(err):
		e.Failure = iris.PushQuota
	case status >= 500:
		e.Failure = iris.PushAway
	}
	return e
}

// errorWord returns the most exact code of an answer, "" for none.
func errorWord(err error) string {
	var body struct {
		Error struct {
			Status  string
			Details []struct{ ErrorCode string }
		}
	}
	res := errorutils.HTTPResponse(err)
	if res == nil || json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&body) != nil {
		return ""
	}
	for _, d := range body.Error.Details {
		if codeWord.MatchString(d.ErrorCode) {
			return d.ErrorCode
		}
	}
	if codeWord.MatchString(body.Error.Status) {
		return body.Error.Status
	}
	return ""
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if s, err := strconv.Atoi(value); err == nil {
		return time.Duration(max(0, s)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
