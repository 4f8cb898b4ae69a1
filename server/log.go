package server

import (
	"io"
	"log/slog"
)

// Names that Cloud Logging gives a meaning to
// (https://cloud.google.com/logging/docs/structured-logging).
const (
	cloudMessage  = "message"
	cloudSeverity = "severity"
	cloudTrace    = "logging.googleapis.com/trace"
	cloudSpan     = "logging.googleapis.com/spanId"
	cloudSource   = "logging.googleapis.com/sourceLocation"
)

// NewLogger returns a logger in the form of cfg.Log. As JSON its fields have
// the names that Cloud Logging knows: it shows a line under the request that it
// belongs to, and where in the code it was written.
func NewLogger(w io.Writer, cfg Config, level slog.Leveler) *slog.Logger {
	if cfg.Log == LogText {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	traces := ""
	if cfg.Project != "" {
		traces = "projects/" + cfg.Project + "/traces/"
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: level, AddSource: true, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			return cloudAttr(a, traces)
		},
	}))
}

// cloudAttr renames slog's own fields and those of package handlers. traces
// comes before the id of a trace.
func cloudAttr(a slog.Attr, traces string) slog.Attr {
	switch a.Key {
	case slog.MessageKey:
		a.Key = cloudMessage
	case slog.SourceKey:
		a.Key = cloudSource
	case "trace":
		return slog.String(cloudTrace, traces+a.Value.String())
	case "span":
		a.Key = cloudSpan
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			return slog.String(cloudSeverity, severity(level))
		}
	}
	return a
}

// severity is Cloud Logging's word for a level: it says WARNING, not WARN.
func severity(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "ERROR"
	case level >= slog.LevelWarn:
		return "WARNING"
	case level >= slog.LevelInfo:
		return "INFO"
	default:
		return "DEBUG"
	}
}
