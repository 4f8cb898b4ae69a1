package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/admin"
)

func newDevices(std streams) *cobra.Command {
	var op operator
	var gateway string
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the paired devices of a gateway (operator)",
		Args:  args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := op.client(cmd)
			if err != nil {
				return err
			}
			g, err := chooseGateway(cmd.Context(), c, gateway)
			if err != nil {
				return err
			}
			list, err := c.Devices(cmd.Context(), g.GatewayID)
			if err != nil {
				return err
			}
			if op.json {
				return writeJSON(std.out, map[string]any{"devices": list})
			}
			if len(list) == 0 {
				fmt.Fprintln(std.out, "No device yet. Pair one with: iris pair")
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
	op.addFlags(cmd)
	cmd.Flags().StringVar(&gateway, "gateway", "", "id or name of the gateway; not needed when there is only one")
	return cmd
}

func deviceState(d admin.Device) string {
	if d.Attached {
		return "attached"
	}
	return "seen " + ago(d.Seen)
}
