package handlers

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"iris-gateway/handlers/erase"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/push"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Store is what the handlers need of a store beside what the hub needs.
type Store interface {
	TokenStore
	GatewayStore
	DeviceStore
	MessageStore
	erase.Store
	// Ready returns an error if the store does not answer.
	Ready(ctx context.Context) error
}

// TokenStore keeps the hashes of tokens.
type TokenStore interface {
	Token(ctx context.Context, hash string) (iris.Token, error)
	CreateToken(ctx context.Context, t iris.Token) error
	BindToken(ctx context.Context, hash string, d iris.Device) error
	Pairings(ctx context.Context, gateway string) ([]iris.Token, error)
	DropPairing(ctx context.Context, gateway, hash string) error
}

// GatewayStore keeps the gateways and their channels.
type GatewayStore interface {
	CreateGateway(ctx context.Context, gw iris.Gateway, host iris.Token) error
	Gateway(ctx context.Context, gateway string) (iris.Gateway, error)
	Gateways(ctx context.Context) ([]iris.Gateway, error)
	BeginRemoval(ctx context.Context, r iris.Removal, host string) error
	Removals(ctx context.Context) ([]iris.Removal, error)
	RemoveSome(ctx context.Context, gateway string) (int, error)
	EndRemoval(ctx context.Context, gateway string) error
	RemovedHosts(ctx context.Context) ([]iris.Token, error)
	DropRemovedHost(ctx context.Context, hash string) error
	Channels(ctx context.Context, gateway string) ([]iris.Channel, error)
}

// DeviceStore keeps the devices.
type DeviceStore interface {
	Device(ctx context.Context, gateway, device string) (iris.Device, error)
	Devices(ctx context.Context, gateway string) ([]iris.Device, error)
}

// MessageStore keeps the history.
type MessageStore interface {
	Message(ctx context.Context, gateway, id string) (iris.Message, error)
	// Messages hands over those of the messages that there are. A few are in memory
	// at a time, if take keeps no text.
	Messages(ctx context.Context, gateway string, ids []string, take func(iris.Message)) error
	// History returns a page of a lane's messages, oldest first, and whether there
	// are older ones: limit at most, and no more than say [iris.HistoryBytes]
	// together, but one at least if there is any.
	History(ctx context.Context, gateway string, lane iris.Lane, before *iris.Message, limit int) ([]iris.Message, bool, error)
	Search(ctx context.Context, gateway string, q iris.Search) (iris.Found, error)
	// ExportMessages returns a page of all messages: of limit rows at most, and of
	// fewer when they are large. Whether it is the last one, it says.
	ExportMessages(ctx context.Context, gateway string, after iris.ExportPlace, limit int) (iris.ExportPage, error)
	CountMessages(ctx context.Context, gateway string) (int, error)
}

// MediaStore keeps media.
type MediaStore interface {
	BeginUpload(ctx context.Context, gateway, key string, m iris.Media, resume bool) (iris.Upload, error)
	UploadedMedia(ctx context.Context, gateway, key string) (iris.Media, error)
	Media(ctx context.Context, gateway, id string) (iris.Media, error)
	OpenMedia(ctx context.Context, gateway, id string, offset, length int64) (iris.Media, io.ReadCloser, error)
	DeleteMedia(ctx context.Context, gateway, id string) error
	DeleteMediaObjects(ctx context.Context, gateway string) error
	ExportMedia(ctx context.Context, gateway, after string, limit int) (all []iris.Media, next string, err error)
}

// Config says what a server works with.
type Config struct {
	Store          Store
	Media          MediaStore // nil: media is off
	MediaMaxBytes  int64      // of one medium; devices and hosts are told
	Hub            *hub.Hub
	AdminToken     string
	PublicURL      string // https://…, "" = from the request
	MaxSockets     int    // above it sockets are refused with 503
	RateLimits     bool
	Push           *push.Pusher // also the hub's notifier; nil: devices are not woken
	TrustForwarded bool         // X-Forwarded-* come from a proxy that can be trusted
	Log            *slog.Logger
	Tracer         trace.Tracer // nil: nobody traces
	Version        string       // of the program, for operators
	Checks         []Check      // what an operator is told of
}

// Server answers everything on the public port.
type Server struct {
	cfg    Config
	log    *slog.Logger
	tracer trace.Tracer
	mux    *http.ServeMux
	routes []string // patterns of mux
	admin  [sha256.Size]byte
	ctx    context.Context // of the sockets
	end    context.CancelFunc

	limits *limits
	eraser *erase.Eraser
	ready  readiness

	mu      sync.Mutex
	sockets map[*hub.Socket]bool // true for devices, which are told the status
	count   int                  // sockets, those included that have no hub.Socket yet
	leaving bool
	running sync.WaitGroup // the socket handlers
}

// New returns a server for the gateways in cfg.Store.
func New(cfg Config) *Server {
	if cfg.Tracer == nil {
		cfg.Tracer = noop.Tracer{}
	}
	ctx, end := context.WithCancel(context.Background())
	if cfg.Media == nil {
		cfg.MediaMaxBytes = 0
	}
	s := &Server{
		cfg: cfg, log: cfg.Log, tracer: cfg.Tracer, mux: http.NewServeMux(), admin: sha256.Sum256([]byte(cfg.AdminToken)),
		ctx: ctx, end: end, sockets: map[*hub.Socket]bool{}, limits: newLimits(cfg.RateLimits), ready: newReadiness(),
	}
	if cfg.Push != nil {
		cfg.Push.Start(s.unregister)
	}
	s.eraser = erase.New(ctx, cfg.Store, cfg.Media, cfg.Log)
	cfg.Hub.OnDeletions(s.eraser.Pending)
	s.handle("GET /ws", s.handleDevice)
	s.handle("GET /host", s.handleHost)
	s.handle("GET /health", s.handleHealth)
	s.handle("GET /ready", s.handleReady)
	s.handle("GET /admin/status", s.operator(s.handleStatus))
	s.handle("POST /admin/gateways", s.operator(s.handleCreateGateway))
	s.handle("GET /admin/gateways", s.operator(s.handleListGateways))
	s.handle("DELETE /admin/gateways/{gateway}", s.operator(s.handleDeleteGateway))
	s.handle("GET /admin/gateways/{gateway}/export", s.operator(s.handleExport))
	s.handle("GET /admin/gateways/{gateway}/export/messages", s.operator(s.handleExportMessages))
	s.handle("GET /admin/gateways/{gateway}/export/media", s.operator(s.handleExportMedia))
	s.handle("GET /admin/gateways/{gateway}/export/media/{media}", s.operator(s.handleExportMedium))
	s.handle("POST /admin/gateways/{gateway}/devices", s.operator(s.handlePairDevice))
	s.handle("GET /admin/gateways/{gateway}/devices", s.operator(s.handleListDevices))
	s.handle("DELETE /admin/gateways/{gateway}/devices/{device}", s.operator(s.handleRevokeDevice))
	s.handle("POST /admin/gateways/{gateway}/devices/{device}/push-test", s.operator(s.handlePushTest))
	s.handle("GET /admin/gateways/{gateway}/pairings", s.operator(s.handleListPairings))
	s.handle("DELETE /admin/gateways/{gateway}/pairings/{pairing}", s.operator(s.handleDropPairing))
	s.handle("POST /admin/gateways/{gateway}/host-token", s.operator(s.handleRotateHostToken))
	s.handle("POST /host/send", s.owner(s.handleHostSend))
	s.handle("POST /host/devices", s.owner(s.handlePairDevice))
	s.handle("GET /host/devices", s.owner(s.handleListDevices))
	s.handle("DELETE /host/devices/{device}", s.owner(s.handleRevokeDevice))
	return s
}

// handle answers requests that match pattern by h.
func (s *Server) handle(pattern string, h http.HandlerFunc) {
	s.routes = append(s.routes, pattern)
	s.mux.HandleFunc(pattern, h)
}

// Routes lists all that is answered, as patterns of [http.ServeMux].
func (s *Server) Routes() []string { return slices.Clone(s.routes) }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mux.ServeHTTP(w, r.WithContext(withTrace(r)))
}

// operator lets only the operator through.
func (s *Server) operator(next call) http.HandlerFunc {
	return s.answer(func(w http.ResponseWriter, r *http.Request) error {
		sum := sha256.Sum256([]byte(bearer(r)))
		if subtle.ConstantTimeCompare(sum[:], s.admin[:]) != 1 {
			return iris.Errorf(iris.CodeAuth, "admin token missing or wrong: send Authorization: Bearer $IRIS_ADMIN_TOKEN")
		}
		return next(w, r)
	})
}

// owner lets the host of a gateway through, to what belongs to that gateway.
func (s *Server) owner(next call) http.HandlerFunc {
	return s.answer(func(w http.ResponseWriter, r *http.Request) error {
		token, err := s.cfg.Store.Token(r.Context(), iris.HashToken(bearer(r)))
		if err != nil {
			return err
		}
		if token.Kind != iris.TokenHost {
			return iris.Errorf(iris.CodeAuth, "this is not a host token")
		}
		r.SetPathValue("gateway", token.Gateway)
		return next(w, r)
	})
}

// bearer returns the token of the Authorization header, "" if there is none.
func bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// enter counts a socket that is to be accepted. It answers the request itself,
// and returns false, if there is no room.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	full, leaving := s.count >= s.cfg.MaxSockets, s.leaving
	if !full && !leaving {
		s.count++
		s.running.Add(1)
	}
	s.mu.Unlock()
	switch {
	case leaving:
		s.replyError(w, r, iris.Errorf(iris.CodeUnavailable, "this instance is going away, connect again"))
	case full:
		s.replyError(w, r, iris.Errorf(iris.CodeUnavailable, "this instance holds its %d sockets already, try again", s.cfg.MaxSockets))
	}
	return !full && !leaving
}

// leave undoes enter.
func (s *Server) leave() {
	s.mu.Lock()
	s.count--
	s.mu.Unlock()
	s.running.Done()
}

// Sockets are closed before Cloud Run cuts them at 60 minutes, spread over
// some minutes so that they do not all come back at once.
const (
	socketLifetime = 55 * time.Minute
	socketSpread   = 4 * time.Minute
)

// add registers a socket. It is closed when its time is up or the instance
// goes away. The returned function undoes it.
func (s *Server) add(sock *hub.Socket, device bool) (remove func()) {
	s.mu.Lock()
	s.sockets[sock] = device
	leaving := s.leaving
	s.mu.Unlock()
	if leaving {
		sock.Close(wire.CloseGoingAway, "this instance is going away, connect again")
	}
	t := time.AfterFunc(socketLifetime+rand.N(socketSpread), func() {
		sock.Close(wire.CloseGoingAway, "the connection's time is up, connect again")
	})
	return func() {
		t.Stop()
		s.mu.Lock()
		delete(s.sockets, sock)
		s.mu.Unlock()
	}
}

func (s *Server) draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaving
}

// drainSpread is the time over which a leaving instance closes its sockets, so
// that they do not reach the next one all at once.
const drainSpread = 3 * time.Second

// Drain refuses new sockets, tells the devices that the instance is
// restarting, closes every socket with 1001, and returns when their handlers
// and all commits have ended, or with an error when ctx ends before.
func (s *Server) Drain(ctx context.Context) error {
	s.closeSockets(ctx)
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.end()
	<-done
	if s.cfg.Push != nil {
		s.cfg.Push.Drain(pushTime(ctx)) // its pushes keep gateways open
		defer s.cfg.Push.Close()
	}
	return s.cfg.Hub.Close(ctx)
}

// pushTime is how long a leaving instance still pushes: the gateways must have
// time to close before ctx ends.
func pushTime(ctx context.Context) time.Duration {
	const longest, toClose = 2500 * time.Millisecond, 700 * time.Millisecond
	end, ok := ctx.Deadline()
	if !ok {
		return longest
	}
	return max(0, min(longest, time.Until(end)-toClose))
}

// closeSockets lets nobody in any more, and closes the sockets one by one. The
// hosts come last: no device is to hear that its host went, after "restarting".
func (s *Server) closeSockets(ctx context.Context) {
	s.mu.Lock()
	s.leaving = true
	var devices, hosts []*hub.Socket
	for sock, device := range s.sockets {
		if device {
			devices = append(devices, sock)
		} else {
			hosts = append(hosts, sock)
		}
	}
	s.mu.Unlock()
	restarting := wire.Encode(iris.Lane{}, wire.Status{State: wire.StateRestarting})
	for _, sock := range devices {
		sock.Send(restarting)
	}
	all := append(devices, hosts...)
	for i, sock := range all {
		sock.Close(wire.CloseGoingAway, "this instance is going away, connect again")
		if i < len(all)-1 {
			sleep(ctx, min(drainSpread/time.Duration(len(all)), 100*time.Millisecond))
		}
	}
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
