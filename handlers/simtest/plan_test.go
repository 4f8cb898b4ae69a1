package simtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// plan is everything that is decided about a history in advance.
type plan struct {
	Seed      uint64 // of the dice
	Instances int
	Devices   int
	Ring      int // entries that the log keeps
	Page      int // entries that one read brings at most
	Rates     rates
	Steps     []step

	// append commits to the shared store; tests of the tests replace it.
	append func(s *memstore.Store, g string, c iris.Commit) error
}

func (p plan) commit(s *memstore.Store, g string, c iris.Commit) error {
	if p.append != nil {
		return p.append(s, g, c)
	}
	return s.Append(context.Background(), g, c)
}

// calm reports whether nothing ever breaks but connections.
func (p plan) calm() bool {
	return p.Rates == rates{} && !slices.ContainsFunc(p.Steps, func(s step) bool {
		return slices.Contains([]string{"crash", "drain", "freeze", "stall", "restart", "wipe", "host", "hostcut", "hostmute", "away"}, s.Do)
	})
}

// step is one thing that happens.
type step struct {
	Wait  int    // ms before it
	Do    string // see [world.do]
	Who   int    // device
	Where int    // instance
	N     int    // mode, count or duration
}

// String returns the plan as -sim.plan reads it.
func (p plan) String() string {
	b, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(b), `{"Wait"`, "\n"+`{"Wait"`)
}

// profiles are the kinds of weather.
var profiles = []rates{
	{},
	{LostAfter: 100, LostBefore: 50, Late: 100, Echo: 100},
	{Slow: 150, Listen: 150, Late: 50},
	{Read: 150, LostAfter: 50, Listen: 100},
	{LostAfter: 150, LostBefore: 50, Late: 100, Echo: 150, Slow: 50, Read: 50, Listen: 100},
}

// kinds of step, the frequent ones several times.
var kinds = []string{
	"send", "send", "send", "send", "burst", "poison",
	"step", "step", "step", "step", "steps", "steps", "notice", "notice", "notices", "quiet",
	"device", "device", "device", "cut", "cut", "mute", "stall", "twice",
	"host", "hostcut", "hostmute", "restart", "wipe", "away", "flood",
	"crash", "crash", "drain", "freeze",
}

// draw makes up a plan.
func draw(t *rapid.T) plan {
	p := plan{
		Seed:      rapid.Uint64().Draw(t, "seed"),
		Instances: rapid.IntRange(1, 3).Draw(t, "instances"),
		Devices:   rapid.IntRange(1, 3).Draw(t, "devices"),
		Ring:      rapid.SampledFrom([]int{16, 24, 64}).Draw(t, "ring"),
		Page:      rapid.SampledFrom([]int{3, 10, 200}).Draw(t, "page"),
		Rates:     rapid.SampledFrom(profiles).Draw(t, "rates"),
	}
	one := rapid.Custom(func(t *rapid.T) step {
		return step{
			Wait:  rapid.SampledFrom([]int{0, 0, 1, 5, 20, 100, 300, 1000, 3000}).Draw(t, "wait"),
			Do:    rapid.SampledFrom(kinds).Draw(t, "do"),
			Who:   rapid.IntRange(0, 2).Draw(t, "who"),
			Where: rapid.IntRange(0, 2).Draw(t, "where"),
			N:     rapid.IntRange(0, syncModes-1).Draw(t, "n"),
		}
	})
	p.Steps = rapid.SliceOfN(one, 5, 40).Draw(t, "steps")
	return p
}

func readPlan(data []byte) (plan, error) {
	var p plan
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("plan: %w", err)
	}
	return p, nil
}
