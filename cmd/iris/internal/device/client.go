package device

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Config says which gateway to talk to, and as whom.
type Config struct {
	URL        string // ws://…/ws or wss://…/ws, as the pairing says
	Token      string // device token of the pairing
	DeviceID   string // chosen by the device, kept for good
	DeviceName string // as people see it

	// SkipFirstReplay leaves out what the first sync replays: for a client
	// that shows history instead.
	SkipFirstReplay bool

	// Handle is told every event, one after the other. It may call Send and
	// Request, and must not wait for another event.
	Handle func(Event)

	MinRetry time.Duration // first pause before dialling again; default 500 ms
	MaxRetry time.Duration // longest pause; default 30 s
}

// Client is a connection to a gateway that mends itself. Its methods may be
// called from any goroutine.
type Client struct {
	cfg       Config
	wake      chan struct{} // holds a token when the writer may have work
	transfers chan struct{} // holds a token while a file is on its way

	// Owned by Run's goroutine, which reads the socket.
	cursor  int64 // of the last sync.done; 0 before the first
	synced  bool  // at least one sync was answered, ever
	seen    seen
	syncing string // id of the sync that is under way, "" for none

	mu       sync.Mutex
	nextID   int64
	pending  []*message    // not yet echoed, oldest first
	requests [][]byte      // frames for this connection that wait for the writer
	session  int           // counts connections
	ready    bool          // the session's sync is done: messages may go out
	live     live          // the connection of the session
	changed  chan struct{} // closed and replaced when ready has become true
	current  *transfer     // that is under way
}

// message is one that the gateway has not echoed yet.
type message struct {
	clientID string
	lane     iris.Lane
	text     string
	media    []string  // media_refs
	session  int       // connection it was written to last
	id       string    // request id there
	notUntil time.Time // the gateway asked for a pause
}

// New returns a client that does nothing until Run.
func New(cfg Config) *Client {
	if cfg.MinRetry == 0 {
		cfg.MinRetry = 500 * time.Millisecond
	}
	if cfg.MaxRetry == 0 {
		cfg.MaxRetry = 30 * time.Second
	}
	return &Client{
		cfg: cfg, wake: make(chan struct{}, 1), transfers: make(chan struct{}, 1), seen: newSeen(),
		live: live{ctx: context.Background()}, changed: make(chan struct{}),
	}
}

// CloseError is why the gateway will not have this client back: it would be
// refused again.
type CloseError struct {
	Code    int // close code, such as wire.CloseAuth
	Message string
}

// Error returns what the gateway said.
func (e *CloseError) Error() string { return e.Message }

// Run keeps the connection until ctx ends, which is no error, or until the
// gateway refuses the device for good ([CloseError]).
func (c *Client) Run(ctx context.Context) error {
	retry := c.cfg.MinRetry
	for {
		c.cfg.Handle(Connecting{})
		accepted, err := c.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if accepted {
			retry = c.cfg.MinRetry
		}
		var closed *CloseError
		if errors.As(err, &closed) {
			pause, again := c.closed(closed)
			if !again {
				return closed
			}
			retry = max(retry, pause)
			if accepted && closed.Code == wire.CloseGoingAway {
				retry = 0 // it asks for that
			}
		}
		// Up to a fifth more, so that a restarted gateway is not hit by all at once.
		pause := retry + rand.N(retry/5+1)
		c.cfg.Handle(Lost{Err: err, Retry: pause})
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		retry = min(max(2*retry, c.cfg.MinRetry), c.cfg.MaxRetry)
	}
}

// closed says what a close code asks for: whether to dial again, and the least
// pause before.
func (c *Client) closed(e *CloseError) (pause time.Duration, again bool) {
	switch e.Code {
	case wire.CloseProtocol, wire.CloseAuth, wire.CloseMalformed, wire.CloseSuperseded:
		return 0, false
	case wire.CloseRateLimited:
		return c.cfg.MaxRetry, true
	case wire.CloseTooBig:
		c.refuseWritten("the gateway says that it is too large")
		return 0, true
	default:
		return 0, true
	}
}

// Send queues a message for the agent and returns the client id that [Sent] or
// [Refused] will name. It is repeated over reconnects until one of them came.
// It fails for a text that no gateway takes.
func (c *Client) Send(lane iris.Lane, text string) (clientID string, err error) {
	return c.SendMedia(lane, text, nil)
}

// SendMedia is Send with files, by the media_refs of their uploads. The text may
// be empty then.
func (c *Client) SendMedia(lane iris.Lane, text string, refs []string) (clientID string, err error) {
	switch {
	case !utf8.ValidString(text):
		return "", errors.New("the text is not valid UTF-8")
	case text == "" && len(refs) == 0:
		return "", errors.New("the text is empty")
	case len(text) > wire.MaxMessageText:
		return "", fmt.Errorf("the text has %d bytes, the limit is %d", len(text), wire.MaxMessageText)
	}
	m := &message{clientID: iris.NewID("c_"), lane: lane, text: text, media: refs}
	c.mu.Lock()
	c.pending = append(c.pending, m)
	c.mu.Unlock()
	c.kick()
	return m.clientID, nil
}

// Request asks the gateway something on the connection there is, and returns
// the id that the answering [Frame] will carry. [Connected] voids it.
func (c *Client) Request(frameType string, lane iris.Lane, payload any) (id string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id = c.newID()
	frame, err := encode(id, frameType, lane, payload)
	if err != nil {
		return "", err
	}
	c.requests = append(c.requests, frame)
	c.kick()
	return id, nil
}

// newID returns the next request id. The caller holds mu.
func (c *Client) newID() string {
	c.nextID++
	return "r" + strconv.FormatInt(c.nextID, 10)
}

func (c *Client) kick() {
	select {
	case c.wake <- struct{}{}:
	default: // the writer will look anyway
	}
}

// refuseWritten gives up the messages that this connection was sent.
func (c *Client) refuseWritten(why string) {
	c.mu.Lock()
	var gone, kept []*message
	for _, m := range c.pending {
		if m.session == c.session {
			gone = append(gone, m)
		} else {
			kept = append(kept, m)
		}
	}
	c.pending = kept
	c.mu.Unlock()
	for _, m := range gone {
		c.cfg.Handle(Refused{ClientID: m.clientID, Code: iris.CodeUnsupported, Message: why})
	}
}
