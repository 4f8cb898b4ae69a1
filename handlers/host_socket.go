package handlers

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/turn"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Rhythm of the host link.
const (
	hostPingEvery = 25 * time.Second
	hostPongWait  = 35 * time.Second // so that 60 s without a sign of life end the link
)

// maxHostPending bounds the bytes of a host's events that wait for the log. A
// host that is faster has to wait.
const maxHostPending = 4 << 20

// hostSession is the connection of a host, from the upgrade to the end.
type hostSession struct {
	server  *Server
	log     *slog.Logger
	ws      *conn
	socket  *hub.Socket
	hello   link.Hello
	address string              // where it comes from, for limits
	room    *semaphore.Weighted // of maxHostPending
	began   time.Time           // when it was accepted

	gateway *hub.Gateway
	release func() // of gateway
	host    *hub.Host
	wait    sync.WaitGroup // goroutines of the session

	put  *hostPut           // the newest, nil before the first; owned by the reader
	gets chan link.MediaGet // that wait

	// Owned by the gateway's actor.
	machine *turn.Machine
	taken   int64         // newest event that the machine was given, or that was in the log before
	acked   int64         // newest event that was acknowledged
	settled bool          // the turns that the host does not name have been closed
	sent    []sentMessage // messages on their way to the host, in order
	counted int64         // receipts up to here were in the log before

	loads int // of the hub's state when the machine was made: what was deleted since is known

	rows map[string]bool // whether the messages have one that were looked for last

	made     int64       // newest event when something was last meant for the log
	proposed int         // of what the log was asked for and has not answered
	void     int64       // newest event that led to nothing durable
	unkept   bool        // there was one since the live documents were kept with an entry
	ackTimer *time.Timer // acknowledges it; nil when none waits
	heard    time.Time   // when an event came last
	settling *time.Timer // settles when nothing comes
}

// sentMessage is a person's message whose receipt is still to come.
type sentMessage struct {
	cursor int64
	lane   iris.Lane
	id     string
}

// handleHost answers GET /host. It refuses after the upgrade, so that every
// client sees the close code.
func (s *Server) handleHost(w http.ResponseWriter, r *http.Request) {
	if !s.enter(w, r) {
		return
	}
	defer s.leave()
	token := bearer(r)
	c, err := accept(w, r, link.MaxTextFrame)
	if err != nil {
		s.logOf(r.Context()).Info("host link refused", "err", err)
		return
	}
	h := &hostSession{server: s, log: s.log, began: time.Now(), ws: c, room: semaphore.NewWeighted(maxHostPending)}
	h.gets = make(chan link.MediaGet, maxGets)
	h.address = s.address(r)
	h.socket = s.cfg.Hub.NewSocket(s.socketContext(r), c, nil)
	remove := s.add(h.socket, false)
	defer remove()
	h.end(h.run(h.socket.Context(), token))
	h.detach()
}

// run is the session: hello, then frames until the connection ends.
func (h *hostSession) run(ctx context.Context, bearer string) error {
	opening, span := h.server.tracer.Start(ctx, "host.open", trace.WithSpanKind(trace.SpanKindServer))
	h.log = h.server.logOf(opening)
	start, err := h.open(opening, iris.HashToken(bearer))
	endSpan(span, err)
	span.End()
	if err != nil {
		return h.server.limits.failed(h.address, err)
	}
	if h.gateway == nil {
		return h.awaitErased(ctx, iris.HashToken(bearer))
	}
	h.log.Info("host attached", "agent", h.hello.Agent.Version, "plugin", h.hello.Plugin, "turns", len(h.hello.Turns))
	h.wait.Go(func() { h.keepAlive(ctx) })
	h.wait.Go(func() { h.sendBacklog(ctx, start) })
	h.wait.Go(func() { h.serveGets(ctx) })
	return h.readFrames(ctx)
}

// open does all that must be before the host's frames are read. It returns
// where the backlog of inbound begins. When the gateway was removed, and the host
// has only been told that, h.gateway stays nil.
func (h *hostSession) open(socket context.Context, hash string) (start int64, err error) {
	ctx, cancel := context.WithTimeout(socket, openWait)
	defer cancel()
	token, err := h.server.cfg.Store.Token(ctx, hash)
	if err == nil && token.Kind != iris.TokenHost && token.Kind != iris.TokenRemoved {
		err = iris.Errorf(iris.CodeAuth, "this is not a host token")
	}
	if err != nil {
		return 0, err
	}
	h.log = h.log.With("gateway", token.Gateway)
	if h.hello, err = h.readHello(socket); err != nil {
		return 0, err
	}
	if token.Kind == iris.TokenRemoved {
		return 0, h.orderErasure(token)
	}
	g, release, err := h.server.cfg.Hub.Open(ctx, token.Gateway)
	if err != nil {
		return 0, underRemoval(err)
	}
	h.gateway, h.release = g, release
	if start, err = h.attach(ctx); err != nil {
		return 0, underRemoval(err)
	}
	// The token may have been replaced since it was looked at, and whoever did
	// it has not seen this link.
	_, err = h.server.cfg.Store.Token(ctx, hash)
	return start, err
}

// readHello reads the first frame, which must be a valid hello.
func (h *hostSession) readHello(ctx context.Context) (link.Hello, error) {
	defer helloInTime(ctx, h.fail)()
	binary, data, err := h.ws.read(ctx)
	if err != nil {
		return link.Hello{}, err
	}
	if binary {
		return link.Hello{}, iris.Errorf(iris.CodeUnsupported, "first frame must be hello, not binary")
	}
	kind, err := link.Type(data)
	if err != nil {
		return link.Hello{}, err
	}
	if kind != link.TypeHello {
		return link.Hello{}, iris.Errorf(iris.CodeUnsupported, "first frame must be hello, not %q", printable(kind))
	}
	return link.Decode[link.Hello](data)
}

// attach appends the attachment to the log, answers hello, and rebuilds what
// runs. It returns where the backlog of inbound begins.
func (h *hostSession) attach(ctx context.Context) (start int64, err error) {
	h.host = &hub.Host{
		Link: iris.Link{ID: iris.NewID("l_"), At: h.began}, Socket: h.socket,
		Sent: h.noteSent, Snapshot: h.snapshot, Open: h.openTurns, Made: h.newest, Refuse: h.refuse,
	}
	attached := make(chan error, 1)
	var from int64 // set before attached is told
	err = h.gateway.Do(func(a *hub.Actor) {
		h.host.Erase = func(d iris.Deletion) { h.erased(a, d) }
		a.AttachHost(h.host, h.row(), h.hello.Epoch, func(a *hub.Actor, before iris.HostMark, err error) {
			if err == nil {
				from = h.welcome(a, before)
			}
			attached <- err
		})
	})
	if err != nil {
		return 0, err
	}
	select {
	case err = <-attached:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	return from, h.resume(ctx)
}

// row is what is kept of the host.
func (h *hostSession) row() iris.Host {
	commands, err := json.Marshal(h.hello.Commands)
	if err != nil { // they were read from JSON
		h.log.Error("encode the command catalogue", "err", err)
	}
	return iris.Host{
		Link: h.host.Link, Version: h.hello.Agent.Version, Model: h.hello.Agent.Model,
		Commands: commands, Seen: h.host.Link.At,
	}
}

// welcome answers hello. The host's word on what it received counts, unless it
// begins a new epoch: then it has lost its disk.
func (h *hostSession) welcome(a *hub.Actor, known iris.HostMark) (start int64) {
	s := a.State()
	h.loads = s.Loads // not before: the rows may be read anew while the attachment waits
	received := min(h.hello.Received, s.Cursor)
	if known.Epoch != h.hello.Epoch {
		received = max(received, known.Received)
	}
	h.hello.Received, h.counted, h.taken, h.acked = received, known.Received, s.Host.Seq, s.Host.Seq
	ack := link.HelloAck{GatewayID: h.gateway.ID, Acked: s.Host.Seq, Received: received, MediaMaxBytes: h.server.cfg.MediaMaxBytes}
	h.socket.Send(string(link.Encode(link.TypeHelloAck, ack)))
	return min(received, known.Received)
}

// resume rebuilds the turns from what this instance knew, the live documents,
// the rows and the host's hello. They are read after the attachment: nobody
// else changes them from then on.
func (h *hostSession) resume(ctx context.Context) error {
	channels, err := h.server.cfg.Store.Channels(ctx, h.gateway.ID)
	if err != nil {
		return err
	}
	lives, err := h.gateway.Lives(ctx)
	if err != nil {
		return err
	}
	named := slices.Clone(h.hello.Turns)
	for _, l := range lives {
		if t, ok := hub.TurnOf(l); ok {
			named = append(named, t)
		}
	}
	err = h.gateway.Call(ctx, func(a *hub.Actor) { named = append(named, a.OpenTurns(h.taken)...) })
	if err == nil {
		err = h.lookAtTurns(ctx, named)
	}
	if err != nil {
		return err
	}
	return h.gateway.Call(ctx, func(a *hub.Actor) {
		h.machine = turn.New(h.ended)
		for _, t := range alive(a.State(), append(a.OpenTurns(h.taken), a.KnowLive(lives, channels)...)) {
			h.machine.Believe(t)
		}
		h.hello.Turns = alive(a.State(), slices.DeleteFunc(h.hello.Turns, h.over))
		frames := h.machine.Resume(h.hello)
		h.publish(a, 0, iris.Lane{}, frames, nil, nil)
		if h.hello.LastSeq >= h.taken { // else it is older than the log: it was late, and its connection may be dead
			h.settle(a, h.taken)
		}
		h.settleInTime()
	})
}

// newest returns the newest event that what openTurns returns is made of. Before
// the host has repeated all that its hello told of, that is out of reach: turns
// are among them whose start is still to come.
func (h *hostSession) newest() int64 {
	if !h.settled {
		return math.MaxInt64
	}
	return h.made
}

// over reports whether the end of a turn that the host names is in the log: the
// host has not heard of it, and nothing of the turn will come again.
func (h *hostSession) over(t link.Turn) bool { return t.Ended > 0 && t.Ended <= h.taken }

// snapshot is what a device must be told that connects in the middle of a turn.
func (h *hostSession) snapshot() []turn.Frame {
	if h.machine == nil {
		return nil
	}
	return h.machine.Snapshot()
}

func (h *hostSession) openTurns() []link.Turn {
	if h.machine == nil {
		return nil
	}
	return h.machine.Open()
}

// refuse ends the connection because its token is no longer valid.
func (h *hostSession) refuse(why string) {
	h.fail(&wire.CloseError{Code: wire.CloseAuth, Err: iris.Errorf(iris.CodeAuth, "%s", why)})
}

// keepAlive pings until the connection ends, or no pong comes.
func (h *hostSession) keepAlive(ctx context.Context) {
	for {
		sleep(ctx, hostPingEvery)
		wait, cancel := context.WithTimeout(ctx, hostPongWait)
		err := h.ws.Ping(wait)
		cancel()
		if err != nil {
			_ = h.ws.CloseNow()
			return
		}
	}
}

// detach ends what run began, once the connection has ended.
func (h *hostSession) detach() {
	if h.gateway == nil {
		return
	}
	if h.host != nil {
		_ = h.gateway.Do(func(a *hub.Actor) {
			for _, timer := range []*time.Timer{h.ackTimer, h.settling} {
				if timer != nil {
					timer.Stop()
				}
			}
			a.DetachHost(h.host)
		})
	}
	h.endPut(errCut)
	h.wait.Wait()
	h.release()
}

// end closes the connection the way that err demands.
func (h *hostSession) end(err error) {
	if ce := ending(err, h.socket.Context()); ce != nil {
		h.fail(ce)
		h.log.Info("host link ended", "code", ce.Code, "err", err)
	} else {
		h.socket.Close(wire.CloseGoingAway, "")
	}
	h.socket.Wait()
	_ = h.ws.CloseNow()
}

// fail tells the host what was wrong and ends the connection.
func (h *hostSession) fail(ce *wire.CloseError) {
	f := frameError(ce)
	h.socket.Send(string(link.Encode(link.TypeError, link.Error{Code: f.Code, Message: f.Message})))
	h.socket.Close(ce.Code, ce.Error())
}
