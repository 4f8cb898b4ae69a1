package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/hostsetup"
	"iris-gateway/cmd/iris/internal/terminal"
)

func newHost(std streams) *cobra.Command {
	cmd := &cobra.Command{Use: "host", Short: "Make the hermes of this machine a host of Iris"}
	cmd.AddCommand(newHostInstall(std))
	group(cmd)
	return cmd
}

// hostInstall are the flags of `iris host install`.
type hostInstall struct {
	home, url, token  string
	remove, yes, json bool
}

func newHostInstall(std streams) *cobra.Command {
	var f hostInstall
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Put the plugin and its settings into a hermes home, or take them out again",
		Long: `Put the plugin into the home of hermes, its settings (IRIS_URL, IRIS_TOKEN) into
.env there, and the settings that hermes should have for it into config.yaml.
Everything else in these files stays as it is. The difference is shown first.

Said again, it changes only what is not so yet; settings that you have changed
meanwhile stay. --remove undoes what was done, and nothing else.`,
		Example: "  iris host install --url https://iris.example.org      # asks for the host token\n" +
			"  IRIS_TOKEN=… iris host install --url https://iris.example.org --yes\n  iris host install --remove",
		Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.json && !f.yes {
				return &usageError{cmd.CommandPath(), errors.New("--json asks nothing: it goes with --yes")}
			}
			if f.remove && (f.url != "" || f.token != "") {
				return &usageError{cmd.CommandPath(), errors.New("--url and --token do not go with --remove")}
			}
			return f.run(cmd, std)
		},
	}
	cmd.Flags().StringVar(&f.home, "hermes-home", "", "home of hermes (default $HERMES_HOME or ~/.hermes)")
	cmd.Flags().StringVar(&f.url, "url", "", "address of the gateway, like https://iris.example.org (default $IRIS_URL)")
	cmd.Flags().StringVar(&f.token, "token", "", "host token (default $IRIS_TOKEN, which other users of this machine cannot see; else it is asked for)")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "undo what was done")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do it without asking")
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON")
	return cmd
}

// run plans, shows, asks, and does it.
func (f *hostInstall) run(cmd *cobra.Command, std streams) error {
	plan, err := f.plan(cmd, std)
	if err != nil {
		return err
	}
	if f.json {
		return f.apply(std, plan)
	}
	f.show(std, plan)
	switch {
	case !plan.Changed():
		return nil
	case f.yes:
		return f.apply(std, plan)
	case !terminal.Is(std.in):
		return &usageError{cmd.CommandPath(), errors.New("nothing was changed: there is nobody to ask, so say --yes if this is what you want")}
	}
	yes, err := terminal.Confirm(cmd.Context(), std.in, std.err, "\nDo that?")
	if err != nil {
		return err
	}
	if !yes {
		fmt.Fprintln(std.out, "Nothing was changed.")
		return nil
	}
	return f.apply(std, plan)
}

// plan finds out what is to be done; a token that is missing is asked for.
func (f *hostInstall) plan(cmd *cobra.Command, std streams) (*hostsetup.Plan, error) {
	home := f.home
	if home == "" {
		var err error
		if home, err = hostsetup.DefaultHome(); err != nil {
			return nil, err
		}
	}
	if f.remove {
		return hostsetup.PlanRemove(home)
	}
	opts := hostsetup.Options{Home: home, URL: cmp.Or(f.url, os.Getenv("IRIS_URL")), Token: cmp.Or(f.token, os.Getenv("IRIS_TOKEN"))}
	plan, err := hostsetup.PlanInstall(opts)
	if errors.Is(err, hostsetup.ErrNoToken) && terminal.Is(std.in) {
		if opts.Token, err = terminal.Secret(cmd.Context(), std.in, std.err, "Host token of the gateway"); err != nil {
			return nil, err
		}
		plan, err = hostsetup.PlanInstall(opts)
	}
	switch {
	case errors.Is(err, hostsetup.ErrNoToken):
		return nil, &usageError{cmd.CommandPath(), fmt.Errorf("%w. Give it as IRIS_TOKEN or with --token", err)}
	case errors.Is(err, hostsetup.ErrNoURL):
		return nil, &usageError{cmd.CommandPath(), err}
	}
	return plan, err
}

// show says what would change.
func (f *hostInstall) show(std streams, plan *hostsetup.Plan) {
	style := terminal.StyleFor(std.out)
	for _, line := range plan.Diff() {
		line = terminal.Clean(line)
		switch {
		case strings.HasPrefix(line, "  +"):
			line = style.Good(line)
		case strings.HasPrefix(line, "  -"):
			line = style.Bad(line)
		case strings.HasPrefix(line, "  "):
			line = style.Dim(line)
		default:
			line = style.Bold(line)
		}
		fmt.Fprintln(std.out, line)
	}
	for _, kept := range plan.Kept {
		fmt.Fprintln(std.out, "kept: "+terminal.CleanLine(kept))
	}
	for _, note := range plan.Notes {
		fmt.Fprintln(std.err, style.Bad("note: ")+terminal.CleanLine(note))
	}
	if plan.Changed() {
		return
	}
	if f.remove {
		fmt.Fprintf(std.out, "Nothing to undo: iris has not installed anything in %s.\n", plan.Home)
		return
	}
	fmt.Fprintf(std.out, "%s Everything is in place in %s.\n", style.Good("✓"), plan.Home)
}

// restart is what has to be done afterwards.
const restart = "hermes gateway restart"

// apply does what is planned and says so.
func (f *hostInstall) apply(std streams, plan *hostsetup.Plan) error {
	changed, backups := plan.Changed(), []string{}
	if changed {
		made, err := plan.Apply()
		if err != nil {
			return err
		}
		backups = append(backups, made...)
	}
	if f.json {
		return writeJSON(std.out, map[string]any{
			"home": plan.Home, "changed": changed, "changes": list(plan.Changes), "kept": list(plan.Kept),
			"notes": list(plan.Notes), "backups": backups, "restart": changed,
		})
	}
	style := terminal.StyleFor(std.out)
	for _, path := range backups {
		fmt.Fprintln(std.out, style.Dim("as it was before: "+path))
	}
	did := "Iris is installed in"
	if f.remove {
		did = "Iris is removed from"
	}
	fmt.Fprintf(std.out, "%s %s %s. Restart hermes, so that it takes this up: %s\n", style.Good("✓"), did, plan.Home, style.Bold(restart))
	return nil
}

// list makes a list of none an empty one, for JSON.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
