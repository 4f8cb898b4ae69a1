package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	prombridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"iris-gateway/iris"
)

// flushTimeout bounds how long the end of a gateway waits for the receiver of
// its traces and metrics.
const flushTimeout = 700 * time.Millisecond

// telemetry is what a gateway tells an OpenTelemetry receiver.
type telemetry struct {
	tracer trace.Tracer
	stop   func(context.Context) // sends what is left
}

// openTelemetry sends traces, and the metrics that Prometheus would read, to
// cfg.OTLPEndpoint. Without one it is off and costs nothing. All else is left to
// the variables that OpenTelemetry's SDK reads itself, such as
// OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER and OTEL_SERVICE_NAME.
func openTelemetry(ctx context.Context, cfg Config, metrics prometheus.Gatherer, log *slog.Logger) (telemetry, error) {
	if cfg.OTLPEndpoint == "" {
		return telemetry{tracer: noop.Tracer{}, stop: func(context.Context) {}}, nil
	}
	ctx = context.WithoutCancel(ctx) // what happens after its end is sent too
	// A receiver that is away is no reason to stop, at the end neither.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry", "err", err) }))
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("iris-gateway"), semconv.ServiceVersion(Version()), semconv.ServiceInstanceID(iris.NewID("i_")),
	), resource.WithFromEnv())
	if err != nil {
		return telemetry{}, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	base := strings.TrimSuffix(cfg.OTLPEndpoint, "/")
	spans, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(base+"/v1/traces"))
	if err != nil {
		return telemetry{}, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT, traces: %w", err)
	}
	numbers, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(base+"/v1/metrics"))
	if err != nil {
		return telemetry{}, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT, metrics: %w", err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(spans))
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithResource(res), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(
		numbers, sdkmetric.WithProducer(prombridge.NewMetricProducer(prombridge.WithGatherer(metrics))),
	)))
	return telemetry{tracer: tp.Tracer("iris-gateway"), stop: func(ctx context.Context) {
		flush(ctx, log, tp.Shutdown, mp.Shutdown)
	}}, nil
}

// flush runs what sends the last traces and metrics, all at once.
func flush(ctx context.Context, log *slog.Logger, all ...func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	var wait sync.WaitGroup
	for _, f := range all {
		wait.Go(func() {
			if err := f(ctx); err != nil {
				log.Warn("the last telemetry could not be sent", "err", err)
			}
		})
	}
	wait.Wait()
}
