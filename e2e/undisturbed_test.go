package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"iris-gateway/e2e/model"
)

// pace of the model in TestUndisturbed: a piece of text takes so long that a turn's
// time is mostly the model's.
const pace = 300 * time.Millisecond

// TestUndisturbed: whole turns run while the gateway is dead, or frozen so that its
// socket is open and nobody reads. They take as long as turns with a gateway, by the
// clock of hermes' own callbacks, and all they said arrives afterwards, once, in order.
func TestUndisturbed(t *testing.T) {
	s := start(t)
	for _, outage := range []struct {
		name       string
		begin, end func(l *lane)
	}{
		{"dead", func(l *lane) { s.gate.Kill(l) }, func(l *lane) { s.gate.Start(l); l.reconnect() }},
		{"frozen", func(*lane) { s.gate.Freeze() }, func(*lane) { s.gate.Thaw() }},
	} {
		t.Run(outage.name, func(t *testing.T) {
			t.Cleanup(s.gate.Thaw)
			l := newLane(t, s, "undisturbed")
			near, want := l.turns(func(*lane) {}, func(*lane) {})
			away, got := l.turns(outage.begin, outage.end)
			t.Logf("a turn takes %.1f s with the gateway, %.1f s without", near, away)
			// The quickest against three times the slowest: only what waits in every turn shows.
			if slices.Min(away) > 3*slices.Max(near) {
				t.Errorf("turns take %.1f s with a gateway that is %s, else %.1f s: hermes waited for it", away, outage.name, near)
			}
			if got != want {
				t.Errorf("the log of these turns is another than with a gateway: %s", diff(want, got))
			}
		})
	}
}

// turns runs three turns one after the other, all of them between begin and end. It
// returns the seconds that each took from hermes' first callback to its last, and what
// the log has of them.
func (l *lane) turns(begin, end func(*lane)) (took []float64, log string) {
	l.Helper()
	const n, scenario = 3, "commentary"
	l.begin()
	hold, mark := l.stack.model.Control("first-"+l.key), l.stack.hermes.LogMark()
	l.read(l.send("#one first-" + l.key))
	await(l.T, hold.Arrived(), "hermes asks the model")
	for i := range n {
		text := fmt.Sprintf("turn-%d %s", i, l.ask(scenario))
		l.stack.model.Pace(text, pace)
		l.read(l.send(text)) // it waits on the host
	}
	begin(l)
	hold.Rest()
	l.stack.hermes.AwaitTurns(l, mark, 1+n)
	end(l)
	for range 1 + n {
		l.idle()
	}
	frames := l.replayed()
	for _, f := range frames {
		if f.Type == "message.stop" && f.Body.FinalText == model.Text(scenario) {
			took = append(took, f.Body.Runtime.Latency)
		}
	}
	least := time.Duration(len(model.Pieces(scenario))) * pace
	if len(took) != n || slices.Min(took) < least.Seconds() {
		l.Fatalf("%d turns took %.1f s; want %d, each at least the model's %s; all frames:\n%s", len(took), took, n, least, lines(frames))
	}
	return took, l.names().show(frames)
}

// reconnect brings the phones back after a gateway died. What the watching one has not
// seen of the lane comes once: no turn had ended before.
func (l *lane) reconnect() {
	l.Helper()
	l.phone.Connect(l)
	l.watch.Dial(l)
	l.watch.Hello(l)
	l.watch.Request(l, "sync", "", map[string]any{"cursor": l.cursor})
}
