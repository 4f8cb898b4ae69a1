// Package admin is a client of the gateway's admin calls.
package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"iris-gateway/iris"
)

// Client calls one gateway as its operator.
type Client struct {
	// Host is the gateway's address as phones see it, for pairing URLs, when
	// that is not the one it is called at.
	Host string

	HTTP *http.Client // makes the calls; New sets it

	base  *url.URL
	token string
}

// New returns a client for the gateway at base, an http or https address.
func New(base, token string) (*Client, error) {
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no gateway address: it must be like https://iris.example.org", base)
	}
	return &Client{base: u, token: token, HTTP: &http.Client{Timeout: 30 * time.Second}}, nil
}

// Bodies of the answers.
type (
	// NewGateway is a gateway just made, with the token that is shown once.
	NewGateway struct {
		GatewayID string `json:"gateway_id"`
		Name      string `json:"name"`
		HostToken string `json:"host_token"`
	}

	// Gateway is a line of the list.
	Gateway struct {
		GatewayID string `json:"gateway_id"`
		Name      string `json:"name"`
		Host      Host   `json:"host"`
		Devices   int    `json:"devices"`
		Deleting  bool   `json:"deleting,omitempty"`
	}

	// RemovedHost is the host of a gateway that was deleted, which has still to
	// erase its copies.
	RemovedHost struct {
		GatewayID string `json:"gateway_id"`
		Until     int64  `json:"until"` // ms since 1970: it is not waited for any longer
	}

	// Host is what the gateway knows of its host.
	Host struct {
		Attached bool   `json:"attached"`
		Version  string `json:"version"`
		Seen     int64  `json:"seen"` // ms since 1970, 0 = never
	}

	// Pairing lets one device in, once.
	Pairing struct {
		Token     string `json:"token"`
		URL       string `json:"url"`        // iris://pair?…, what the QR code holds
		ExpiresAt int64  `json:"expires_at"` // ms since 1970
	}

	// Device is a paired device.
	Device struct {
		DeviceID    string `json:"device_id"`
		Name        string `json:"name"`
		Attached    bool   `json:"attached"`
		Cursor      int64  `json:"cursor"`
		LastPushed  int64  `json:"last_pushed_cursor"`
		Push        string `json:"push"`         // fcm, ntfy or none
		PushOutcome string `json:"push_outcome"` // of the last push, "" for none
		PushAt      int64  `json:"push_at"`      // ms since 1970
		Seen        int64  `json:"seen"`         // ms since 1970
		Created     int64  `json:"created"`
	}

	// Status is how the instance is that answered.
	Status struct {
		Version    string  `json:"version"`
		Time       int64   `json:"time"`       // ms since 1970
		PublicURL  string  `json:"public_url"` // "" = from the request
		Sockets    int     `json:"sockets"`
		MaxSockets int     `json:"max_sockets"`
		Checks     []Check `json:"checks"`
	}

	// Check is something that a gateway stands on.
	Check struct {
		Name   string `json:"name"`   // store, bucket, fcm or ntfy
		State  string `json:"state"`  // ok, off or failed
		Detail string `json:"detail"` // what it is, or why it is off or failed
		Millis int64  `json:"ms"`     // how long it took to find out
	}

	// PushTest is what became of a push that was asked for.
	PushTest struct {
		Outcome string `json:"outcome"` // sent, unregistered, failed or none
		Detail  string `json:"detail"`
	}
)

// Error is what the gateway answered instead.
type Error struct {
	Status  int // of HTTP
	Code    string
	Message string
}

// Error returns the gateway's words.
func (e *Error) Error() string { return e.Message }

// CreateGateway makes a gateway.
func (c *Client) CreateGateway(ctx context.Context, name string) (NewGateway, error) {
	var g NewGateway
	err := c.call(ctx, http.MethodPost, []string{"gateways"}, map[string]string{"name": name}, &g)
	return g, err
}

// Gateways lists all gateways.
func (c *Client) Gateways(ctx context.Context) ([]Gateway, error) {
	list, _, err := c.AllGateways(ctx)
	return list, err
}

// AllGateways lists all gateways, and the hosts of deleted ones that have still to
// erase their copies.
func (c *Client) AllGateways(ctx context.Context) ([]Gateway, []RemovedHost, error) {
	var list struct {
		Gateways     []Gateway     `json:"gateways"`
		RemovedHosts []RemovedHost `json:"removed_hosts"`
	}
	err := c.call(ctx, http.MethodGet, []string{"gateways"}, nil, &list)
	return list.Gateways, list.RemovedHosts, err
}

// Status asks an instance of the gateway how it is.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	err := c.call(ctx, http.MethodGet, []string{"status"}, nil, &s)
	return s, err
}

// DeleteGateway removes a gateway with everything that it has. That may take
// many steps; told is called after each with how much is gone so far. It returns
// the host if that has still to erase its copies, nil if nothing is left anywhere.
func (c *Client) DeleteGateway(ctx context.Context, gateway string, told func(removed int)) (*RemovedHost, error) {
	for total := 0; ; {
		var step struct {
			Removed *int         `json:"removed"`
			Host    *RemovedHost `json:"host"`
		}
		err := c.patient().call(ctx, http.MethodDelete, []string{"gateways", gateway}, nil, &step)
		if err != nil || step.Removed == nil {
			return step.Host, err
		}
		total += *step.Removed
		told(total)
	}
}

// patient returns a client for calls that take long.
func (c *Client) patient() *Client {
	p, h := *c, *c.HTTP
	h.Timeout = time.Hour
	p.HTTP = &h
	return &p
}

// Pair makes a pairing for a device that will be called name until it says
// its own name.
func (c *Client) Pair(ctx context.Context, gateway, name string) (Pairing, error) {
	var p Pairing
	err := c.call(ctx, http.MethodPost, []string{"gateways", gateway, "devices"}, map[string]string{"name": name}, &p)
	return p, err
}

// Devices lists the devices of a gateway.
func (c *Client) Devices(ctx context.Context, gateway string) ([]Device, error) {
	var list struct {
		Devices []Device `json:"devices"`
	}
	err := c.call(ctx, http.MethodGet, []string{"gateways", gateway, "devices"}, nil, &list)
	return list.Devices, err
}

// PushTest sends one push to a device.
func (c *Client) PushTest(ctx context.Context, gateway, device string) (PushTest, error) {
	var res PushTest
	err := c.call(ctx, http.MethodPost, []string{"gateways", gateway, "devices", device, "push-test"}, nil, &res)
	return res, err
}

// Revoke takes a device its token: it is disconnected and has to be paired anew.
func (c *Client) Revoke(ctx context.Context, gateway, device string) error {
	return c.call(ctx, http.MethodDelete, []string{"gateways", gateway, "devices", device}, nil, nil)
}

// RotateHostToken gives the host of a gateway a new token; the old one stops
// working.
func (c *Client) RotateHostToken(ctx context.Context, gateway string) (token string, err error) {
	var answer struct {
		HostToken string `json:"host_token"`
	}
	err = c.call(ctx, http.MethodPost, []string{"gateways", gateway, "host-token"}, nil, &answer)
	return answer.HostToken, err
}

// Unused reports whether a pairing waits for its device: nobody has used it,
// withdrawn it, or let it expire.
func (c *Client) Unused(ctx context.Context, gateway string, p Pairing) (bool, error) {
	var list struct {
		Pairings []struct {
			ID string `json:"id"`
		} `json:"pairings"`
	}
	err := c.call(ctx, http.MethodGet, []string{"gateways", gateway, "pairings"}, nil, &list)
	id := iris.HashToken(p.Token) // which is how the gateway knows it
	for _, open := range list.Pairings {
		if open.ID == id {
			return true, err
		}
	}
	return false, err
}

// call does one request below /admin and decodes the answer into out, unless
// that is nil.
func (c *Client) call(ctx context.Context, method string, path []string, body, out any) error {
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	return c.do(req, out)
}

// maxAnswer bounds an answer: a page of an export is the largest.
const maxAnswer = 64 << 20

func (c *Client) do(req *http.Request, out any) error {
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return c.unreachable(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.unreachable(err)
	}
	if resp.StatusCode >= 300 {
		return c.answerError(resp, data)
	}
	if out == nil || resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s does not answer like an Iris gateway: %w", c.base, err)
	}
	return nil
}

// request makes the request of a call.
func (c *Client) request(ctx context.Context, method string, path []string, body any) (*http.Request, error) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(b)
	}
	for i := range path {
		path[i] = url.PathEscape(path[i])
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath("admin").String()+"/"+strings.Join(path, "/"), in)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	if c.Host != "" {
		req.Host = c.Host
	}
	return req, nil
}

func (c *Client) unreachable(err error) error {
	var inner *url.Error // holds method and URL once more
	if errors.As(err, &inner) {
		err = inner.Err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("cannot reach the gateway at %s: %w. Is it running, and is that its address? `iris doctor` looks closer", c.base, err)
}

// answerError reads {"error":{"code","message"}}; something else may sit at
// the address, such as a proxy.
func (c *Client) answerError(resp *http.Response, data []byte) error {
	var body struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &body) != nil || body.Error.Code == "" {
		return &Error{Status: resp.StatusCode, Message: fmt.Sprintf("%s answers %s, which is no answer of an Iris gateway. Is that its address? `iris doctor` looks closer", c.base, resp.Status)}
	}
	if resp.StatusCode == http.StatusUnauthorized { // the gateway's words are for those who write HTTP
		body.Error.Message = "the gateway has another admin token: set IRIS_ADMIN_TOKEN to the one that it was started with (terraform -chdir=terraform output -raw admin_token)"
	}
	return &Error{Status: resp.StatusCode, Code: body.Error.Code, Message: body.Error.Message}
}
