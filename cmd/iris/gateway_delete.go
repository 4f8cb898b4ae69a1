package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/terminal"
)

func newGatewayDelete(std streams) *cobra.Command {
	var op operator
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete GATEWAY",
		Short: "Delete a gateway, by its id or name, with everything that it has",
		Long: `Delete a gateway, by its id or name, with everything that it has: messages,
media, channels, devices, pairings and tokens. Its phones and its host are
disconnected for good. Nothing can bring it back; iris export makes a copy first.

What hermes keeps on its own machine stays there. When this command is cut,
run it again: it goes on.`,
		Args: args("GATEWAY"),
		RunE: func(cmd *cobra.Command, names []string) error {
			c, err := op.client(cmd)
			if err != nil {
				return err
			}
			g, err := chooseGateway(cmd.Context(), c, names[0])
			if err != nil {
				return err
			}
			if !yes {
				question := fmt.Sprintf("Delete %s (%s) with everything that it has, for good?", clean(g.Name), clean(g.GatewayID))
				sure, err := terminal.Confirm(cmd.Context(), std.in, std.err, question)
				if err != nil {
					return err
				}
				if !sure {
					return errors.New("nothing was deleted (--yes deletes without a question)")
				}
			}
			err = c.DeleteGateway(cmd.Context(), g.GatewayID, func(removed int) {
				fmt.Fprintf(std.err, "%d documents are gone …\n", removed)
			})
			if err != nil {
				return err
			}
			if op.json {
				return writeJSON(std.out, map[string]string{"deleted": g.GatewayID})
			}
			fmt.Fprintf(std.out, "%s (%s) is deleted.\n", clean(g.Name), clean(g.GatewayID))
			return nil
		},
	}
	op.addFlags(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}
