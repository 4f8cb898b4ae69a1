package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
)

func newGateway(std streams) *cobra.Command {
	cmd := &cobra.Command{Use: "gateway", Short: "Make, list and delete gateways, renew their host tokens (operator)"}
	cmd.AddCommand(newGatewayCreate(std), newGatewayList(std), newGatewayHostToken(std), newGatewayDelete(std))
	group(cmd)
	return cmd
}

func newGatewayCreate(std streams) *cobra.Command {
	var op operator
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a gateway: one owner's host and devices",
		Long:  "Make a gateway: one owner's host and devices. The host token is shown once, here: hermes needs it as IRIS_TOKEN.",
		Args:  args("NAME"),
		RunE: func(cmd *cobra.Command, names []string) error {
			c, err := op.client(cmd)
			if err != nil {
				return err
			}
			if err := nameIsFree(cmd.Context(), c, names[0]); err != nil {
				return err
			}
			g, err := c.CreateGateway(cmd.Context(), names[0])
			if err != nil {
				return err
			}
			if op.json {
				return writeJSON(std.out, g)
			}
			style := terminal.StyleFor(std.out)
			fmt.Fprintf(std.out, "Gateway %s (%s)\n\n", style.Bold(clean(g.Name)), clean(g.GatewayID))
			fmt.Fprintf(std.out, "Host token, shown only now:\n  %s\n\n", style.Bold(clean(g.HostToken)))
			fmt.Fprintln(std.out, style.Dim("On the machine with hermes:  iris host install --url "+op.address()+"  (asks for the token)"))
			fmt.Fprintln(std.out, style.Dim("Then for a phone:  iris pair --gateway "+clean(g.GatewayID)))
			return nil
		},
	}
	op.addFlags(cmd)
	return cmd
}

// nameIsFree refuses a second gateway of one name: whoever makes it has mostly
// forgotten the first, or lost its token. The gateway itself would take it, it
// knows them by their ids.
func nameIsFree(ctx context.Context, c *admin.Client, name string) error {
	list, err := c.Gateways(ctx)
	if err != nil {
		return err
	}
	for _, g := range list {
		if !g.Deleting && g.Name == strings.TrimSpace(wire.CleanName(name)) {
			return fmt.Errorf("there is a gateway %q already (%s): `iris gateway host-token --gateway %[2]s` makes a new host token for it; give another one another name",
				clean(g.Name), clean(g.GatewayID))
		}
	}
	return nil
}

func newGatewayList(std streams) *cobra.Command {
	var op operator
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the gateways, their hosts and how many devices they have",
		Args:  args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := op.client(cmd)
			if err != nil {
				return err
			}
			list, removed, err := c.AllGateways(cmd.Context())
			if err != nil {
				return err
			}
			if op.json {
				return writeJSON(std.out, map[string]any{"gateways": list, "removed_hosts": removed})
			}
			if len(list)+len(removed) == 0 {
				fmt.Fprintln(std.out, "No gateway yet. Make one with: iris gateway create NAME")
				return nil
			}
			w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tID\tDEVICES\tHOST")
			for _, g := range list {
				state := hostState(g.Host)
				if g.Deleting {
					state = "half deleted: iris gateway delete " + clean(g.GatewayID)
				}
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", clean(g.Name), clean(g.GatewayID), g.Devices, state)
			}
			for _, h := range removed {
				fmt.Fprintf(w, "-\t%s\t-\tdeleted; its host erases its copies when it connects, until %s\n", clean(h.GatewayID), day(h.Until))
			}
			return w.Flush()
		},
	}
	op.addFlags(cmd)
	return cmd
}

func newGatewayHostToken(std streams) *cobra.Command {
	var on target
	cmd := &cobra.Command{
		Use:   "host-token",
		Short: "Replace the host token of a gateway by a new one",
		Long: `Replace the host token of a gateway by a new one, which is shown once, here.

The old one stops working and its host is disconnected, until it gets the new
one: IRIS_TOKEN=… iris host install, and a restart of hermes.`,
		Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, g, err := on.open(cmd)
			if err != nil {
				return err
			}
			token, err := c.RotateHostToken(cmd.Context(), g.GatewayID)
			if err != nil {
				return err
			}
			if on.json {
				return writeJSON(std.out, map[string]string{"gateway_id": g.GatewayID, "host_token": token})
			}
			style := terminal.StyleFor(std.out)
			fmt.Fprintf(std.out, "New host token of %s, shown only now:\n  %s\n\n", clean(g.Name), style.Bold(clean(token)))
			fmt.Fprintln(std.out, style.Dim("The old one has stopped working. On the machine with hermes:  IRIS_TOKEN=… iris host install, then hermes gateway restart"))
			return nil
		},
	}
	on.addFlags(cmd)
	return cmd
}

// hostState says in words how it is with a host.
func hostState(h admin.Host) string {
	switch {
	case h.Attached && h.Version != "":
		return "attached, version " + clean(h.Version)
	case h.Attached:
		return "attached"
	case h.Seen == 0:
		return "never seen"
	default:
		return "away, seen " + ago(h.Seen)
	}
}
