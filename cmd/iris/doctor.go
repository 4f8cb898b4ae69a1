package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/doctor"
	"iris-gateway/cmd/iris/internal/terminal"
)

func newDoctor(std streams) *cobra.Command {
	var on target
	var hostToken string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether a gateway can be used, and say what to do",
		Long: "Look at a gateway from outside: address, TLS, clock, WebSockets, tokens, and with the operator's token at its store,\n" +
			"bucket, push, hosts and devices. Nothing is changed. It ends with 1 if something has failed.",
		Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, base, err := examine(cmd, &on, hostToken)
			if err != nil {
				return err
			}
			return runDoctor(cmd, std, cfg, base, on.json)
		},
	}
	on.addFlags(cmd)
	cmd.Flags().StringVar(&hostToken, "host-token", "", "token of a host, to try it (default $IRIS_TOKEN)")
	return cmd
}

// examine puts together what is at hand: without --url and IRIS_URL the gateway
// that this terminal is paired with is looked at.
func examine(cmd *cobra.Command, on *target, hostToken string) (cfg doctor.Config, base *url.URL, err error) {
	own, err := loadPaired()
	if err != nil {
		return cfg, nil, err
	}
	home := gatewayOf(own.URL)
	address := strings.TrimSuffix(cmp.Or(on.address(), home), "/")
	cfg = doctor.Config{
		AdminToken: on.adminToken(),
		HostToken:  strings.TrimSpace(cmp.Or(hostToken, os.Getenv("IRIS_TOKEN"))),
		Gateway:    on.gateway,
	}
	if address == "" {
		return cfg, nil, &usageError{cmd.CommandPath(), errors.New("which gateway? Give --url or set IRIS_URL")}
	}
	base, err = url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return cfg, nil, &usageError{cmd.CommandPath(), fmt.Errorf("%q is no gateway address: it must be like https://iris.example.org", address)}
	}
	if home == address {
		c := own.config()
		cfg.Device = &c
	}
	return cfg, base, nil
}

// gatewayOf returns the address of the gateway with a device socket.
func gatewayOf(socket string) string {
	base, ok := strings.CutSuffix(socket, "/ws")
	if !ok {
		return ""
	}
	return "http" + strings.TrimPrefix(base, "ws")
}

// errUnwell ends the command with 1; what is wrong has been said.
var errUnwell = errors.New("something has failed: see above")

func runDoctor(cmd *cobra.Command, std streams, cfg doctor.Config, base *url.URL, asJSON bool) error {
	findings := []doctor.Finding{}
	cfg.Report = func(f doctor.Finding) {
		findings = append(findings, f)
		if !asJSON {
			showFinding(std, f)
		}
	}
	well := doctor.Run(cmd.Context(), base, cfg)
	if asJSON {
		if err := writeJSON(std.out, map[string]any{"ok": well, "checks": findings}); err != nil {
			return err
		}
	}
	if !well {
		return cmp.Or(cmd.Context().Err(), errUnwell)
	}
	return nil
}

// showFinding writes one line, and below it what to do.
func showFinding(std streams, f doctor.Finding) {
	style := terminal.StyleFor(std.out)
	mark := map[doctor.State]string{
		doctor.OK: style.Good("✓"), doctor.Warning: style.Accent("!"), doctor.Failed: style.Bad("✗"), doctor.Skipped: style.Dim("-"),
	}[f.State]
	fmt.Fprintf(std.out, "%s %-13s %s\n", mark, f.Check, terminal.CleanLine(f.Text))
	if f.Todo != "" {
		fmt.Fprintf(std.out, "  %-13s %s\n", "", style.Dim("→ "+terminal.CleanLine(f.Todo)))
	}
}
