package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// helloWait is how many seconds a peer may take to say hello.
const helloWait = 10

// openWait bounds what a connection waits for the store until it is attached:
// nobody reads from it meanwhile, and sees that its peer has gone.
const openWait = 30 * time.Second

// maxDevicePending bounds the bytes of a device's messages that wait for the
// log. A device that is faster has to wait.
const maxDevicePending = 2 << 20

// deviceSession is the connection of a device, from the upgrade to the end.
type deviceSession struct {
	server   *Server
	log      *slog.Logger
	ws       *conn
	socket   *hub.Socket
	receipts *receipts
	address  string              // where it comes from, for limits
	room     *semaphore.Weighted // of maxDevicePending
	began    time.Time           // when it was accepted

	// Set once hello was accepted.
	gateway *hub.Gateway
	release func() // of gateway
	device  iris.Device
	limits  *deviceLimits // nil: none
	dev     *hub.Device
	pushes  string // how the gateway wakes it
	fresh   bool   // first connection of the device: it begins at the head
	syncs   chan syncRequest
	uploads uploads        // its reader's
	pulls   chan pull      // nil before the first
	wait    sync.WaitGroup // goroutines of the session

	malformed int
}

// handleDevice answers GET /ws.
func (s *Server) handleDevice(w http.ResponseWriter, r *http.Request) {
	if !s.enter(w, r) {
		return
	}
	defer s.leave()
	c, err := accept(w, r, wire.MaxHelloFrame)
	if err != nil {
		s.logOf(r.Context()).Info("device socket refused", "err", err)
		return
	}
	d := &deviceSession{server: s, log: s.log, began: time.Now(), ws: c, syncs: make(chan syncRequest, maxSyncs), room: semaphore.NewWeighted(maxDevicePending)}
	d.address = s.address(r)
	d.receipts = newReceipts(d)
	d.socket = s.cfg.Hub.NewSocket(s.socketContext(r), c, d.receipts.written)
	remove := s.add(d.socket, true)
	defer remove()
	d.end(d.run(d.socket.Context()))
	d.detach()
}

// run is the session: hello, then frames until the connection ends.
func (d *deviceSession) run(ctx context.Context) error {
	opening, span := d.server.tracer.Start(ctx, "device.open", trace.WithSpanKind(trace.SpanKindServer))
	d.log = d.server.logOf(opening)
	err := d.open(opening)
	endSpan(span, err)
	span.End()
	if err != nil {
		return d.server.limits.failed(d.address, err)
	}
	d.ws.SetReadLimit(wire.MaxTextFrame)
	d.wait.Go(func() { d.receipts.run(ctx) })
	d.wait.Go(func() { d.serveSyncs(ctx) })
	return d.readFrames(ctx)
}

// open does all that must be before the device's frames are read.
func (d *deviceSession) open(ctx context.Context) error {
	req, hello, err := d.hello(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	token, err := d.authenticate(ctx, hello)
	if err != nil {
		return err
	}
	d.limits = d.server.limits.device(token.Gateway, hello.DeviceID)
	if err := d.limits.connection(); err != nil {
		return err
	}
	g, release, err := d.server.cfg.Hub.Open(ctx, token.Gateway)
	if err != nil {
		return err
	}
	d.gateway, d.release, d.log = g, release, d.log.With("gateway", g.ID, "device", hello.DeviceID)
	if err := d.identify(ctx, token, hello); err != nil {
		return err
	}
	return d.attach(ctx, hello, req.ID)
}

// hello reads the first frame, which must be a valid hello.
func (d *deviceSession) hello(ctx context.Context) (wire.Request, wire.Hello, error) {
	defer helloInTime(ctx, d.fail)()
	binary, data, err := d.ws.read(ctx)
	if err != nil {
		return wire.Request{}, wire.Hello{}, err
	}
	if binary {
		return wire.Request{}, wire.Hello{}, iris.Errorf(iris.CodeUnsupported, "first frame must be hello, not binary")
	}
	req, err := wire.Decode(data)
	switch {
	case err != nil:
		return req, wire.Hello{}, err
	case req.Version != wire.Version:
		return req, wire.Hello{}, otherVersion(req)
	case req.Type != wire.TypeHello:
		return req, wire.Hello{}, iris.Errorf(iris.CodeUnsupported, "first frame must be hello, not %q", req.Type)
	}
	hello, err := wire.DecodePayload[wire.Hello](req)
	return req, hello, err
}

// otherVersion says that a frame is of a protocol that is not spoken here.
func otherVersion(req wire.Request) error {
	return iris.Errorf(iris.CodeUnsupported, "protocol version %d is not supported, this gateway speaks %d", req.Version, wire.Version)
}

// helloInTime fails a connection whose hello does not come in time, until stop
// is called. It counts the seconds of this process: one that was frozen, or got
// no turn, has not read what came meanwhile, and the peer would give up for
// ever.
func helloInTime(ctx context.Context, fail func(*wire.CloseError)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var counting sync.WaitGroup
	counting.Go(func() {
		for range helloWait {
			sleep(ctx, time.Second)
		}
		if ctx.Err() == nil {
			fail(&wire.CloseError{Code: wire.CloseProtocol, Err: iris.Errorf(iris.CodeUnsupported, "no hello within %d s", helloWait)})
		}
	})
	return func() { cancel(); counting.Wait() }
}

// authenticate looks the token up. One read tells gateway, device and expiry.
func (d *deviceSession) authenticate(ctx context.Context, hello wire.Hello) (iris.Token, error) {
	token, err := d.server.cfg.Store.Token(ctx, iris.HashToken(hello.Token))
	switch {
	case err != nil:
		return token, err
	case token.Kind != iris.TokenDevice:
		return token, iris.Errorf(iris.CodeAuth, "this is not a device token")
	case token.Device == "" && time.Now().After(token.Expires):
		return token, iris.Errorf(iris.CodeAuth, "the pairing has expired: make a new one")
	case token.Device != "" && token.Device != hello.DeviceID:
		return token, iris.Errorf(iris.CodeAuth, "the token belongs to another device")
	}
	return token, nil
}

// identify finds the device's row, and binds the token at its first use.
func (d *deviceSession) identify(ctx context.Context, token iris.Token, hello wire.Hello) error {
	store := d.server.cfg.Store
	if token.Device == "" {
		_, err := store.Device(ctx, token.Gateway, hello.DeviceID)
		d.fresh = iris.ErrorCode(err) == iris.CodeNotFound
		if err != nil && !d.fresh {
			return err
		}
		name := hello.DeviceName
		if name == "" {
			name = token.Name
		}
		var head int64
		if err := d.gateway.Call(ctx, func(a *hub.Actor) { head = a.State().Cursor }); err != nil {
			return err
		}
		now := time.Now()
		err = store.BindToken(ctx, token.Hash, iris.Device{
			ID: hello.DeviceID, Name: name, Token: token.Hash, Cursor: head, Seen: now, Created: now,
		})
		if err != nil {
			return err
		}
		d.log.Info("device paired", "fresh", d.fresh)
	}
	var err error
	d.device, err = store.Device(ctx, token.Gateway, hello.DeviceID)
	// Revoked at this moment, and perhaps paired again since: the token of
	// the row is the one that counts.
	if iris.ErrorCode(err) == iris.CodeNotFound || err == nil && d.device.Token != token.Hash {
		err = iris.Errorf(iris.CodeAuth, "the device has been revoked: pair again")
	}
	if hello.DeviceName != "" {
		d.device.Name = hello.DeviceName // its row gets it with the attachment
	}
	return err
}

// attach appends the attachment to the log and answers hello.
func (d *deviceSession) attach(ctx context.Context, hello wire.Hello, id wire.RequestID) error {
	d.dev = &hub.Device{
		ID: d.device.ID, Socket: d.socket, Synced: d.receipts.count, Received: d.receipts.has.Load,
		Link: iris.Link{ID: iris.NewID("l_"), At: d.began},
	}
	attached := make(chan error, 1)
	d.pushes = d.server.cfg.Push.Kind(hello.Caps.Push)
	err := d.gateway.Do(func(a *hub.Actor) {
		a.Attach(d.dev, hello.DeviceName, d.fresh, func(a *hub.Actor, cursor int64, err error) {
			if err == nil {
				d.welcome(a, cursor, id)
			}
			attached <- err
		})
		d.registerAtHello(a, hello)
	})
	if err != nil {
		return err
	}
	select {
	case err := <-attached:
		if errors.Is(err, iris.ErrRefused) {
			return iris.Errorf(iris.CodeAuth, "the device has been revoked: pair again")
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// welcome answers hello, from the state that the attachment became part of.
func (d *deviceSession) welcome(a *hub.Actor, cursor int64, id wire.RequestID) {
	ack := wire.HelloAck{
		ServerCaps:       wire.ServerCaps{Streaming: true, Reasoning: true, Tools: true, Search: true, Push: d.pushes, Pickers: true},
		SyncCursor:       d.device.Cursor,
		LastPushedCursor: d.device.LastPushed,
		Channels:         channels(a.State(), a.State().Gateway.DefaultChat),
	}
	if d.server.cfg.Media != nil {
		ack.ServerCaps.Media, ack.ServerCaps.MediaMaxBytes = true, d.server.cfg.MediaMaxBytes
	}
	if d.fresh {
		ack.SyncCursor = cursor
		d.device.Cursor = cursor
		d.receipts.count()
	}
	d.socket.Send(wire.WithID(wire.Encode(iris.Lane{}, ack), id))
	d.socket.Send(a.Status())
	if d.fresh {
		d.sendOpen(a, nil)
		for _, frame := range a.Snapshot() {
			d.socket.Send(frame)
		}
	}
}

// detach ends what run began, once the connection has ended.
func (d *deviceSession) detach() {
	if d.gateway == nil {
		return
	}
	if d.dev != nil {
		_ = d.gateway.Do(func(a *hub.Actor) { a.Detach(d.dev) })
	}
	d.wait.Wait()
	d.release()
}

// end closes the connection the way that err demands.
func (d *deviceSession) end(err error) {
	if ce := ending(err, d.socket.Context()); ce != nil {
		d.fail(ce)
		if public(err).Code == iris.CodeInternal {
			d.log.Error("device session failed", "err", err)
		}
	} else {
		d.socket.Close(wire.CloseGoingAway, "")
	}
	d.socket.Wait()
	_ = d.ws.CloseNow()
}

// fail tells the device what was wrong and ends the connection.
func (d *deviceSession) fail(ce *wire.CloseError) {
	d.socket.Send(wire.Encode(iris.Lane{}, frameError(ce)))
	d.socket.Close(ce.Code, ce.Error())
}

// ending says how a session that ended with err is to be closed: nil if the
// connection is gone already, by either side.
func ending(err error, socket context.Context) *wire.CloseError {
	if err == nil || socket.Err() != nil || websocket.CloseStatus(err) != -1 {
		return nil
	}
	var ce *wire.CloseError
	var e *iris.Error
	if !errors.As(err, &ce) && !errors.As(err, &e) && isReadError(err) {
		return nil
	}
	return closeError(err)
}
