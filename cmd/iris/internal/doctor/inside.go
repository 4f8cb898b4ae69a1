package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/device"
)

// admin looks at what only the operator sees.
func (e *examination) admin(ctx context.Context) {
	if e.AdminToken == "" {
		e.say("admin token", Skipped, "not given: store, bucket, push, hosts and devices are not looked at", "set IRIS_ADMIN_TOKEN")
		return
	}
	c, err := admin.New(e.base.String(), e.AdminToken)
	if err != nil {
		e.say("admin token", Failed, err.Error(), "")
		return
	}
	c.HTTP = e.http
	status, err := c.Status(ctx)
	var answer *admin.Error
	switch {
	case errors.As(err, &answer) && answer.Status == http.StatusUnauthorized:
		e.say("admin token", Failed, "the gateway has another one", "take the one that the gateway was started with (terraform -chdir=terraform output -raw admin_token)")
		return
	case errors.As(err, &answer) && answer.Status == http.StatusNotFound:
		e.say("admin token", Warning, "the gateway is older than this command and cannot tell how it is", "deploy a newer one")
		return
	case err != nil:
		e.say("admin token", Failed, err.Error(), "its log says why")
		return
	}
	e.say("admin token", OK, "is right", "")
	e.about(status)
	for _, check := range status.Checks {
		e.check(check)
	}
	e.gateways(ctx, c)
}

// about says what the gateway tells of itself.
func (e *examination) about(s admin.Status) {
	e.say("version", OK, fmt.Sprintf("%s, %d of %d sockets on this instance", s.Version, s.Sockets, s.MaxSockets), "")
	switch {
	case s.PublicURL == "":
		e.say("public url", OK, "not set: pairings name the address that they were asked for at", "")
	case strings.TrimSuffix(s.PublicURL, "/") != strings.TrimSuffix(e.base.String(), "/"):
		e.say("public url", Warning, fmt.Sprintf("pairings name %s, not this address", s.PublicURL), "set IRIS_PUBLIC_URL to the address that phones reach, or look at that address")
	default:
		e.say("public url", OK, "pairings name this address", "")
	}
}

// todos say what to do about a check that failed.
var todos = map[string]string{
	"store":  "does the database exist, and may the service account use it? (IRIS_PROJECT, IRIS_DATABASE, roles/datastore.user)",
	"bucket": "does the bucket exist, and may the service account use it? (IRIS_BUCKET, roles/storage.objectUser)",
	"fcm":    "is the FCM API on, and may the service account send? (fcm.googleapis.com, roles/firebasecloudmessaging.admin)",
	"ntfy":   "does IRIS_NTFY_URL name an ntfy server that the gateway reaches?",
}

func (e *examination) check(c admin.Check) {
	switch c.State {
	case "ok":
		e.say(c.Name, OK, strings.TrimSuffix(fmt.Sprintf("works, %d ms; %s", c.Millis, c.Detail), "; "), "")
	case "off":
		e.say(c.Name, Skipped, "off: "+c.Detail, "")
	default:
		e.say(c.Name, Failed, c.Detail, todos[c.Name])
	}
}

// gateways looks at hosts and devices.
func (e *examination) gateways(ctx context.Context, c *admin.Client) {
	list, err := c.Gateways(ctx)
	if err != nil {
		e.say("host", Failed, err.Error(), "")
		return
	}
	found := false
	for _, g := range list {
		if e.Gateway == "" || e.Gateway == g.GatewayID || e.Gateway == g.Name {
			found = true
			e.host(g)
			e.paired(ctx, c, g)
		}
	}
	switch {
	case found:
	case e.Gateway != "":
		e.say("host", Failed, fmt.Sprintf("there is no gateway %q", e.Gateway), "`iris gateway list` shows them")
	default:
		e.say("host", Warning, "there is no gateway yet", "make one: iris gateway create NAME")
	}
}

func (e *examination) host(g admin.Gateway) {
	switch {
	case g.Host.Attached:
		e.say("host", OK, fmt.Sprintf("%s is attached, hermes %s", g.Name, g.Host.Version), "")
	case g.Host.Seen == 0:
		e.say("host", Failed, g.Name+" was never attached", "on the machine with hermes: iris host install, then hermes gateway restart")
	default:
		e.say("host", Failed, fmt.Sprintf("%s is away since %s", g.Name, time.UnixMilli(g.Host.Seen).Format(time.DateTime)),
			"on its machine: is hermes running (hermes gateway status), and what does its log say?")
	}
}

// paired looks at the devices of a gateway, and what became of their last pushes.
func (e *examination) paired(ctx context.Context, c *admin.Client, g admin.Gateway) {
	list, err := c.Devices(ctx, g.GatewayID)
	if err != nil {
		e.say("devices", Failed, err.Error(), "")
		return
	}
	attached := 0
	var deaf []string // whose last push did not come
	for _, d := range list {
		e.devices[d.DeviceID] = d
		if d.Attached {
			attached++
		}
		if d.PushOutcome != "" && !strings.HasPrefix(d.PushOutcome, "sent") {
			deaf = append(deaf, d.Name+": "+d.PushOutcome)
		}
	}
	switch {
	case len(list) == 0:
		e.say("devices", Warning, g.Name+" has none", "pair one: iris pair --gateway "+g.GatewayID)
	case len(deaf) > 0:
		e.say("devices", Warning, "the last push did not reach "+strings.Join(deaf, ", "), "open the app there, then: iris push test DEVICE")
	default:
		e.say("devices", OK, fmt.Sprintf("%d of %d of %s connected", attached, len(list), g.Name), "")
	}
}

// hostToken tries the host's token, without pushing its link away.
func (e *examination) hostToken(ctx context.Context) {
	if e.HostToken == "" {
		e.say("host token", Skipped, "not given", "on the machine with hermes it is IRIS_TOKEN in its .env")
		return
	}
	res, body, err := e.get(ctx, "/host/devices", e.HostToken)
	switch {
	case err != nil:
		text, todo := unreachable(err)
		e.say("host token", Failed, text, todo)
	case res.StatusCode == http.StatusUnauthorized:
		e.say("host token", Failed, said(body, res), "make a new one (iris gateway host-token) and give it to hermes (IRIS_TOKEN=… iris host install)")
	case res.StatusCode != http.StatusOK:
		e.say("host token", Failed, said(body, res), "its log says why")
	default:
		e.say("host token", OK, "is right", "")
	}
}

// device lets this terminal in as the device it is paired as.
func (e *examination) device(ctx context.Context) {
	if e.Device == nil {
		e.say("device token", Skipped, "this terminal is not paired with that gateway", "iris chat --pair URL tries what a phone does")
		return
	}
	if d, ok := e.devices[e.Device.DeviceID]; ok && d.Attached {
		e.say("device token", OK, "this terminal is connected right now", "") // a second connection would end that one
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cfg, in, lost := *e.Device, false, errors.New("no answer")
	cfg.Handle = func(event device.Event) {
		switch event := event.(type) {
		case device.Connected:
			in = true
			cancel()
		case device.Lost:
			lost = event.Err
		}
	}
	err := device.New(cfg).Run(ctx)
	switch {
	case in:
		e.say("device token", OK, "this terminal is let in", "")
	case err != nil:
		e.say("device token", Failed, err.Error(), "pair this terminal again: iris pair, then iris chat --pair URL")
	default:
		e.say("device token", Failed, lost.Error(), "")
	}
}
