package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/archive"
	"iris-gateway/cmd/iris/internal/terminal"
)

func newExport(std streams) *cobra.Command {
	var on target
	cmd := &cobra.Command{
		Use:   "export FOLDER",
		Short: "Write all of a gateway into a folder: messages, media, channels, devices (operator)",
		Long: `Write all of a gateway into a folder: messages, media, channels, and devices
without their secrets, as JSON Lines and files. docs/export.md says what is what.

When it is cut, run it again with the same folder: it goes on.`,
		Args: args("FOLDER"),
		RunE: func(cmd *cobra.Command, folders []string) error {
			c, g, err := on.open(cmd)
			if err != nil {
				return err
			}
			progress := terminal.NewProgress(std.err)
			res, err := archive.Write(cmd.Context(), c, g, folders[0], progress)
			progress.Done()
			if err != nil {
				return err
			}
			if on.json {
				return writeJSON(std.out, res)
			}
			fmt.Fprintf(std.out, "%s holds %d messages and %d media of %s.\n", res.Folder, res.Messages, res.Media, clean(g.Name))
			return nil
		},
	}
	on.addFlags(cmd)
	return cmd
}
