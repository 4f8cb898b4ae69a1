package simtest

import (
	"flag"
	"fmt"
	"slices"
	"testing"
)

// lossy and slow weather.
var (
	lossy = rates{LostAfter: 150, LostBefore: 50, Late: 100, Echo: 150, Slow: 50, Read: 50, Listen: 100}
	slow  = rates{Slow: 150, Late: 50, Listen: 150}
)

// found are histories that failed once, cut down, each with what was broken.
var found = []struct {
	what string
	plan plan
}{
	{"two connections of a device in one entry: both stayed open", plan{
		Instances: 1, Devices: 2, Ring: 16, Page: 3, Rates: slow, Steps: []step{
			{3000, "send", 2, 2, 0}, {0, "send", 1, 0, 0}, {0, "send", 0, 1, 0}, {0, "twice", 1, 1, 0}, {3000, "send", 0, 1, 1}},
	}},
	{"the log moved on while a host attached: two read receipts", plan{
		Seed: 2, Instances: 2, Devices: 1, Ring: 16, Page: 3, Rates: lossy, Steps: []step{
			{1000, "host", 0, 1, 3}, {0, "send", 0, 2, 2}, {20, "host", 1, 1, 2}, {3000, "host", 0, 0, 5}, {1000, "drain", 1, 2, 2}},
	}},
	{"a connection that was replaced saved its cursor: the row went back", plan{
		Seed: 53634410151, Instances: 1, Devices: 2, Ring: 64, Page: 10, Rates: rates{LostAfter: 50, Read: 150, Listen: 100}, Steps: []step{
			{3000, "stall", 2, 2, 4}, {20, "send", 2, 0, 0}, {0, "cut", 1, 0, 0}, {3000, "mute", 0, 2, 2}, {20, "step", 0, 0, 0}},
	}},
	{"a stale live document: a message that had ended began again, a tool ended twice", plan{
		Seed: 11, Instances: 2, Devices: 3, Ring: 64, Page: 3, Rates: profiles[1], Steps: []step{
			{3000, "send", 1, 1, 2}, {0, "step", 1, 0, 2}, {20, "steps", 0, 1, 1}, {0, "step", 1, 2, 1}, {3000, "step", 1, 0, 5},
			{1000, "stall", 1, 0, 5}, {300, "steps", 2, 2, 0}, {0, "hostcut", 1, 0, 0}, {100, "notice", 0, 1, 5}},
	}},
	{"an event that yields nothing was acked, the host restarted: its turn stayed open", plan{
		Instances: 1, Devices: 1, Ring: 16, Page: 3, Steps: []step{
			{0, "step", 0, 0, 0}, {0, "quiet", 2, 1, 0}, {3000, "host", 1, 0, 4}, {5, "mute", 2, 2, 1}, {0, "restart", 1, 0, 3}},
	}},
	{"the last edit of an answer was acked, the gateway crashed: the answer was lost", plan{
		Seed: 1, Instances: 1, Devices: 1, Ring: 16, Page: 3, Steps: []step{
			{0, "send", 1, 1, 4}, {0, "steps", 1, 2, 2}, {300, "step", 1, 1, 3}, {0, "step", 1, 1, 5}, {0, "step", 0, 1, 0},
			{5, "step", 0, 2, 5}, {100, "step", 2, 0, 5}, {1000, "step", 1, 0, 1}, {300, "step", 1, 2, 1}, {0, "crash", 2, 0, 0}},
	}},
	{"a connection that had been given up attached late: the living one was thrown out", plan{
		Instances: 1, Devices: 2, Ring: 64, Page: 3, Rates: lossy, Steps: []step{
			{1, "hostmute", 1, 1, 1}, {300, "send", 2, 2, 1}, {100, "send", 0, 1, 4}, {1000, "send", 1, 2, 2}, {1000, "step", 0, 0, 3},
			{1, "step", 2, 1, 1}, {3000, "device", 2, 1, 1}, {1, "poison", 0, 1, 1}, {1, "drain", 1, 2, 4}},
	}},
	{"a late connection of a lost spool put its epoch back: events came in twice", plan{
		Seed: 326, Instances: 2, Devices: 3, Ring: 24, Page: 200, Rates: lossy, Steps: []step{
			{3000, "send", 0, 1, 0}, {3000, "send", 0, 1, 0}, {300, "wipe", 1, 0, 3}, {5, "step", 1, 0, 3}, {5, "poison", 1, 0, 0}},
	}},
	{"events of a lost spool are in flight when the host begins anew (by hand)", plan{
		Seed: 5, Instances: 1, Devices: 1, Ring: 64, Page: 10, Rates: rates{Slow: 200}, Steps: slices.Repeat([]step{
			{2600, "notices", 0, 0, 0}, {0, "notices", 0, 0, 0}, {0, "notices", 0, 0, 0}, {0, "wipe", 0, 0, 0}, {0, "host", 0, 0, 0}}, 12),
	}},
	{"the host is away for longer than the ring is, and its queue fills up (by hand)", plan{
		Seed: 6, Instances: 2, Devices: 2, Ring: 16, Page: 10, Steps: []step{
			{3000, "send", 0, 0, 0}, {1000, "away", 0, 0, 5}, {0, "flood", 0, 0, 0}, {1000, "device", 0, 1, 0}, {1000, "device", 0, 0, 0},
			{300, "flood", 1, 0, 0}, {1000, "device", 0, 1, 0}, {300, "flood", 0, 0, 0}, {1000, "flood", 1, 1, 0}, {1000, "flood", 1, 1, 0},
			{3000, "notices", 0, 0, 0}},
	}},
	{"the host is away for so long that its queue is full (by hand)", plan{
		Seed: 7, Instances: 1, Devices: 1, Ring: 16, Page: 200, Steps: slices.Concat([]step{
			{3000, "send", 0, 0, 0}, {1000, "away", 0, 0, 5}}, slices.Repeat([]step{{100, "send", 0, 0, 0}}, 80)),
	}},
	{"a half-open connection ends long after another one took over (by hand)", plan{
		Seed: 8, Instances: 1, Devices: 1, Ring: 64, Page: 200, Steps: []step{
			{3000, "device", 0, 0, 0}, {2000, "send", 0, 0, 0}, {1200, "send", 0, 0, 0}, {1300, "mute", 0, 0, 0}, {0, "notice", 0, 0, 0},
			{50, "device", 0, 0, 0}, {8000, "quiet", 0, 0, 0}},
	}},
	{"a replay was ahead of the tail: what had ended was told as running", plan{
		Seed: 761189524, Instances: 2, Devices: 3, Ring: 24, Page: 10, Rates: profiles[1], Steps: []step{
			{20, "crash", 2, 0, 5}, {1000, "step", 1, 0, 2}, {100, "twice", 0, 1, 2}, {3000, "host", 1, 1, 3}, {20, "mute", 0, 2, 2},
			{20, "notices", 0, 2, 2}, {3000, "step", 2, 0, 1}, {3000, "send", 1, 0, 5}},
	}},
	{"a live frame came after the end of its message, which was in front of it in one entry", plan{
		Seed: 6, Instances: 3, Devices: 2, Ring: 64, Page: 200, Rates: lossy, Steps: []step{
			{0, "device", 0, 0, 3}, {0, "quiet", 1, 1, 5}, {5, "steps", 1, 0, 0}, {20, "cut", 0, 2, 2}, {0, "send", 0, 1, 0},
			{20, "send", 0, 0, 0}, {0, "step", 0, 0, 2}, {3000, "device", 1, 0, 0}, {0, "burst", 1, 1, 0}, {1, "send", 1, 1, 0},
			{5, "send", 1, 2, 2}, {0, "step", 1, 0, 0}, {3000, "send", 2, 1, 0}, {20, "steps", 1, 1, 4}, {1000, "send", 0, 2, 5},
			{300, "notices", 0, 2, 0}, {0, "restart", 2, 0, 0}, {300, "twice", 1, 0, 2}, {100, "cut", 0, 2, 3}, {3000, "step", 0, 1, 0},
			{0, "send", 1, 2, 3}, {1, "send", 2, 0, 4}, {1000, "send", 1, 2, 0}, {5, "cut", 0, 2, 3}},
	}},
	{"an instance sleeps until the ring has dropped all that it knows (by hand)", plan{
		Seed: 9, Instances: 2, Devices: 2, Ring: 16, Page: 10, Steps: slices.Concat([]step{
			{0, "device", 0, 0, 0}, {0, "host", 0, 1, 0}, {1000, "device", 1, 1, 0}, {300, "freeze", 0, 0, 5}, {0, "send", 0, 0, 0}},
			slices.Repeat([]step{{300, "send", 1, 0, 0}}, 40)),
	}},
	{"a live document outlived its instance while the host was away: a message that had ended began again", plan{
		Seed: 33256, Instances: 2, Devices: 2, Ring: 16, Page: 3, Rates: profiles[1], Steps: []step{
			{0, "notice", 2, 1, 5}, {5, "cut", 0, 1, 3}, {0, "step", 0, 2, 5}, {1000, "send", 0, 1, 0},
			{0, "poison", 0, 2, 5}, {0, "poison", 1, 0, 0}, {100, "crash", 2, 2, 0}, {3000, "device", 0, 2, 5},
			{3000, "flood", 1, 2, 1}, {3000, "send", 1, 2, 0}, {0, "send", 1, 2, 1}, {3000, "send", 1, 2, 1},
			{100, "device", 1, 0, 3}, {1000, "send", 1, 1, 3}, {1000, "send", 0, 1, 2}, {1, "steps", 2, 1, 1},
			{3000, "notice", 1, 0, 1}, {1000, "step", 1, 0, 5}, {100, "step", 0, 1, 4}, {1, "hostmute", 1, 0, 2},
			{5, "send", 1, 2, 1}, {0, "notices", 1, 0, 5}, {0, "away", 1, 2, 1}, {100, "notice", 0, 1, 5},
			{1, "freeze", 2, 0, 1}, {3000, "send", 0, 2, 4}, {3000, "device", 1, 1, 5}, {3000, "send", 0, 1, 1},
			{0, "freeze", 2, 2, 5}, {1, "send", 2, 1, 5}, {3000, "restart", 1, 0, 3}},
	}},
	{"the rows were read anew while a host attached: nothing that it said was taken", plan{
		Seed: 1, Instances: 2, Devices: 2, Ring: 16, Page: 10, Steps: []step{
			{1000, "send", 0, 0, 0}, {0, "device", 0, 0, 0}, {1000, "freeze", 0, 0, 1}, {1000, "send", 0, 0, 0}, {0, "twice", 1, 0, 1},
			{0, "device", 1, 1, 2}, {0, "cut", 0, 0, 0}, {0, "hostcut", 0, 0, 0}, {0, "send", 0, 0, 0}, {0, "send", 0, 0, 0},
			{0, "send", 1, 0, 0}, {0, "poison", 0, 0, 0}, {0, "steps", 2, 0, 3}, {1, "send", 1, 2, 2}, {1000, "poison", 0, 2, 0},
			{100, "send", 1, 0, 1}, {100, "device", 2, 0, 3}, {300, "hostmute", 2, 1, 2}},
	}},
	{"hello named a turn whose end was in the log: busy for ever", plan{
		Seed: 2, Instances: 1, Devices: 3, Ring: 64, Page: 3, Rates: profiles[1], Steps: []step{
			{3000, "step", 1, 0, 3}, {3000, "steps", 0, 0, 5}, {11, "hostmute", 2, 1, 5}, {0, "steps", 0, 2, 4}, {100, "step", 2, 1, 2},
			{300, "hostmute", 1, 0, 5}, {0, "send", 0, 1, 1}, {1, "burst", 1, 0, 4}, {100, "twice", 0, 0, 2}},
	}},
}

var again = flag.Int("sim.again", 5, "how often to play what failed once")

// TestFound plays them again, a few times each, since the scheduler takes part.
func TestFound(t *testing.T) {
	for i, f := range found {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			for range *again {
				if err := run(t, f.plan); err != nil {
					t.Fatalf("%s: %v\nplan: %v", f.what, err, f.plan)
				}
			}
		})
	}
}
