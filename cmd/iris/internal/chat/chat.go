package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Options say how to chat.
type Options struct {
	Device device.Config // whom to chat with; its Handle and SkipFirstReplay are set here

	In          io.Reader
	Interactive bool // In is a terminal: with a prompt, and messages may be sent at any time
	Out         io.Writer
	Live        bool      // Out is a terminal that can take back what it shows
	Notes       io.Writer // gets lines about the connection, unless Out is Live: then they stand there
	Style       terminal.Style
	Width       func() int // columns of Out, 0 when unknown; may be nil

	JSON      bool          // write frames as they are, one a line, instead
	Reasoning bool          // all of the reasoning
	History   int           // how many messages to show at the start
	Wait      time.Duration // with pipes: how long to wait for the connection and for each answer; 0 is for ever
	Quiet     time.Duration // after which silence an answer counts as complete that ended no turn; default 3 s
}

// Run chats until In ends and everything sent is answered, or until ctx ends:
// neither is an error. It is one when the gateway refuses the device for good
// ([device.CloseError]), when a message was refused, or when answers are
// missing after Options.Wait.
func Run(ctx context.Context, opts Options) error {
	ctx, stop := context.WithCancel(ctx)
	c := newChat(ctx, opts)
	ended := make(chan error, 1)
	go func() { ended <- c.client.Run(ctx) }()
	err := c.loop(ctx, ended)
	stop()
	if c.clientRuns {
		<-ended
	}
	c.moves.Wait()
	c.view.clear()
	c.view.fresh()
	return err
}

// chat is owned by the goroutine of loop.
type chat struct {
	ctx        context.Context // of all that the chat does
	opts       Options
	client     *device.Client
	clientRuns bool
	view       *view
	events     chan device.Event
	lines      <-chan string // nil once it has ended
	ready      bool          // history is shown: live frames may be
	held       []device.Frame
	history    string // id of the request
	host       wire.State
	waiting    map[string]bool    // client ids without echo
	due        map[string]request // requests without answer, by their id
	searched   wire.SearchRequest // last, and where it goes on
	moving     int                // files on their way
	moves      sync.WaitGroup     // their goroutines
	moved      chan func()        // what is to be done when one has arrived
	unread     map[string]string  // own messages, by id, that the host does not have yet
	typed      string             // what was typed at the prompt, as long as nothing stands below it
	next       string             // with pipes: a line that waits
	turn       *exchange          // with pipes: what has to be answered before the next line
	online     bool
	trouble    string // why there is no connection, as told
	refused    error
	overdue    <-chan time.Time
}

func newChat(ctx context.Context, opts Options) *chat {
	if opts.Width == nil {
		opts.Width = func() int { return 0 }
	}
	if opts.Quiet == 0 {
		opts.Quiet = 3 * time.Second
	}
	if opts.Notes == nil {
		opts.Notes = io.Discard
	}
	out := opts.Out
	if opts.JSON {
		out, opts.Live = io.Discard, false
	}
	c := &chat{
		ctx: ctx, moved: make(chan func()), opts: opts, clientRuns: true, events: make(chan device.Event), lines: readLines(ctx, opts.In),
		view:    newView(screen{out: out, style: opts.Style, live: opts.Live, width: opts.Width}),
		waiting: map[string]bool{}, due: map[string]request{}, unread: map[string]string{},
	}
	c.view.reasoning, c.view.own = opts.Reasoning, opts.Device.DeviceID
	opts.Device.SkipFirstReplay = true
	opts.Device.Handle = func(e device.Event) {
		select {
		case c.events <- e:
		case <-ctx.Done():
		}
	}
	c.client = device.New(opts.Device)
	if !opts.Interactive {
		c.overdue = after(opts.Wait)
	}
	return c
}

// after is time.After; 0 is for ever, and so is less.
func after(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

// readLines reads in until it ends. A read cannot be interrupted: the
// goroutine ends with its line, or with the process.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadString('\n')
			if line = strings.TrimRightFunc(line, unicode.IsSpace); line != "" || err == nil {
				select {
				case lines <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// loop takes turns between what comes and what is typed.
func (c *chat) loop(ctx context.Context, ended <-chan error) error {
	for {
		c.hint()
		if c.next != "" && c.ready && c.takesLine() {
			text := c.next
			c.next = ""
			if c.line(text) {
				return nil
			}
			continue
		}
		lines := c.lines
		if c.next != "" {
			lines = nil // one after the other
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			c.clientRuns = false
			return err
		case e := <-c.events:
			if err := c.event(e); err != nil {
				return err
			}
		case line, ok := <-lines:
			if c.read(line, ok) {
				return nil
			}
		case done := <-c.moved:
			c.moving--
			done()
		case <-c.turn.quiet():
			c.turn = nil
		case <-c.overdue:
			return c.late()
		}
		if c.lines == nil && c.finished() {
			return c.refused
		}
	}
}

// read takes what comes from the input, ok is false at its end. It reports
// whether that ends the chat at once.
func (c *chat) read(line string, ok bool) (quit bool) {
	switch {
	case !ok:
		c.lines = nil
	case c.opts.Interactive:
		return c.line(line)
	default:
		c.next = line
	}
	return false
}

// takesLine reports, with pipes, whether the next line may go: when all is
// answered, or when the agent asks something and this is the answer.
func (c *chat) takesLine() bool {
	if len(c.due) > 0 || c.moving > 0 {
		return false
	}
	p, open := c.view.question()
	return c.turn == nil || open && p.waits
}

// late says what did not come in time.
func (c *chat) late() error {
	if !c.ready {
		return fmt.Errorf("no connection within %s", c.opts.Wait)
	}
	if p, open := c.view.question(); open {
		return fmt.Errorf("nobody has answered %q within %s", terminal.CleanLine(p.question), c.opts.Wait)
	}
	return fmt.Errorf("no complete answer within %s; it will be in the history", c.opts.Wait)
}

// finished reports, after the end of the input, whether there is nothing left
// to wait for.
func (c *chat) finished() bool {
	if c.opts.Interactive {
		return true
	}
	return c.ready && c.turn == nil && c.next == "" && len(c.due) == 0 && c.moving == 0
}

// line takes a line that was typed, and reports whether it ends the chat.
func (c *chat) line(text string) (quit bool) {
	atPrompt := c.view.hint == markUser
	if c.opts.Interactive {
		c.view.entered()
	}
	switch strings.TrimSpace(text) {
	case "":
		return false
	case "/quit", "/exit":
		return true
	}
	if c.ownCommand(text) || c.reply(text) {
		return false
	}
	if c.post(c.view.lane, text, nil, text) && atPrompt {
		c.typed = text
	}
	return false
}

// post sends a message, and reports whether it is on its way. Shown is what
// stands for it.
func (c *chat) post(lane iris.Lane, text string, refs []string, shown string) bool {
	id, err := c.client.SendMedia(lane, text, refs)
	if err != nil {
		c.refuse(err)
		return false
	}
	c.waiting[id] = true
	if !c.opts.Interactive {
		c.turn = newExchange(id, c.view.busy, c.opts.Quiet)
		c.overdue = after(c.opts.Wait)
		c.view.begin(markUser, c.view.style.Accent)
		c.view.grow(terminal.Clean(shown))
		c.view.last = ownLine
	}
	return true
}

func (c *chat) refuse(err error) {
	text := "not sent: " + terminal.CleanLine(err.Error())
	if c.opts.Live {
		c.view.block("✗ ", text, c.view.style.Bad, plain)
	} else {
		fmt.Fprintln(c.opts.Notes, "✗ "+text)
	}
	c.refused = errors.New("not every message was sent")
}

// event takes what the client tells.
func (c *chat) event(e device.Event) error {
	c.writeJSON(e)
	switch e := e.(type) {
	case device.Connected:
		c.connected(e)
	case device.Synced:
		return c.synced(e)
	case device.Lost:
		c.online = false
		c.lost(e)
	case device.Sent:
		c.sent(e)
	case device.Refused:
		delete(c.waiting, e.ClientID)
		if c.turn.is(e.ClientID) {
			c.turn = nil
		}
		c.refuse(errors.New(e.Message))
	case device.Frame:
		return c.frame(e)
	}
	return nil
}

// lost says why there is no connection: once, not at every try.
// say writes a line about the connection.
// connected learns the lanes.
// synced asks for the history when the screen has none, or has a gap.
// begin shows what came while the history was on its way.
// sent takes the echo of an own message.
// frame takes a frame from the gateway.
// show shows a frame, and follows the exchange that runs.
// pageOfHistory shows the newest messages of the lane.
// status says how it is with the host, when that changes.
// received marks an own message that the host has: behind it, if it is still
// the last thing on the screen.
// hint shows what is going on: the agent at work, or the prompt.
