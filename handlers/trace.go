package handlers

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"iris-gateway/iris"
)

// withTrace returns the request's context with the trace that the request says
// it belongs to: by traceparent (W3C), else by Google's older header. Cloud Run
// sends both; without any the context is as it was.
func withTrace(r *http.Request) context.Context {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	if sc, ok := cloudTrace(r.Header.Get("X-Cloud-Trace-Context")); ok {
		return trace.ContextWithRemoteSpanContext(ctx, sc)
	}
	return ctx
}

// cloudTrace reads "TRACE/SPAN;o=1": a trace of 32 hexadecimal digits, a span
// that is a decimal number, and whether the trace is recorded.
func cloudTrace(header string) (trace.SpanContext, bool) {
	ids, options, _ := strings.Cut(header, ";")
	traceText, spanText, _ := strings.Cut(ids, "/")
	id, err := trace.TraceIDFromHex(traceText)
	if err != nil {
		return trace.SpanContext{}, false
	}
	n, err := strconv.ParseUint(spanText, 10, 64)
	if err != nil || n == 0 {
		return trace.SpanContext{}, false
	}
	var span trace.SpanID
	binary.BigEndian.PutUint64(span[:], n)
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: span, Remote: true, TraceFlags: trace.TraceFlags(0).WithSampled(options == "o=1"),
	}), true
}

// logOf returns the log for what happens in the trace of ctx.
func (s *Server) logOf(ctx context.Context) *slog.Logger {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return s.log
	}
	return s.log.With("trace", sc.TraceID().String(), "span", sc.SpanID().String())
}

// socketContext is the context of a socket: of the server, because the request
// ends with the upgrade, in the trace of the request.
func (s *Server) socketContext(r *http.Request) context.Context {
	return trace.ContextWithSpanContext(s.ctx, trace.SpanContextFromContext(r.Context()))
}

// call answers a request. Its error is answered by whoever calls it.
type call func(http.ResponseWriter, *http.Request) error

// answer makes a handler of a call: with a span, and its error as the answer.
func (s *Server) answer(do call) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, span := s.tracer.Start(r.Context(), r.Pattern, trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		r = r.WithContext(ctx)
		err := do(w, r)
		if err != nil {
			s.replyError(w, r, err)
		}
		endSpan(span, err)
	}
}

// endSpan notes how what a span is about has ended: by the error's code, never
// by its words, which may hold what somebody wrote.
func endSpan(span trace.Span, err error) {
	if err == nil || !span.IsRecording() {
		return
	}
	code := public(err).Code
	span.SetAttributes(attribute.String("error.type", string(code)))
	if code == iris.CodeInternal || code == iris.CodeUnavailable {
		span.SetStatus(codes.Error, string(code))
	}
}
