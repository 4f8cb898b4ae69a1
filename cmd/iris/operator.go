package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/terminal"
)

// operator are the flags of commands that call a gateway as its operator.
type operator struct {
	url, token string
	json       bool
}

// addFlags adds the flags to a command.
func (o *operator) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.url, "url", "", "address of the gateway, like https://iris.example.org (default $IRIS_URL)")
	cmd.Flags().StringVar(&o.token, "admin-token", "", "admin token of the gateway (default $IRIS_ADMIN_TOKEN, which other users of this machine cannot see)")
	cmd.Flags().BoolVar(&o.json, "json", false, "write JSON")
}

// address is where the gateway is, as the flags or the environment say.
func (o *operator) address() string { return cmp.Or(o.url, os.Getenv("IRIS_URL")) }

// adminToken is what the flags or the environment say, without the end of the
// line that it was perhaps read with.
func (o *operator) adminToken() string {
	return strings.TrimSpace(cmp.Or(o.token, os.Getenv("IRIS_ADMIN_TOKEN")))
}

// client returns a client with what the flags or the environment say.
func (o *operator) client(cmd *cobra.Command) (*admin.Client, error) {
	address, token := o.address(), o.adminToken()
	if address == "" {
		return nil, &usageError{cmd.CommandPath(), errors.New("which gateway? Give --url or set IRIS_URL")}
	}
	if token == "" {
		return nil, &usageError{cmd.CommandPath(), errors.New("this is for the operator: set IRIS_ADMIN_TOKEN or give --admin-token")}
	}
	c, err := admin.New(address, token)
	if err != nil {
		return nil, &usageError{cmd.CommandPath(), err}
	}
	return c, nil
}

// chooseGateway returns the gateway that is meant: by id or name, or the only one.
func chooseGateway(ctx context.Context, c *admin.Client, wanted string) (admin.Gateway, error) {
	list, err := c.Gateways(ctx)
	if err != nil {
		return admin.Gateway{}, err
	}
	var found []admin.Gateway
	for _, g := range list {
		if wanted == "" || g.GatewayID == wanted || g.Name == wanted {
			found = append(found, g)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(list) == 0:
		return admin.Gateway{}, errors.New("there is no gateway yet: make one with `iris gateway create NAME`")
	case wanted == "":
		return admin.Gateway{}, fmt.Errorf("there are %d gateways: say which with --gateway (`iris gateway list` shows them)", len(list))
	case len(found) == 0:
		return admin.Gateway{}, fmt.Errorf("there is no gateway %q (`iris gateway list` shows them)", wanted)
	default:
		return admin.Gateway{}, fmt.Errorf("%d gateways are called %q: give the id", len(found), wanted)
	}
}

// writeJSON writes v as one line.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// ago says how long ago a time in ms since 1970 was.
func ago(ms int64) string {
	if ms == 0 {
		return "never"
	}
	d := time.Since(time.UnixMilli(ms))
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}

// clean is terminal.CleanLine, with something to see for an empty name.
func clean(name string) string {
	if name = terminal.CleanLine(name); name == "" {
		return "-"
	}
	return name
}

// chooseDevice returns the device that is meant: by id, or by a name that only
// one has.
func chooseDevice(list []admin.Device, wanted string) (admin.Device, error) {
	var found []admin.Device
	for _, d := range list {
		if d.DeviceID == wanted {
			return d, nil
		}
		if d.Name == wanted {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return admin.Device{}, fmt.Errorf("there is no device %q (`iris devices` shows them)", wanted)
	default:
		return admin.Device{}, fmt.Errorf("%d devices are called %q: give the id (`iris devices` shows it)", len(found), wanted)
	}
}

// target is how an operator's command is told which gateway it works on.
type target struct {
	operator
	gateway string
}

// addFlags adds the flags to a command.
func (t *target) addFlags(cmd *cobra.Command) {
	t.operator.addFlags(cmd)
	cmd.Flags().StringVar(&t.gateway, "gateway", "", "id or name of the gateway; not needed when there is only one")
}

// open returns a client, and the gateway that is meant.
func (t *target) open(cmd *cobra.Command) (*admin.Client, admin.Gateway, error) {
	c, err := t.client(cmd)
	if err != nil {
		return nil, admin.Gateway{}, err
	}
	g, err := chooseGateway(cmd.Context(), c, t.gateway)
	return c, g, err
}

// device is open, and finds a device by id or name.
func (t *target) device(cmd *cobra.Command, wanted string) (*admin.Client, admin.Gateway, admin.Device, error) {
	c, g, err := t.open(cmd)
	if err != nil {
		return nil, g, admin.Device{}, err
	}
	list, err := c.Devices(cmd.Context(), g.GatewayID)
	if err != nil {
		return nil, g, admin.Device{}, err
	}
	d, err := chooseDevice(list, wanted)
	return c, g, d, err
}
