package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/terminal"
)

// pairPoll is how often the gateway is asked whether the phone has come.
const pairPoll = time.Second

func newPair(std streams) *cobra.Command {
	var on target
	var name string
	var wait bool
	cmd := &cobra.Command{
		Use:   "pair",
		Short: "Pair a phone: show a QR code and wait until it was used (operator)",
		Args:  args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, g, err := on.open(cmd)
			if err != nil {
				return err
			}
			if on.json && !cmd.Flags().Changed("wait") {
				wait = false
			}
			return pair(cmd.Context(), std, c, pairing{gateway: g, name: name, json: on.json, wait: wait, poll: pairPoll})
		},
	}
	on.addFlags(cmd)
	cmd.Flags().StringVar(&name, "name", "phone", "what to call the device until it says its own name")
	cmd.Flags().BoolVar(&wait, "wait", true, "wait until the device has paired; with --json only when asked for")
	return cmd
}

// pairing is what pair has to do.
type pairing struct {
	gateway    admin.Gateway
	name       string
	json, wait bool
	poll       time.Duration
}

// pair makes a pairing, shows it, and waits for the device.
func pair(ctx context.Context, std streams, c *admin.Client, p pairing) error {
	before, err := c.Devices(ctx, p.gateway.GatewayID)
	if err != nil {
		return err
	}
	made, err := c.Pair(ctx, p.gateway.GatewayID, p.name)
	if err != nil {
		return err
	}
	if p.json {
		err = writeJSON(std.out, made)
	} else {
		err = showPairing(std, p, made)
	}
	if err != nil || !p.wait {
		return err
	}
	device, err := awaitDevice(ctx, std, c, p, made, before)
	if err != nil {
		return err
	}
	if p.json {
		return writeJSON(std.out, map[string]any{"device": device})
	}
	fmt.Fprintf(std.out, "%s %s is paired (%s).\n", terminal.StyleFor(std.out).Good("✓"), clean(device.Name), clean(device.DeviceID))
	return nil
}

// showPairing says what a pairing is, and draws its code.
func showPairing(std streams, p pairing, made admin.Pairing) error {
	until := time.UnixMilli(made.ExpiresAt).Format("15:04:05")
	fmt.Fprintf(std.out, "%s\nFor one device of %s, until %s.\n", terminal.CleanLine(made.URL), clean(p.gateway.Name), until)
	if p.wait {
		fmt.Fprintln(std.err, terminal.StyleFor(std.err).Dim("Waiting for the device … Ctrl-C stops waiting; the code stays valid."))
	}
	const below = 1 // of the cursor
	return showCode(std.out, made.URL, below)
}

// awaitDevice waits until the pairing is used, and returns the device that did.
// A gateway that restarts or cannot be reached is no end of it: the code stays
// valid meanwhile.
func awaitDevice(ctx context.Context, std streams, c *admin.Client, p pairing, made admin.Pairing, known []admin.Device) (admin.Device, error) {
	tick := time.NewTicker(p.poll)
	defer tick.Stop()
	for told := false; ; {
		select {
		case <-ctx.Done():
			return admin.Device{}, ctx.Err()
		case <-tick.C:
		}
		list, unused, err := look(ctx, c, p.gateway.GatewayID, made)
		switch {
		case err != nil && (!passes(err) || ctx.Err() != nil || expired(made)):
			return admin.Device{}, err
		case err != nil && !told:
			fmt.Fprintln(std.err, terminal.StyleFor(std.err).Dim("Still waiting, but: "+terminal.CleanLine(err.Error())))
			told = true
		case err != nil:
		case !unused:
			return newDevice(ctx, c, p, made, known)
		default:
			known, told = list, false
		}
	}
}

// look returns the devices, and whether the pairing is still open. The devices
// first: whoever is there while it is open has come by another one.
func look(ctx context.Context, c *admin.Client, gateway string, made admin.Pairing) (list []admin.Device, unused bool, err error) {
	if list, err = c.Devices(ctx, gateway); err != nil {
		return nil, false, err
	}
	unused, err = c.Unused(ctx, gateway, made)
	return list, unused, err
}

// passes reports whether an error may be over at the next try: the gateway did
// not answer, or not as one that has understood.
func passes(err error) bool {
	var answered *admin.Error
	return !errors.As(err, &answered) || answered.Status >= 500 || answered.Status == http.StatusTooManyRequests
}

func expired(p admin.Pairing) bool { return time.Now().UnixMilli() >= p.ExpiresAt }

// newDevice returns the device that is not known yet, now that the pairing is
// gone.
func newDevice(ctx context.Context, c *admin.Client, p pairing, made admin.Pairing, known []admin.Device) (admin.Device, error) {
	list, err := c.Devices(ctx, p.gateway.GatewayID)
	if err != nil {
		return admin.Device{}, err
	}
	for _, d := range list {
		same := func(k admin.Device) bool { return k.DeviceID == d.DeviceID && k.Created == d.Created }
		if !slices.ContainsFunc(known, same) {
			return d, nil
		}
	}
	if expired(made) {
		return admin.Device{}, errors.New("nobody has used the pairing, and it has expired: run `iris pair` again")
	}
	return admin.Device{}, errors.New("the pairing was withdrawn, or its device was revoked at once: run `iris pair` again")
}
