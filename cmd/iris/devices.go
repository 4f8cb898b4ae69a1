package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/admin"
)

func newDevices(std streams) *cobra.Command {
	var on target
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the paired devices of a gateway (operator)",
		Args:  args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, g, err := on.open(cmd)
			if err != nil {
				return err
			}
			list, err := c.Devices(cmd.Context(), g.GatewayID)
			if err != nil {
				return err
			}
			if on.json {
				return writeJSON(std.out, map[string]any{"devices": list})
			}
			if len(list) == 0 {
				fmt.Fprintln(std.out, "No device yet. Pair one with: iris pair --gateway "+clean(g.GatewayID))
				return nil
			}
			w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tID\tSTATE\tPUSH\tPAIRED")
			for _, d := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", clean(d.Name), clean(d.DeviceID), deviceState(d), pushState(d), ago(d.Created))
			}
			return w.Flush()
		},
	}
	on.addFlags(cmd)
	return cmd
}

func deviceState(d admin.Device) string {
	if d.Attached {
		return "attached"
	}
	return "seen " + ago(d.Seen)
}
