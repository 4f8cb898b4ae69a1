package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"iris-gateway/cloudstore"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/push"
)

// Options are what a process brings along beside its settings.
type Options struct {
	Stdout    io.Writer         // gets the line "listening"; nil for nothing
	Log       *slog.Logger      // required
	Listening func(addr string) // called once, when the gateway can be used; may be nil
}

// Times of start and end. Cloud Run kills 10 s after SIGTERM; draining and
// shutting down together stay below 8.
const (
	readyTimeout    = 30 * time.Second
	drainTimeout    = 6 * time.Second
	shutdownTimeout = time.Second
)

// store is what the parts of a gateway need of where things are kept.
type store interface {
	handlers.Store
	hub.Store
	push.Store
	io.Closer
}

// Run is a gateway, from the opening of its port until ctx ends. Then it
// drains: sockets are told to go elsewhere, commits under way are finished.
// A gateway that cannot work does not start: the error says what is missing.
func Run(ctx context.Context, cfg Config, opts Options) (err error) {
	if err := cfg.Validate(); err != nil {
		return err
	}
	// The port first: a taken one is found out before anything else happens.
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(cfg.Addr, strconv.Itoa(cfg.Port.N)))
	if err != nil {
		return fmt.Errorf("IRIS_ADDR=%s PORT=%d: %w", cfg.Addr, cfg.Port.N, err)
	}
	defer ln.Close()
	m := newMetrics()
	metricsAddr, stopMetrics, err := m.serve(ctx, cfg.MetricsAddr, opts.Log)
	if err != nil {
		return err
	}
	defer stopMetrics()
	st, err := openStore(ctx, cfg, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	tel, err := openTelemetry(ctx, cfg, m.registry, opts.Log)
	if err != nil {
		return err
	}
	defer tel.stop(context.WithoutCancel(ctx)) // it brings a deadline of its own
	wake, err := openPush(ctx, cfg, st, m, tel.tracer, opts.Log)
	if err != nil {
		return err
	}
	defer wake.close()
	srv := newServer(cfg, st, wake, m, tel.tracer, opts.Log)
	addrs := map[string]string{"addr": ln.Addr().String(), "store": cfg.Store, "version": Version()}
	if metricsAddr != "" {
		addrs["metrics"] = metricsAddr
	}
	return serve(ctx, ln, srv, addrs, opts)
}

// newServer puts hub, pusher and handlers together.
func newServer(cfg Config, st store, wake waking, m *metrics, tracer trace.Tracer, log *slog.Logger) *handlers.Server {
	hubCfg := hub.Config{Store: st, LogEntries: cfg.LogEntries.N, Log: log, Metrics: m.hub, Tracer: tracer}
	if wake.pusher != nil {
		hubCfg.Notifier = wake.pusher
	}
	media := openMedia(cfg, st, log)
	return handlers.New(handlers.Config{
		Store:          st,
		Media:          media,
		MediaMaxBytes:  mediaLimits(cfg).MaxBytes,
		Hub:            hub.New(hubCfg),
		Push:           wake.pusher,
		AdminToken:     string(cfg.AdminToken),
		PublicURL:      cfg.PublicURL,
		MaxSockets:     cfg.MaxSockets.N,
		RateLimits:     cfg.RateLimits == On,
		TrustForwarded: cfg.Service != "",
		Log:            log,
		Tracer:         tracer,
		Version:        Version(),
		Checks:         append(storeChecks(cfg, st), wake.checks...),
	})
}

// openStore opens what cfg.Store names and makes sure that it answers.
func openStore(ctx context.Context, cfg Config, m *metrics) (store, error) {
	if cfg.Store == StoreMemory {
		mem := memstore.New()
		mem.Limits, mem.Retention = mediaLimits(cfg), cfg.Retention.D
		return mem, nil
	}
	// Detached: the clients keep this context, and the last commits happen
	// after ctx has ended.
	st, err := cloudstore.Open(context.WithoutCancel(ctx), cloudConfig(cfg, m))
	if err != nil {
		return nil, err
	}
	readyCtx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := st.Ready(readyCtx); err != nil {
		return nil, errors.Join(fmt.Errorf("the store does not answer: %w", err), st.Close())
	}
	return st, nil
}

// cloudConfig is what the store in Google Cloud needs of the settings.
func cloudConfig(cfg Config, m *metrics) cloudstore.Config {
	return cloudstore.Config{
		Project: cfg.Project, Database: cfg.Database, MaxSockets: cfg.MaxSockets.N, Count: m.spent,
		Bucket: cfg.Bucket, Media: mediaLimits(cfg), Retention: cfg.Retention.D,
	}
}

// serve answers on ln until ctx ends, then drains.
func serve(ctx context.Context, ln net.Listener, srv *handlers.Server, addrs map[string]string, opts Options) error {
	// No write timeout: sockets live long. What is hijacked has no read timeout either.
	hs := &http.Server{
		Handler:           srv,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	if err := announce(addrs, opts); err != nil {
		return errors.Join(err, hs.Close(), <-served)
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		served <- http.ErrServerClosed
	}
	// Detached: ctx has ended, and now begins what must still be done.
	drainCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	opts.Log.Info("draining")
	err = errors.Join(err, srv.Drain(drainCtx))
	shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if e := hs.Shutdown(shutdownCtx); e != nil { // somebody has connected and says nothing, or a request takes long
		opts.Log.Warn("connections are cut", "err", e)
		err = errors.Join(err, hs.Close())
	}
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	opts.Log.Info("stopped")
	return err
}

// announce says where the gateway listens.
func announce(addrs map[string]string, opts Options) error {
	if opts.Stdout != nil {
		fields := map[string]string{"severity": "INFO", "message": "listening", "time": time.Now().Format(time.RFC3339Nano)}
		maps.Copy(fields, addrs)
		line, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(opts.Stdout, "%s\n", line); err != nil {
			return fmt.Errorf("stdout: %w", err)
		}
	}
	if opts.Listening != nil {
		opts.Listening(addrs["addr"])
	}
	return nil
}
