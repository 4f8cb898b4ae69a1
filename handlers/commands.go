package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// handleCommandsCatalog answers with the agent's slash commands, as its last
// hello named them: also while the host is away (protocol: commands.catalog).
func (d *deviceSession) handleCommandsCatalog(ctx context.Context, req wire.Request) error {
	if _, err := wire.DecodePayload[wire.CommandsCatalogRequest](req); err != nil {
		return err
	}
	commands, err := d.commands(ctx)
	if err != nil {
		return err
	}
	d.answer(req, iris.Lane{}, wire.CommandsCatalog{Commands: commands})
	return nil
}

// handleCommandsComplete answers with the commands that begin with a prefix, by
// their name or an alias (protocol: commands.complete).
func (d *deviceSession) handleCommandsComplete(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.CommandsCompleteRequest](req)
	if err != nil {
		return err
	}
	commands, err := d.commands(ctx)
	if err != nil {
		return err
	}
	answer := wire.CommandsComplete{Prefix: p.Prefix, Matches: []wire.CommandMatch{}}
	for _, c := range commands {
		if begins(c, p.Prefix) {
			answer.Matches = append(answer.Matches, wire.CommandMatch{Name: c.Name, Description: c.Description, ArgsHint: c.ArgsHint})
		}
	}
	d.answer(req, iris.Lane{}, answer)
	return nil
}

// begins reports whether a command begins with what was typed, with or without
// the slash.
func begins(c wire.Command, prefix string) bool {
	prefix = strings.ToLower(strings.TrimPrefix(prefix, "/"))
	for _, name := range append([]string{c.Name}, c.Aliases...) {
		if strings.HasPrefix(strings.ToLower(strings.TrimPrefix(name, "/")), prefix) {
			return true
		}
	}
	return false
}

// commands reads the catalogue from the gateway's row: another instance may
// have the host.
func (d *deviceSession) commands(ctx context.Context) ([]wire.Command, error) {
	gw, err := d.server.cfg.Store.Gateway(ctx, d.gateway.ID)
	if err != nil {
		return nil, err
	}
	var kept []link.Command
	if len(gw.Host.Commands) > 0 {
		if err := json.Unmarshal(gw.Host.Commands, &kept); err != nil {
			return nil, fmt.Errorf("command catalogue of %s: %w", gw.ID, err)
		}
	}
	commands := make([]wire.Command, 0, len(kept))
	for _, c := range kept {
		aliases := c.Aliases
		if aliases == nil {
			aliases = []string{}
		}
		commands = append(commands, wire.Command{
			Name: c.Name, Description: c.Description, ArgsHint: c.ArgsHint, Category: c.Category, Aliases: aliases,
		})
	}
	return commands, nil
}
