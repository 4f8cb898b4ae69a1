package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newRevoke(std streams) *cobra.Command {
	var on target
	cmd := &cobra.Command{
		Use:   "revoke DEVICE",
		Short: "Shut a device out, by its id or name (operator)",
		Long:  "Shut a device out, by its id or name: it is disconnected, gets no more pushes, and has to be paired anew.",
		Args:  args("DEVICE"),
		RunE: func(cmd *cobra.Command, names []string) error {
			c, g, d, err := on.device(cmd, names[0])
			if err != nil {
				return err
			}
			if err := c.Revoke(cmd.Context(), g.GatewayID, d.DeviceID); err != nil {
				return err
			}
			if on.json {
				return writeJSON(std.out, map[string]string{"revoked": d.DeviceID})
			}
			fmt.Fprintf(std.out, "%s (%s) is shut out.\n", clean(d.Name), clean(d.DeviceID))
			return nil
		},
	}
	on.addFlags(cmd)
	return cmd
}
