package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// address asks /health, and learns about TLS and clock by the way.
func (e *examination) address(ctx context.Context) bool {
	began := time.Now()
	res, body, err := e.get(ctx, "/health", "")
	took := time.Since(began)
	if err != nil {
		text, todo := unreachable(err)
		e.say("address", Failed, fmt.Sprintf("%s: %s", e.base, text), todo)
		return false
	}
	var health struct{ Status string }
	if res.StatusCode != http.StatusOK || json.Unmarshal(body, &health) != nil || health.Status != "ok" {
		text, todo := stranger(res)
		e.say("address", Failed, fmt.Sprintf("%s %s", e.base, text), todo)
		return false
	}
	e.say("address", OK, fmt.Sprintf("%s answers, %d ms", e.base, took.Milliseconds()), "")
	e.tls(res.TLS)
	e.clock(res, began, took)
	return true
}

// get makes a request, with a token unless that is "".
func (e *examination) get(ctx context.Context, path, token string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base.JoinPath(path).String(), nil)
	if err != nil {
		return nil, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := e.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res, body, err
}

// unreachable says why there was no answer.
func unreachable(err error) (text, todo string) {
	var (
		dns     *net.DNSError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		header  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &dns):
		return "the name " + dns.Name + " is not known", "look for a typing error; a custom domain needs its DNS record"
	case errors.As(err, &unknown):
		return "its certificate is of nobody that this machine trusts", "use a certificate of a public authority, or make the authority known to this machine"
	case errors.As(err, &name):
		return "its certificate is for another name", "use the name that the certificate was made for, or get one for this name"
	case errors.As(err, &invalid):
		return "its certificate does not hold: " + invalid.Error(), "renew it, and look at this machine's clock"
	case errors.As(err, &header), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "it does not speak TLS", "use http:// for a gateway without TLS, or another port"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer", "look at the service: is it there, and does it start? Its log says why not"
	default:
		return cause(err).Error(), "is the gateway running, and is this its address? (terraform -chdir=terraform output -raw url)"
	}
}

// cause leaves out what only repeats method and address.
func cause(err error) error {
	for {
		var op *net.OpError
		if errors.As(err, &op) && op.Err != nil {
			return op.Err
		}
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// stranger says what else may sit at the address.
func stranger(res *http.Response) (text, todo string) {
	switch {
	case res.StatusCode/100 == 3:
		return fmt.Sprintf("sends elsewhere, to %q", res.Header.Get("Location")), "use that address, if it is yours"
	case res.StatusCode == http.StatusForbidden:
		return "is closed: 403", "let Cloud Run take calls without Google's sign-in (roles/run.invoker for allUsers); Iris has tokens of its own"
	case res.StatusCode >= 500:
		return "answers " + res.Status, "the gateway does not start, or has no room: its log says why"
	default:
		return fmt.Sprintf("answers %s to /health, not like a gateway", res.Status), "is this its address? (terraform -chdir=terraform output -raw url)"
	}
}

// expiresSoon is when a certificate should have been renewed.
const expiresSoon = 14 * 24 * time.Hour

func (e *examination) tls(state *tls.ConnectionState) {
	if state == nil {
		if local(e.base.Hostname()) {
			e.say("tls", OK, "none, and none is needed on this machine", "")
			return
		}
		e.say("tls", Warning, "none: whoever is in between reads every word and token", "use https://, except in a network of your own")
		return
	}
	left := time.Until(state.PeerCertificates[0].NotAfter)
	text := fmt.Sprintf("%s, certificate for %d more days", tls.VersionName(state.Version), int(left.Hours()/24))
	if left < expiresSoon {
		e.say("tls", Warning, text, "renew it, or find out why it does not renew itself")
		return
	}
	e.say("tls", OK, text, "")
}

// local reports whether a host is this machine.
func local(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// maxSkew is how far clocks may be apart. A Date header has whole seconds.
const maxSkew = 5 * time.Second

// clock compares the gateway's clock with this machine's.
func (e *examination) clock(res *http.Response, began time.Time, took time.Duration) {
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		e.say("clock", Skipped, "the gateway does not say what time it is", "")
		return
	}
	skew := began.Add(took / 2).Sub(date.Add(500 * time.Millisecond))
	if skew.Abs() <= maxSkew+took/2 {
		e.say("clock", OK, "the same as the gateway's", "")
		return
	}
	side := "ahead of"
	if skew < 0 {
		side = "behind"
	}
	e.say("clock", Warning, fmt.Sprintf("this machine is %v %s the gateway", skew.Abs().Round(time.Second), side),
		"set the clock by the network (timedatectl set-ntp true): times in the app and the expiry of pairings are wrong")
}

// ready asks whether the instance takes sockets.
func (e *examination) ready(ctx context.Context) {
	res, body, err := e.get(ctx, "/ready", "")
	switch {
	case err != nil:
		text, todo := unreachable(err)
		e.say("ready", Failed, text, todo)
	case res.StatusCode != http.StatusOK:
		e.say("ready", Failed, said(body, res), "a gateway that goes away says so for some seconds; otherwise look at the store below, and at the log")
	default:
		e.say("ready", OK, "takes sockets", "")
	}
}

// said returns the text of an error answer.
func said(body []byte, res *http.Response) string {
	var answer struct{ Error struct{ Message string } }
	if json.Unmarshal(body, &answer) == nil && answer.Error.Message != "" {
		return answer.Error.Message
	}
	return "answers " + res.Status
}

// upgrade opens a WebSocket and waits for a pong.
func (e *examination) upgrade(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	const todo = "something in between does not pass WebSockets on: turn them on in the proxy or load balancer"
	ws, res, err := websocket.Dial(ctx, e.base.JoinPath("/ws").String(), &websocket.DialOptions{HTTPClient: e.http})
	switch {
	case err != nil && res != nil && res.StatusCode == http.StatusServiceUnavailable:
		e.say("websocket", Failed, "refused: 503", "the instance is full or goes away: try again, or raise IRIS_MAX_SOCKETS or max_instances")
		return
	case err != nil && res != nil:
		e.say("websocket", Failed, "not opened: "+res.Status, todo)
		return
	case err != nil:
		e.say("websocket", Failed, "not opened: "+cause(err).Error(), todo)
		return
	}
	defer ws.CloseNow()
	reading := ws.CloseRead(ctx) // pongs come to who reads
	began := time.Now()
	if err := ws.Ping(ctx); err != nil || reading.Err() != nil {
		e.say("websocket", Failed, "opened, but nothing comes through", todo)
		return
	}
	e.say("websocket", OK, fmt.Sprintf("opens, there and back in %d ms", time.Since(began).Milliseconds()), "")
	_ = ws.Close(websocket.StatusNormalClosure, "")
}
