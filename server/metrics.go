package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"iris-gateway/cloudstore"
	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
)

// metrics are what the process counts.
type metrics struct {
	registry   *prometheus.Registry
	hub        *hub.Metrics
	operations *prometheus.CounterVec // of Firestore
	pushes     *prometheus.CounterVec
}

func newMetrics() *metrics {
	reg := prometheus.NewRegistry()
	operations := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "iris", Name: "firestore_operations_total",
		Help: "Firestore operations that are billed, by kind (read, write, delete) and by what they are for.",
	}, []string{"operation", "purpose"})
	pushes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "iris", Name: "pushes_total", Help: "Calls of push services, by service and by what became of them.",
	}, []string{"service", "outcome"})
	reg.MustRegister(operations, pushes, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &metrics{registry: reg, hub: hub.NewMetrics(reg), operations: operations, pushes: pushes}
}

// spent is told by the store what it has spent.
func (m *metrics) spent(op cloudstore.Operation, purpose string, n int) {
	m.operations.WithLabelValues(string(op), purpose).Add(float64(n))
}

// pushed is told of each call of a push service.
func (m *metrics) pushed(service string, outcome iris.PushOutcome) {
	m.pushes.WithLabelValues(service, string(outcome)).Inc()
}

// serve answers GET /metrics on an address of its own, never on the public
// port. It returns the address, and a function that ends it; with addr "" it
// does nothing.
func (m *metrics) serve(ctx context.Context, addr string, log *slog.Logger) (listening string, stop func(), err error) {
	if addr == "" {
		return "", func() {}, nil
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("IRIS_METRICS_ADDR=%s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics ended", "err", err)
		}
	}()
	return ln.Addr().String(), func() { _ = srv.Close(); <-done }, nil
}
