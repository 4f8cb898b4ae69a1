package agent

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Config says which gateway the agent serves.
type Config struct {
	URL   string        // of the host link: ws://…/host or wss://…/host
	Token string        // host token
	Pace  time.Duration // between two words; 0 is as fast as it can
	Log   *slog.Logger

	Attached func() // called whenever the gateway has accepted the host; may be nil

	MinRetry time.Duration // first pause before dialling again; default 1 s
	MaxRetry time.Duration // longest pause; default 60 s
}

// Agent is a host with a pretended agent on it.
type Agent struct {
	cfg     Config
	spool   *spool
	process string
	lanes   *lanes
	prompts *prompts
	outbox  *outbox
}

// Version and model that the agent claims.
const (
	version   = "1"
	modelName = "built-in"
)

// New returns an agent that does nothing until Run.
func New(cfg Config) *Agent {
	if cfg.MinRetry == 0 {
		cfg.MinRetry = time.Second
	}
	if cfg.MaxRetry == 0 {
		cfg.MaxRetry = time.Minute
	}
	a := &Agent{cfg: cfg, spool: newSpool(), process: iris.NewID("p_"), prompts: newPrompts(), outbox: newOutbox()}
	a.lanes = newLanes(a)
	return a
}

// ErrToken is what Run returns when the gateway does not know the host token.
var ErrToken = errors.New("the gateway does not accept the host token")

// Run serves the gateway until ctx ends, which is no error. It dials again
// whenever the connection is lost, and gives up only with [ErrToken] and when
// another host took its place.
func (a *Agent) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer a.lanes.wait()
	defer stop()
	retry := a.cfg.MinRetry
	for {
		attached, err := a.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if attached {
			retry = a.cfg.MinRetry
		}
		code := int(websocket.CloseStatus(err))
		switch code {
		case wire.CloseAuth:
			return ErrToken
		case wire.CloseSuperseded:
			return errors.New("another host has taken over")
		}
		a.cfg.Log.Info("host link lost", "code", code, "err", err, "retry", retry)
		if attached && code == wire.CloseGoingAway {
			retry = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry + rand.N(retry/5+1)):
		}
		retry = min(max(2*retry, a.cfg.MinRetry), a.cfg.MaxRetry)
	}
}

// Times of a connection.
const (
	dialTimeout  = 15 * time.Second
	writeTimeout = 10 * time.Second
	pingEvery    = 25 * time.Second
	pingTimeout  = 35 * time.Second
)

// connect runs one connection to its end. attached says whether the gateway
// took the hello.
func (a *Agent) connect(ctx context.Context) (attached bool, err error) {
	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	header := http.Header{"Authorization": {"Bearer " + a.cfg.Token}}
	conn, _, err := websocket.Dial(dialCtx, a.cfg.URL, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		return false, err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(link.MaxTextFrame)
	if err := a.hello(dialCtx, conn); err != nil {
		return false, err
	}
	defer a.spool.detach()
	a.cfg.Log.Info("host attached")
	if a.cfg.Attached != nil {
		a.cfg.Attached()
	}

	// Detached from ctx: a read whose context ends kills the connection
	// without a close code.
	session, end := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	wg.Go(func() { a.write(session, conn) })
	wg.Go(func() { a.bring(session, conn) })
	wg.Go(func() { ping(session, conn) })
	wg.Go(func() {
		select {
		case <-session.Done():
		case <-ctx.Done():
			kill := time.AfterFunc(time.Second, func() { _ = conn.CloseNow() })
			defer kill.Stop()
			_ = conn.Close(websocket.StatusNormalClosure, "")
		}
	})
	return true, a.read(session, ctx, conn)
}

// hello introduces the host and attaches the spool to the connection.
func (a *Agent) hello(ctx context.Context, conn *websocket.Conn) error {
	h := a.spool.hello()
	h.Process = a.process
	h.Agent = link.Agent{Name: "iris-dev", Version: version, Model: modelName, Streaming: true}
	h.Plugin = version
	h.Commands = catalogue
	if err := conn.Write(ctx, websocket.MessageText, link.Encode(link.TypeHello, h)); err != nil {
		return err
	}
	for {
		kind, data, err := readFrame(ctx, conn)
		if err != nil {
			return err
		}
		switch kind {
		case link.TypeHelloAck:
			ack, err := link.Decode[link.HelloAck](data)
			if err != nil {
				return err
			}
			a.spool.attach(ack)
			return nil
		case link.TypeError:
			a.logError(data)
		}
	}
}

// read takes what the gateway sends. Turns run under ctx, not under the
// session: they go on while the gateway is away.
func (a *Agent) read(session, ctx context.Context, conn *websocket.Conn) error {
	for {
		kind, data, err := readFrame(session, conn)
		if err != nil {
			return err
		}
		switch kind {
		case link.TypeAcked:
			acked, err := link.Decode[link.Acked](data)
			if err != nil {
				return err
			}
			a.spool.acked(acked.Seq)
		case link.TypeMediaPutAck:
			ack, err := link.Decode[link.MediaPutAck](data)
			if err != nil {
				return err
			}
			select {
			case a.outbox.acks <- ack:
			case <-session.Done():
			}
		case link.TypeInbound:
			if err := a.inbound(ctx, data); err != nil {
				return err
			}
		case link.TypeGatewayDelete: // what it knows is in memory, and goes with it
			confirm := link.Encode(link.TypeGatewayDeleted, link.GatewayDeleted{})
			if err := conn.Write(session, websocket.MessageText, confirm); err != nil {
				return err
			}
		case link.TypeError:
			a.logError(data)
		}
	}
}

func (a *Agent) logError(data []byte) {
	if e, err := link.Decode[link.Error](data); err == nil {
		a.cfg.Log.Warn("gateway says", "code", e.Code, "err", e.Message)
	}
}

// write sends what waits in the spool until the session ends.
func (a *Agent) write(ctx context.Context, conn *websocket.Conn) {
	for {
		frame := a.spool.next()
		if frame == nil {
			select {
			case <-ctx.Done():
				return
			case <-a.spool.wake:
			}
			continue
		}
		wctx, cancel := context.WithTimeout(ctx, writeTimeout)
		err := conn.Write(wctx, websocket.MessageText, frame)
		cancel()
		if err != nil {
			_ = conn.CloseNow() // the reader notices
			return
		}
	}
}

// ping finds out about a connection that died silently.
func ping(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		pctx, cancel := context.WithTimeout(ctx, pingTimeout)
		err := conn.Ping(pctx)
		cancel()
		if err != nil {
			_ = conn.CloseNow() // the reader notices
			return
		}
	}
}

// readFrame reads the next text frame and its type.
func readFrame(ctx context.Context, conn *websocket.Conn) (kind string, data []byte, err error) {
	for {
		t, data, err := conn.Read(ctx)
		if err != nil {
			return "", nil, err
		}
		if t == websocket.MessageText {
			kind, err := link.Type(data)
			return kind, data, err
		}
	}
}
