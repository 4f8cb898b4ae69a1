package push

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"iris-gateway/iris"
)

// Ntfy sends to an ntfy server (IRIS_NTFY_URL). The topic stands in the body,
// never in the address, which proxies log.
type Ntfy struct {
	url  string
	http *http.Client
}

// NewNtfy returns a sender for the ntfy server at that address.
func NewNtfy(server string) *Ntfy {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 32, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
		// A call that ends by its deadline leaves an HTTP/2 connection as it is.
		// On one that went silently all calls fail until it is pinged.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 20 * time.Second, PingTimeout: 10 * time.Second},
	}
	return &Ntfy{url: server, http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a topic is a secret: only for the server that was named
	}}}
}

// Close lets the connections go.
func (n *Ntfy) Close() { n.http.CloseIdleConnections() }

// Check asks the server whether it is well.
func (n *Ntfy) Check(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(n.url, "/")+"/v1/health", nil)
	if err != nil {
		return err
	}
	res, err := n.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var health struct{ Healthy bool }
	if err := json.NewDecoder(io.LimitReader(res.Body, 4<<10)).Decode(&health); err != nil || !health.Healthy {
		return fmt.Errorf("%s answers %s, not like an ntfy server that is well", n.url, res.Status)
	}
	return nil
}

// ntfyHigh is ntfy's priority that wakes a phone.
const ntfyHigh = 4

// Send implements [Sender]. People see title and message; click opens the app,
// with all that an FCM push carries.
func (n *Ntfy) Send(ctx context.Context, topic string, p iris.Push) error {
	link := url.Values{}
	for name, value := range p.Data {
		if name != "title" && name != "body" {
			link.Set(name, value)
		}
	}
	message := map[string]any{
		"topic": topic, "title": p.Data["title"], "message": p.Data["body"], "priority": ntfyHigh,
		"click": "iris://push?" + link.Encode(),
	}
	if message["message"] == "" { // ntfy would say "triggered"
		message["message"] = p.Data["title"]
	}
	if p.Collapse != "" {
		message["sequence_id"] = p.Collapse // servers that know it replace the older one
	}
	body, err := json.Marshal(message)
	if err != nil {
		return &iris.PushError{Failure: iris.PushRefused, Detail: "cannot be encoded"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(body))
	if err != nil {
		return &iris.PushError{Failure: iris.PushRefused, Detail: "IRIS_NTFY_URL is no address"}
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := n.http.Do(req)
	if err != nil {
		return &iris.PushError{Failure: iris.PushAway, Detail: "no answer"}
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return ntfyError(res)
}

// ntfyError says what an answer means. A topic is never "gone".
func ntfyError(res *http.Response) error {
	e := &iris.PushError{Failure: iris.PushRefused, Detail: fmt.Sprintf("status %d", res.StatusCode)}
	switch {
	case res.StatusCode < 300:
		return nil
	case res.StatusCode == http.StatusTooManyRequests:
		e.Failure = iris.PushQuota
	case res.StatusCode >= 500:
		e.Failure = iris.PushAway
	}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}
