// Package doctor looks at a deployed gateway from outside, in the order in which
// things depend on each other, and says of each what to do about it. It changes
// nothing.
package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"time"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/device"
)

// State is how something is.
type State string

// The states. Only Failed means that the gateway cannot be used as it is.
const (
	OK      State = "ok"
	Warning State = "warning"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Finding is what was found out about one thing.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Text  string `json:"text"`           // what is
	Todo  string `json:"todo,omitempty"` // what to do about it
}

// Config says what to look at. Without a token what needs it is skipped.
type Config struct {
	AdminToken string
	HostToken  string
	Device     *device.Config // pairing of this terminal
	Gateway    string         // id or name of the one to look at; "" = all
	Roots      *x509.CertPool // whom to trust; nil: whom this machine trusts

	Report func(Finding) // told of each, one after the other
}

// timeout bounds each look.
const timeout = 20 * time.Second

// examination is one run.
type examination struct {
	Config
	base    *url.URL
	http    *http.Client
	devices map[string]admin.Device // those that an operator sees
	failed  bool
}

// Run looks at the gateway at base, an http or https address, and reports whether nothing has failed.
func Run(ctx context.Context, base *url.URL, cfg Config) bool {
	e := &examination{Config: cfg, base: base, devices: map[string]admin.Device{}, http: &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: cfg.Roots}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // tokens go nowhere else
	}}
	if !e.address(ctx) { // all else would say the same again
		return false
	}
	for _, look := range []func(context.Context){e.ready, e.upgrade, e.admin, e.hostToken, e.device} {
		if ctx.Err() != nil {
			return false
		}
		look(ctx)
	}
	return !e.failed
}

// say reports a finding.
func (e *examination) say(check string, state State, text, todo string) {
	e.failed = e.failed || state == Failed
	e.Report(Finding{check, state, text, todo})
}
