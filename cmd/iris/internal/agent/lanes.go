package agent

import (
	"context"
	"sync"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// lanes hands out messages: in each lane one after the other, lanes side by
// side. Slash commands do not queue, as with hermes.
type lanes struct {
	agent *Agent
	wg    sync.WaitGroup // every goroutine that answers

	mu    sync.Mutex
	state map[iris.Lane]*laneState
}

// laneState is what the agent knows of a lane.
type laneState struct {
	queue   []link.Message
	working bool               // a goroutine answers the queue
	stop    context.CancelFunc // ends the turn that runs, nil when none does
	turns   int                // answered since /new
	steered []string           // what a person has told the turn that runs
}

func newLanes(a *Agent) *lanes {
	return &lanes{agent: a, state: map[iris.Lane]*laneState{}}
}

// wait waits until nobody answers any more.
func (l *lanes) wait() { l.wg.Wait() }

// put gives a message to its lane. ctx bounds the answer.
func (l *lanes) put(ctx context.Context, lane iris.Lane, m link.Message) {
	if isCommand(m.Text) {
		l.wg.Go(func() { l.agent.command(lane, m) })
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.lane(lane)
	st.queue = append(st.queue, m)
	if !st.working {
		st.working = true
		l.wg.Go(func() { l.work(ctx, lane, st) })
	}
}

// lane returns the state of a lane. The caller holds mu.
func (l *lanes) lane(lane iris.Lane) *laneState {
	st := l.state[lane]
	if st == nil {
		st = &laneState{}
		l.state[lane] = st
	}
	return st
}

// work answers the queue of a lane until it is empty or ctx ends.
func (l *lanes) work(ctx context.Context, lane iris.Lane, st *laneState) {
	for {
		l.mu.Lock()
		if len(st.queue) == 0 || ctx.Err() != nil {
			st.working = false
			l.mu.Unlock()
			return
		}
		m := st.queue[0]
		st.queue = st.queue[1:]
		turnCtx, stop := context.WithCancel(ctx)
		st.stop = stop
		st.turns++
		turns := st.turns
		l.mu.Unlock()

		l.agent.answer(turnCtx, lane, m, turns)

		l.mu.Lock()
		st.stop, st.steered = nil, nil
		l.mu.Unlock()
		stop()
	}
}

// halt stops the turn that runs in a lane and reports whether one did.
func (l *lanes) halt(lane iris.Lane) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.lane(lane)
	if st.stop == nil {
		return false
	}
	st.stop()
	return true
}

// drop stops what runs in lanes that are gone, and answers nothing more there.
func (l *lanes) drop(gone func(iris.Lane) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for lane, st := range l.state {
		if !gone(lane) {
			continue
		}
		st.queue = nil
		if st.stop != nil {
			st.stop()
		}
		delete(l.state, lane)
	}
}

// steer tells the turn that runs in a lane something, and reports whether one
// does.
func (l *lanes) steer(lane iris.Lane, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.lane(lane)
	if st.stop == nil {
		return false
	}
	st.steered = append(st.steered, text)
	return true
}

// told returns what the turn that runs in a lane was told, once.
func (l *lanes) told(lane iris.Lane) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.lane(lane)
	told := st.steered
	st.steered = nil
	return told
}

// forget begins a lane anew and returns how many turns it had.
func (l *lanes) forget(lane iris.Lane) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.lane(lane)
	n := st.turns
	st.turns = 0
	return n
}

// turns returns how many turns a lane had since it began.
func (l *lanes) turns(lane iris.Lane) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lane(lane).turns
}
