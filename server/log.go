package server

import (
	"io"
	"log/slog"
)

// NewLogger returns a logger in the form of [Config.Log]. As JSON its fields
// have the names that Cloud Logging knows.
func NewLogger(w io.Writer, form string, level slog.Leveler) *slog.Logger {
	if form == LogText {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: cloudNames}))
}

// cloudNames renames slog's own fields.
func cloudNames(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.MessageKey:
		a.Key = "message"
	case slog.LevelKey:
		level, ok := a.Value.Any().(slog.Level)
		if !ok {
			return a
		}
		return slog.String("severity", severity(level))
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
