package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// tormentor does things to one instance, one after the other.
type tormentor struct {
	in    *instance
	rng   *rand.Rand
	calm  <-chan struct{}
	count *counts
}

// counts says how often something was done.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[what]++
}

func (c *counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(c.n)) {
		parts = append(parts, fmt.Sprint(c.n[what], " × ", what))
	}
	return strings.Join(parts, ", ")
}

// act is something that can be done to an instance; weight says how often.
type act struct {
	name   string
	weight int
	do     func(*tormentor)
}

var acts = []act{
	{"SIGKILL", 5, (*tormentor).kill},
	{"SIGKILL after a lost answer", 4, (*tormentor).killBlind},
	{"SIGTERM", 1, (*tormentor).terminate},
	{"SIGSTOP", 4, (*tormentor).freeze},
	{"clients cut", 4, func(x *tormentor) { x.in.front.cut(x.half) }},
	{"clients half-open", 3, (*tormentor).halfOpen},
	{"clients held", 2, func(x *tormentor) { x.hold(x.in.front, 2*time.Second) }},
	{"clients slow", 2, func(x *tormentor) { x.slow(x.in.front, 60*time.Millisecond) }},
	{"store cut", 3, func(x *tormentor) { x.in.rear.cut(x.half) }},
	{"store answers lost", 5, (*tormentor).loseAnswers},
	{"store held", 4, func(x *tormentor) { x.hold(x.in.rear, 4*time.Second) }},
	{"store slow", 2, func(x *tormentor) { x.slow(x.in.rear, 40*time.Millisecond) }},
	{"store half-open", 1, (*tormentor).storeDark},
}

// run torments until calm is closed, and then leaves the instance running and
// healed.
func (x *tormentor) run() {
	total := 0
	for _, a := range acts {
		total += a.weight
	}
	for wait(x.calm, between(x.rng, 50*time.Millisecond, 1200*time.Millisecond)) {
		pick := x.rng.IntN(total)
		for _, a := range acts {
			if pick -= a.weight; pick < 0 {
				x.count.add(a.name)
				a.do(x)
				break
			}
		}
		x.in.front.reap(between(x.rng, time.Second, 10*time.Second))
	}
	x.in.front.heal()
	x.in.rear.heal()
}

// half picks tunnels by the toss of a coin.
func (x *tormentor) half(*tunnel) bool { return x.rng.IntN(2) == 0 }

// last is for a time that is not to go on when it becomes calm.
func (x *tormentor) last(low, high time.Duration) { wait(x.calm, between(x.rng, low, high)) }

func (x *tormentor) kill() {
	x.in.kill()
	x.restart()
}

// killBlind lets commits land whose answers the instance never gets.
func (x *tormentor) killBlind() {
	x.in.rear.fail(down, swallow)
	x.last(20*time.Millisecond, 300*time.Millisecond)
	x.in.kill()
	x.in.rear.heal()
	x.restart()
}

func (x *tormentor) terminate() {
	x.in.terminate(false)
	x.restart()
}

func (x *tormentor) restart() {
	x.last(0, time.Second)
	if err := x.in.start(); err != nil {
		x.in.t.Error(err)
	}
}

func (x *tormentor) freeze() {
	x.in.p.Signal(syscall.SIGSTOP)
	x.last(100*time.Millisecond, 4*time.Second)
	x.in.p.Signal(syscall.SIGCONT)
}

// halfOpen lets all clients vanish; the instance learns of it later.
func (x *tormentor) halfOpen() {
	dirs := [][]direction{{up}, {down}, {up, down}}[x.rng.IntN(3)]
	for _, d := range dirs {
		x.in.front.fail(d, swallow)
	}
	x.last(100*time.Millisecond, 2*time.Second)
	x.in.front.fail(up, pass) // for new tunnels
	x.in.front.fail(down, pass)
}

func (x *tormentor) hold(p *proxy, most time.Duration) {
	dir := direction(x.rng.IntN(2))
	p.fail(dir, hold)
	x.last(50*time.Millisecond, most)
	p.fail(dir, pass)
}

func (x *tormentor) slow(p *proxy, most time.Duration) {
	p.slow(between(x.rng, time.Millisecond, most))
	x.last(200*time.Millisecond, 2*time.Second)
	p.slow(0)
}

// loseAnswers lets commits land, and then breaks the connection.
func (x *tormentor) loseAnswers() {
	x.in.rear.fail(down, swallow)
	x.last(20*time.Millisecond, 800*time.Millisecond)
	x.in.rear.heal()
}

// storeDark takes the store away without a word, past the deadline of commits.
func (x *tormentor) storeDark() {
	x.in.rear.fail(up, swallow)
	x.in.rear.fail(down, swallow)
	x.last(3*time.Second, 12*time.Second)
	x.in.rear.heal()
}
