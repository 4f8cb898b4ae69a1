// Command iris is the operator's and developer's tool: it tries Iris out on
// one machine (dev), makes gateways and pairings, and chats in the terminal.
//
// It exits with 0 when what was asked is done, with 1 when it failed, and with
// 2 when it was asked in a way that it does not understand.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/server"
)

func main() {
	// SIGPIPE: whoever reads the output has gone, and what was begun is still to be ended.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// streams are what a command reads and writes: data goes to out, everything
// that is only for the person in front of it to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
	log      io.Writer // gets a copy of what the program logs to a file; may be nil
}

// logging is where a log goes that is kept in a file.
func (s streams) logging(file io.Writer) io.Writer {
	if s.log == nil {
		return file
	}
	return io.MultiWriter(file, s.log)
}

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// run runs the command line and returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	root := newRoot(std)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		fmt.Fprintf(std.err, "iris: %v\nTry \"%s --help\".\n", err, usage.command)
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		if terminal.Is(std.err) {
			fmt.Fprintln(std.err) // behind the ^C; the person knows
		}
		return exitFailed
	default:
		style := terminal.StyleFor(std.err)
		fmt.Fprintf(std.err, "%s %s\n", style.Bad("iris:"), terminal.Clean(err.Error()))
		return exitFailed
	}
}

// usageError is a command line that makes no sense.
type usageError struct {
	command string // what to ask for help
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// newRoot builds the tree of commands.
func newRoot(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "iris",
		Short: "Iris connects phones to a hermes-agent behind NAT",
		Long: `Iris connects phones to a hermes-agent behind NAT.

"iris dev" tries it out on this machine. What is marked (operator) works on a
gateway that runs somewhere: set IRIS_URL and IRIS_ADMIN_TOKEN for it.`,
		Version:       server.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{cmd.CommandPath(), flagError(err)}
	})
	root.AddCommand(newDev(std), newGateway(std), newPair(std), newDevices(std), newRevoke(std), newPush(std), newExport(std), newHost(std), newChat(std), newDoctor(std))
	group(root)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = helpTopic
	}
	return root
}

// flagError leaves out what Go's parsers say about a value: it is for those who
// write Go.
func flagError(err error) error {
	var invalid interface{ GetValue() string }
	cause := errors.Unwrap(err)
	if cause == nil || !errors.As(err, &invalid) {
		return err
	}
	return errors.New(strings.TrimSuffix(err.Error(), ": "+cause.Error()))
}

// helpTopic wants the name of a command: of anything else cobra would show the
// help of the command around it.
func helpTopic(help *cobra.Command, args []string) error {
	if _, unknown, err := help.Root().Find(args); err != nil || len(unknown) > 0 {
		return &usageError{help.Root().CommandPath(), fmt.Errorf("there is no command %q", strings.Join(args, " "))}
	}
	return nil
}

// group makes a command that only holds others: alone it shows its help, and
// an unknown name is wrong usage.
func group(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return &usageError{cmd.CommandPath(), fmt.Errorf("there is no command %q%s", args[0], hint)}
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// blank reports whether there is nothing to see.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// args wants exactly the named arguments.
func args(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, got []string) error {
		switch {
		case len(got) < len(names):
			return &usageError{cmd.CommandPath(), fmt.Errorf("%s is missing", names[len(got)])}
		case len(got) > len(names):
			return &usageError{cmd.CommandPath(), fmt.Errorf("%q is too much", got[len(names)])}
		}
		if i := slices.IndexFunc(got, blank); i >= 0 {
			return &usageError{cmd.CommandPath(), fmt.Errorf("%s is empty", names[i])}
		}
		return nil
	}
}
