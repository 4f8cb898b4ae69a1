package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is an OpenTelemetry receiver (OTLP over HTTP).
type receiver struct {
	url string

	mu      sync.Mutex
	spans   []*tracepb.Span
	metrics map[string]bool // names
	text    []byte          // all that came
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{metrics: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", r.takeTraces)
	mux.HandleFunc("POST /v1/metrics", r.takeMetrics)
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	r.url = web.URL
	return r
}

func (r *receiver) takeTraces(w http.ResponseWriter, req *http.Request) {
	var export collecttraces.ExportTraceServiceRequest
	if !r.read(w, req, &export) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range export.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
}

func (r *receiver) takeMetrics(w http.ResponseWriter, req *http.Request) {
	var export collectmetrics.ExportMetricsServiceRequest
	if !r.read(w, req, &export) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range export.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				r.metrics[m.Name] = true
			}
		}
	}
}

func (r *receiver) read(w http.ResponseWriter, req *http.Request, into proto.Message) bool {
	data, err := io.ReadAll(req.Body)
	if err != nil || proto.Unmarshal(data, into) != nil {
		http.Error(w, "not protobuf", http.StatusBadRequest)
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, data...)
	return true
}

// named returns the spans with a name.
func (r *receiver) named(name string) []*tracepb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.spans), func(s *tracepb.Span) bool { return s.Name != name })
}
