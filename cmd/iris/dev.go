package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/agent"
	"iris-gateway/cmd/iris/internal/chat"
	"iris-gateway/cmd/iris/internal/hermes"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/iris"
	"iris-gateway/server"
)

// devGateway is what dev calls its gateway.
const devGateway = "dev"

// devFlags are the flags of dev.
type devFlags struct {
	chat       chatFlags
	port       int
	lan        bool
	addr       string
	hermes     string
	hermesHome string
	model      hermes.Model
	pace       time.Duration
}

func newDev(std streams) *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Try Iris out: gateway, agent and chat, all on this machine",
		Long: `Try Iris out: gateway, agent and chat, all on this machine, nothing kept.

The agent is a small one that is built in: no model, no account. With --hermes
it is a real hermes-agent. That gets a home of its own, which is removed at the
end, and only the model settings and keys of your own hermes; with --hermes-home
it uses the home you name instead.

With --lan a phone in your network can join: a QR code pairs it. That
connection is not encrypted: use it in a network that you trust.`,
		Example: `  iris dev
  iris dev --lan
  iris dev --hermes ~/hermes/bin/hermes
  iris dev --hermes ~/hermes/bin/hermes --model-url http://127.0.0.1:11434/v1 --model qwen3
  echo 'How is the weather in Oslo?' | iris dev`,
		Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return &usageError{cmd.CommandPath(), err}
			}
			return dev(cmd.Context(), std, f)
		},
	}
	f.chat.addFlags(cmd)
	cmd.Flags().BoolVar(&f.chat.json, "json", false, "write the frames that this terminal gets, one a line")
	cmd.Flags().IntVar(&f.port, "port", 0, "port to listen on (default: a free one)")
	cmd.Flags().BoolVar(&f.lan, "lan", false, "let phones in your network join")
	cmd.Flags().StringVar(&f.addr, "addr", "", "address of this machine as phones see it; implies --lan")
	cmd.Flags().StringVar(&f.hermes, "hermes", "", "hermes executable, or the Python or virtual environment that has hermes-agent, at `PATH`")
	cmd.Flags().StringVar(&f.hermesHome, "hermes-home", "", "HERMES_HOME to use; its settings stay as they are")
	cmd.Flags().StringVar(&f.model.URL, "model-url", "", "OpenAI-compatible server that hermes shall ask")
	cmd.Flags().StringVar(&f.model.Name, "model", "", "model that hermes shall ask for")
	cmd.Flags().DurationVar(&f.pace, "pace", 100*time.Millisecond, "how long the built-in agent takes for a word")
	return cmd
}

// check reports flags that do not go together.
func (f devFlags) check() error {
	switch {
	case f.hermes == "" && (f.hermesHome != "" || f.model != hermes.Model{}):
		return errors.New("--hermes-home, --model and --model-url go with --hermes")
	case f.hermesHome != "" && (f.model != hermes.Model{}):
		return errors.New("--hermes-home brings its own model settings: leave --model and --model-url out")
	case f.port < 0 || f.port > 65535:
		return fmt.Errorf("--port %d: must be from 0 to 65535", f.port)
	case f.addr != "" && !isHost(f.addr):
		return fmt.Errorf("--addr %q: must be an address or name of this machine, without port, such as 192.168.1.5", f.addr)
	}
	return f.chat.check()
}

// forPhones reports whether others in the network may join.
func (f devFlags) forPhones() bool { return f.lan || f.addr != "" }

// listenOn is which addresses of this machine the gateway listens on: only for
// phones on one that others reach.
func (f devFlags) listenOn() string {
	if f.forPhones() {
		return "0.0.0.0"
	}
	return "127.0.0.1"
}

// isHost reports whether something is an IP address or could be a host's name.
func isHost(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil || hostName.MatchString(s)
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// dev starts everything, chats, and ends everything.
func dev(ctx context.Context, std streams, f devFlags) (err error) {
	dir, err := devDir()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &devRun{std: std, flags: f, dir: dir, style: terminal.StyleFor(std.err)}
	d.group, d.ctx = errgroup.WithContext(ctx)
	chatted := d.run()
	if d.ctx.Err() != nil {
		chatted = nil // the group says why: the chat only knows that it had to end
	}
	stop()
	err = errors.Join(chatted, d.group.Wait())
	if err == nil {
		err = os.RemoveAll(dir)
	} else {
		d.say("What was logged is in " + dir)
	}
	return err
}

// devDir makes the folder of this run.
func devDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	parent := filepath.Join(cache, "iris")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, "dev-")
}

// devRun is one run of dev.
type devRun struct {
	std   streams
	flags devFlags
	dir   string
	style terminal.Style
	group *errgroup.Group // gateway and host: an error of one ends all
	ctx   context.Context // of the group
	log   *slog.Logger
	port  string
	gw    admin.NewGateway
}

// say tells the person something that is no part of the chat.
func (d *devRun) say(text string) { fmt.Fprintln(d.std.err, d.style.Dim(text)) }

func (d *devRun) run() error {
	logFile, err := os.Create(filepath.Join(d.dir, "gateway.log"))
	if err != nil {
		return err
	}
	// Closed by the end of the process: whoever still logs may do so.
	d.log = server.NewLogger(d.std.logging(logFile), server.Config{Log: server.LogText}, slog.LevelInfo)
	token := iris.NewToken()
	if err := d.startGateway(token); err != nil {
		return err
	}
	local, err := admin.New("http://127.0.0.1:"+d.port, token)
	if err != nil {
		return err
	}
	if d.gw, err = local.CreateGateway(d.ctx, devGateway); err != nil {
		return err
	}
	device, err := memoryDevice(d.ctx, func(ctx context.Context, name string) (string, error) {
		p, err := local.Pair(ctx, d.gw.GatewayID, name)
		return p.URL, err
	})
	if err != nil {
		return err
	}
	d.say("Gateway on 127.0.0.1:" + d.port + ", everything in memory")
	if err := d.startHost(); err != nil {
		return err
	}
	opts := d.flags.chat.options(d.std, device)
	if opts.Interactive {
		d.say("/help shows what the agent can do, /quit to leave")
	}
	if err := d.invite(local); err != nil {
		return err
	}
	opts.History = 0 // there is none
	return chatError(chat.Run(d.ctx, opts))
}

// startGateway starts the gateway and waits until it listens.
func (d *devRun) startGateway(token string) error {
	cfg := server.Config{
		Port: server.Number(d.flags.port), Addr: d.flags.listenOn(), Store: server.StoreMemory, AdminToken: server.Secret(token),
		Push: server.Off, LogEntries: server.Number(2048), RateLimits: server.On, MaxSockets: server.Number(1000), Log: server.LogText,
		MediaMaxBytes: server.Number(64 << 20), MediaQuota: server.Number(1 << 30),
	}
	listening := make(chan string, 1)
	d.group.Go(func() error {
		err := server.Run(d.ctx, cfg, server.Options{Log: d.log, Listening: func(addr string) { listening <- addr }})
		if err != nil {
			return fmt.Errorf("gateway: %w", err)
		}
		return nil
	})
	select {
	case addr := <-listening:
		_, port, err := net.SplitHostPort(addr)
		d.port = port
		return err
	case <-d.ctx.Done():
		return d.ctx.Err() // the group knows why
	}
}

// startHost starts the agent: the built-in one, or hermes.
func (d *devRun) startHost() error {
	if d.flags.hermes == "" {
		attached := make(chan struct{}, 1)
		a := agent.New(agent.Config{
			URL: "ws://127.0.0.1:" + d.port + "/host", Token: d.gw.HostToken, Pace: d.flags.pace, Log: d.log.With("part", "agent"),
			Attached: func() {
				select {
				case attached <- struct{}{}:
				default: // only the first one is waited for
				}
			},
		})
		d.group.Go(func() error { return a.Run(d.ctx) })
		select {
		case <-attached:
		case <-d.ctx.Done():
		}
		return nil
	}
	host, err := hermes.Prepare(hermes.Config{
		Path: d.flags.hermes, Home: d.flags.hermesHome, Dir: d.dir,
		URL: "http://127.0.0.1:" + d.port, Token: d.gw.HostToken, Model: d.flags.model,
	})
	if err != nil {
		return err
	}
	d.say("hermes is starting, home " + host.Home + ", log " + host.Log)
	if host.NoModel {
		d.say("It has no model yet: give --model-url and --model, or a key such as OPENROUTER_API_KEY")
	}
	d.group.Go(func() error { return host.Run(d.ctx) })
	return nil
}

// invite says how others can join.
func (d *devRun) invite(local *admin.Client) error {
	host := "127.0.0.1:" + d.port
	if d.flags.forPhones() {
		addr, err := d.lanAddr()
		if err != nil {
			return err
		}
		host = net.JoinHostPort(addr, d.port)
	}
	local.Host = host
	p, err := local.Pair(d.ctx, d.gw.GatewayID, "phone")
	if err != nil {
		return err
	}
	until := time.UnixMilli(p.ExpiresAt).Format("15:04")
	if !d.flags.forPhones() {
		if terminal.Is(d.std.err) {
			d.say("A phone in your network: start with --lan. Another terminal, until " + until + ":\n  iris chat --pair '" + p.URL + "'")
		}
		return nil
	}
	fmt.Fprintf(d.std.err, "\n%s\n", p.URL)
	d.say("For one phone in your network, until " + until + ". The connection is not encrypted.")
	const below = 2 // that it is connected, and the prompt
	return showCode(d.std.err, p.URL, below)
}

// lanAddr is the address of this machine that others in the network can use.
func (d *devRun) lanAddr() (string, error) {
	if d.flags.addr != "" {
		return d.flags.addr, nil
	}
	// Nothing is sent: connecting a UDP socket only asks which way it would go.
	conn, err := net.Dial("udp4", "192.0.2.1:9")
	if err != nil {
		return "", errors.New("this machine seems to be in no network: give its address with --addr")
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String(), nil
}
