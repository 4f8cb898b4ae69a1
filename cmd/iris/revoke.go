package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newRevoke(std streams) *cobra.Command {
	var op operator
	var gateway string
	cmd := &cobra.Command{
		Use:   "revoke DEVICE",
		Short: "Shut a device out, by its id or name (operator)",
		Long:  "Shut a device out, by its id or name: it is disconnected, gets no more pushes, and has to be paired anew.",
		Args:  args("DEVICE"),
		RunE: func(cmd *cobra.Command, names []string) error {
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
			d, err := chooseDevice(list, names[0])
			if err != nil {
				return err
			}
			if err := c.Revoke(cmd.Context(), g.GatewayID, d.DeviceID); err != nil {
				return err
			}
			if op.json {
				return writeJSON(std.out, map[string]string{"revoked": d.DeviceID})
			}
			fmt.Fprintf(std.out, "%s (%s) is shut out.\n", clean(d.Name), clean(d.DeviceID))
			return nil
		},
	}
	op.addFlags(cmd)
	cmd.Flags().StringVar(&gateway, "gateway", "", "id or name of the gateway; not needed when there is only one")
	return cmd
}
