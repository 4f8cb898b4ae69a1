package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/terminal"
)

func newPush(std streams) *cobra.Command {
	cmd := &cobra.Command{Use: "push", Short: "Try out whether devices can be woken (operator)"}
	cmd.AddCommand(newPushTest(std))
	group(cmd)
	return cmd
}

func newPushTest(std streams) *cobra.Command {
	var on target
	cmd := &cobra.Command{
		Use:   "test DEVICE",
		Short: "Send one push to a device and say what the push service answered",
		Long:  "Send one push to a device, by its id or name, and say what the push service answered. It ends with 1 unless the service took it.",
		Args:  args("DEVICE"),
		RunE: func(cmd *cobra.Command, names []string) error {
			c, g, d, err := on.device(cmd, names[0])
			if err != nil {
				return err
			}
			res, err := c.PushTest(cmd.Context(), g.GatewayID, d.DeviceID)
			if err != nil {
				return err
			}
			return showPushTest(std, d, res, on.json)
		},
	}
	on.addFlags(cmd)
	return cmd
}

// showPushTest says what became of a test push, and what to do about it.
func showPushTest(std streams, d admin.Device, res admin.PushTest, asJSON bool) error {
	if asJSON {
		if err := writeJSON(std.out, res); err != nil {
			return err
		}
	}
	name := clean(d.Name)
	switch res.Outcome {
	case "sent":
		if !asJSON {
			fmt.Fprintf(std.out, "%s %s was sent a push (%s).\n", terminal.StyleFor(std.out).Good("✓"), name, clean(res.Detail))
		}
		return nil
	case "unregistered":
		return fmt.Errorf("the push service does not know %s any more (%s): open the app on it, it registers again", name, clean(res.Detail))
	case "none":
		return fmt.Errorf("%s cannot be woken: %s", name, clean(res.Detail))
	default:
		return errors.New("the push to " + name + " failed: " + clean(res.Detail))
	}
}

// pushState says in a few words how a device is woken, and how the last push went.
func pushState(d admin.Device) string {
	if d.PushOutcome == "" {
		return clean(d.Push)
	}
	return clean(d.Push) + ", " + clean(d.PushOutcome) + " " + ago(d.PushAt)
}
