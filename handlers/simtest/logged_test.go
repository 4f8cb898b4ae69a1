package simtest

import (
	"log/slog"
	"strings"
	"sync/atomic"

	"iris-gateway/testenv"
)

// secret begins every token of a history, and whatever somebody writes in it: no log
// may show it.
const secret = "confidential-"

// logged counts what was looked through, of all histories.
var logged struct{ logs, lines atomic.Int64 }

func looked() testenv.Count {
	return testenv.Count{Logs: int(logged.logs.Load()), Lines: int(logged.lines.Load())}
}

// instanceLog takes the lines of an instance's log, and looks at once whether they show
// a secret: files would be too many. Warnings come into the trace.
type instanceLog struct {
	w    *world
	name string
}

func newLog(w *world, name string) *slog.Logger {
	logged.logs.Add(1)
	return slog.New(slog.NewTextHandler(instanceLog{w, name}, &slog.HandlerOptions{
		Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey { // the trace has it
				return slog.Attr{}
			}
			return a
		},
	}))
}

// Write implements [io.Writer]: a line each time.
func (l instanceLog) Write(b []byte) (int, error) {
	logged.lines.Add(1)
	line := strings.TrimSpace(string(b))
	if strings.Contains(line, secret) {
		l.w.mu.Lock()
		defer l.w.mu.Unlock()
		l.w.failf("%s logs a token, or what somebody wrote: %s", l.name, line)
	} else if !strings.HasPrefix(line, "level=DEBUG") && !strings.HasPrefix(line, "level=INFO") {
		l.w.lockedNote("%s: log: %s", l.name, line)
	}
	return len(b), nil
}
