package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/terminal"
)

// deleted is what is printed as JSON.
type deleted struct {
	GatewayID string             `json:"deleted"`
	Host      *admin.RemovedHost `json:"host,omitempty"` // has still to erase its copies
}

// onHost says what has become of the copies of a deleted gateway.
func onHost(waiting *admin.RemovedHost) string {
	if waiting == nil {
		return "Nothing is left of it, on its host neither."
	}
	return fmt.Sprintf("Its host has not erased its copies yet: it does when it connects next, until %s.", day(waiting.Until))
}

// day is the date of a time in ms since 1970.
func day(ms int64) string { return time.UnixMilli(ms).Format(time.DateOnly) }

func newGatewayDelete(std streams) *cobra.Command {
	var op operator
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete GATEWAY",
		Short: "Delete a gateway, by its id or name, with everything that it has",
		Long: `Delete a gateway, by its id or name, with everything that it has: messages,
media, channels, devices, pairings and tokens. Its phones and its host are
disconnected for good. Nothing can bring it back; iris export makes a copy first.

Its host erases what hermes keeps of it as well: conversations, search index,
files that came with messages, and all that the plugin has. A host that is away
does so when it connects next, within 30 days; iris gateway list shows it until
then. What the agent made of it itself stays on that machine: its memory and
skills, its files, scheduled jobs, and hermes' own logs.

When this command is cut, run it again: it goes on.`,
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
			host, err := c.DeleteGateway(cmd.Context(), g.GatewayID, func(removed int) {
				fmt.Fprintf(std.err, "%d documents are gone …\n", removed)
			})
			if err != nil {
				return err
			}
			if op.json {
				return writeJSON(std.out, deleted{g.GatewayID, host})
			}
			fmt.Fprintf(std.out, "%s (%s) is deleted.\n%s\n", clean(g.Name), clean(g.GatewayID), onHost(host))
			return nil
		},
	}
	op.addFlags(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}
