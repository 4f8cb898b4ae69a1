package handlers

import (
	"fmt"
	"testing"
)

// The counters of limits are bounded: those that were idle longest are
// forgotten, those in use are not.
func TestCountersAreBounded(t *testing.T) {
	t.Parallel()
	l := newLimits(true)
	busy := l.device("g", "busy")
	for i := range 3 * maxCounted {
		l.device("g", fmt.Sprint(i))
		if l.device("g", "busy") != busy {
			t.Fatal("a device in use was forgotten")
		}
	}
	if n := l.devices.order.Len(); n != maxCounted || len(l.devices.byKey) != n {
		t.Errorf("%d counters, %d keys, want %d", n, len(l.devices.byKey), maxCounted)
	}
	if l.device("g", "d") == l.device("gd", "") {
		t.Error("two devices share their counters")
	}
}

func TestThreadName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hi": "hi", "  a\tb\n\nc ": "a b c",
		"please look into the failing test of the gateway":                "please look into the failing test of the gateway",
		"please look into the failing tests of the gateway":               "please look into the failing tests of the…",
		"Donaudampfschifffahrtsgesellschaftskapitänswitwenrente und mehr": "Donaudampfschifffahrtsgesellschaftskapitänswitwe…",
		"\x00\x07": unnamed, "🙂": "🙂",
	} {
		if got := threadName(text); got != want || len([]rune(got)) > autoThreadName+1 {
			t.Errorf("threadName(%q) = %q, want %q", text, got, want)
		}
	}
}
