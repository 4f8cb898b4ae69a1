package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iris-gateway/cmd/iris/internal/chat"
	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// chatFlags are what chat and dev have in common.
type chatFlags struct {
	json, reasoning bool
	history         int
	wait            time.Duration
}

func (f *chatFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.reasoning, "reasoning", false, "show all of the agent's reasoning, not just its beginning")
	cmd.Flags().DurationVar(&f.wait, "wait", 10*time.Minute, "through a pipe: how long to wait for each answer, 0 for ever")
}

// check reports values that cannot be.
func (f *chatFlags) check() error {
	switch {
	case f.wait < 0:
		return fmt.Errorf("--wait %s: must be 0 or more", f.wait)
	case f.history < 0 || f.history > wire.MaxHistory:
		return fmt.Errorf("--history %d: must be from 0 to %d", f.history, wire.MaxHistory)
	}
	return nil
}

// options are those of a chat on the streams of a command.
func (f *chatFlags) options(std streams, d device.Config) chat.Options {
	return chat.Options{
		Device: d, In: std.in, Interactive: terminal.Is(std.in),
		Out: std.out, Live: terminal.Moves(std.out), Style: terminal.StyleFor(std.out), Notes: std.err,
		Width: func() int { return terminal.Width(std.out) },
		JSON:  f.json, Reasoning: f.reasoning, History: f.history, Wait: f.wait,
	}
}

func newChat(std streams) *cobra.Command {
	var op operator
	var flags chatFlags
	var pairURL, gateway, name string
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Chat in this terminal, as a device of its own",
		Long: `Chat in this terminal, as a device of its own.

The first time it has to be paired: with the URL that "iris pair" shows, or, if
you are the operator, by itself (IRIS_URL and IRIS_ADMIN_TOKEN). The pairing is
kept in your configuration folder.

Through a pipe each line is a message, sent when the one before is answered;
at the end of the input iris waits for the last answer. /quit or Ctrl-D leaves.

When the agent asks something, the next line is the answer: a number, or words
where it takes them. /stop ends what the agent does, /go NAME moves to another
channel or thread, /search WORDS looks for messages, /send FILE TEXT sends a file,
/save NUMBER saves one, /delete [NUMBER] deletes the newest messages, for good and
everywhere; every other / command is the agent's.`,
		Example: "  iris chat --pair 'iris://pair?url=…&token=…'\n  echo 'What is new?' | iris chat",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.check(); err != nil {
				return &usageError{cmd.CommandPath(), err}
			}
			before, err := loadPaired()
			if err != nil {
				return err
			}
			d, err := chatDevice(cmd, &op, before, pairURL, gateway, name)
			if err != nil {
				return err
			}
			flags.json = op.json
			err = chat.Run(cmd.Context(), flags.options(std, d))
			if isRefused(err) && d.Token != before.Token {
				err = errors.Join(err, before.save()) // a pairing that is no good does not cost the one that was
			}
			return chatError(err)
		},
	}
	op.addFlags(cmd)
	flags.addFlags(cmd)
	cmd.Flags().IntVar(&flags.history, "history", 20, "how many messages to show at the start, up to 200")
	cmd.Flags().StringVar(&pairURL, "pair", "", "pair this terminal: the `URL` that iris pair shows, iris://pair?…")
	cmd.Flags().StringVar(&gateway, "gateway", "", "id or name of the gateway to pair with; not needed when there is only one")
	cmd.Flags().StringVar(&name, "name", "", "name of this terminal among the devices (default: terminal on HOST)")
	return cmd
}

// chatDevice returns who this terminal is: newly paired, or as it was kept.
func chatDevice(cmd *cobra.Command, op *operator, kept paired, pairURL, gateway, name string) (_ device.Config, err error) {
	if pairURL == "" && kept.Token != "" && gateway == "" && op.url == "" {
		return kept.config(), nil
	}
	if pairURL == "" {
		if pairURL, err = pairAsOperator(cmd, op, gateway); err != nil {
			return device.Config{}, err
		}
	}
	socket, token, err := parsePairURL(pairURL)
	if err != nil {
		return device.Config{}, &usageError{cmd.CommandPath(), err}
	}
	if kept.DeviceID == "" {
		kept.DeviceID = iris.NewID("cli_")
	}
	if name == "" {
		name = terminalName()
	}
	kept.URL, kept.Token, kept.Name = socket, token, name
	return kept.config(), kept.save()
}

// pairAsOperator makes a pairing for this terminal.
func pairAsOperator(cmd *cobra.Command, op *operator, gateway string) (string, error) {
	c, err := op.client(cmd)
	if err != nil {
		return "", &usageError{cmd.CommandPath(), errors.New("this terminal is not paired yet: give --pair and the URL that `iris pair` shows, or, as the operator, set IRIS_URL and IRIS_ADMIN_TOKEN")}
	}
	g, err := chooseGateway(cmd.Context(), c, gateway)
	if err != nil {
		return "", err
	}
	p, err := c.Pair(cmd.Context(), g.GatewayID, terminalName())
	return p.URL, err
}

// parsePairURL takes what a QR code holds apart.
func parsePairURL(s string) (socket, token string, err error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "iris" || u.Host != "pair" {
		return "", "", errors.New("that is no pairing: it must be like iris://pair?url=…&token=…")
	}
	socket, token = u.Query().Get("url"), u.Query().Get("token")
	inner, err := url.Parse(socket)
	if err != nil || inner.Scheme != "ws" && inner.Scheme != "wss" || inner.Host == "" || token == "" {
		return "", "", errors.New("the pairing URL is damaged (put it in quotes: the shell takes & for itself)")
	}
	return socket, token, nil
}

func terminalName() string {
	host, err := os.Hostname()
	if err != nil {
		return "terminal"
	}
	return "terminal on " + host
}

// isRefused reports whether a gateway did not take the token.
func isRefused(err error) bool {
	var closed *device.CloseError
	return errors.As(err, &closed) && closed.Code == wire.CloseAuth
}

// chatError puts the end of a chat into words.
func chatError(err error) error {
	var closed *device.CloseError
	if !errors.As(err, &closed) {
		return err
	}
	switch closed.Code {
	case wire.CloseAuth:
		return fmt.Errorf("the gateway does not know this terminal (%s): pair it again with iris chat --pair URL", closed.Message)
	case wire.CloseSuperseded:
		return errors.New("the same device has connected somewhere else, so this chat has ended")
	default:
		return fmt.Errorf("the gateway has ended the connection for good: %s", closed.Message)
	}
}

// memoryDevice pairs a device that is kept nowhere.
func memoryDevice(ctx context.Context, pair func(context.Context, string) (string, error)) (device.Config, error) {
	u, err := pair(ctx, terminalName())
	if err != nil {
		return device.Config{}, err
	}
	socket, token, err := parsePairURL(u)
	if err != nil {
		return device.Config{}, err
	}
	return device.Config{URL: socket, Token: token, DeviceID: iris.NewID("cli_"), DeviceName: terminalName()}, nil
}
