package erase

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// foreignWait is how long an instance waits for the end of a deletion that
// another one has begun.
const foreignWait = 20 * time.Second

// Media removes media and their bytes; one that is not there is removed already.
type Media interface {
	DeleteMedia(ctx context.Context, gateway, id string) error
}

// Store is what is read and rewritten outside of the log's commits.
type Store interface {
	Scrub(ctx context.Context, gateway string, t iris.Touching, edit func(iris.Entry) (iris.Entry, bool)) error
	// History returns a page of a lane's messages. An empty one is the last.
	History(ctx context.Context, gateway string, lane iris.Lane, before *iris.Message, limit int) ([]iris.Message, bool, error)
	MediaMessages(ctx context.Context, gateway, media string, limit int) ([]string, error)
	Channels(ctx context.Context, gateway string) ([]iris.Channel, error)
	Pickers(ctx context.Context, gateway string) ([]iris.Picker, error)
	Deletions(ctx context.Context, gateway string) ([]iris.Deletion, error)
	Lives(ctx context.Context, gateway string) ([]iris.Live, error)
	DropLive(ctx context.Context, gateway, turn string) error
	EditLive(ctx context.Context, gateway, turn string, edit func(iris.Live) (iris.Live, bool)) error
}

// Eraser carries deletions out, of all gateways that are open here.
type Eraser struct {
	store Store
	media Media // nil: there are none
	log   *slog.Logger
	ctx   context.Context // of the work

	mu   sync.Mutex
	jobs map[key]*job
}

// key names a job. While a gateway closes it may be opened anew: each of the two
// has jobs of its own, and does not know who waits for those of the other.
type key struct {
	gateway  *hub.Gateway
	deletion string
}

// Waiter is a device that has asked for a deletion and gets its answer when that
// has ended.
type Waiter struct {
	Device *hub.Device
	ID     wire.RequestID // nil: it wants no answer
	Answer string         // encoded frame
	left   int            // deletions that must end before
}

// New returns an Eraser whose work ends with ctx: what it has not done then is for
// the next one who opens the gateway. media is nil if there are none.
func New(ctx context.Context, store Store, media Media, log *slog.Logger) *Eraser {
	return &Eraser{store: store, media: media, log: log, ctx: ctx, jobs: map[key]*job{}}
}

// Wait answers w when the deletions have ended, at once if none is under way. It
// is called on the actor.
func (e *Eraser) Wait(a *hub.Actor, w *Waiter, deletions ...string) {
	e.mu.Lock()
	for _, id := range deletions {
		if d, ok := a.State().Deletion(id); ok {
			w.left++
			j := e.job(a, d)
			j.waiters = append(j.waiters, w)
		}
	}
	left := w.left
	if left > 0 {
		// Nobody is to wait for another instance. What the entry at hand has ended is
		// left alone: who waits for that has perhaps been answered with the entry.
		e.begin(a, true)
	}
	e.mu.Unlock()
	if left == 0 {
		w.answer()
	}
}

// answer sends the answer, with the id of the request.
func (w *Waiter) answer() {
	if w.Device != nil && w.ID != nil {
		w.Device.Socket.Send(wire.WithID(w.Answer, w.ID))
	}
}

// Pending begins what is to be done, and ends what has been done, perhaps by
// another instance. With now nobody is waited for. It is called on the actor.
func (e *Eraser) Pending(a *hub.Actor, now bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g := a.Gateway()
	for k, j := range e.jobs {
		if _, ok := a.State().Deletion(k.deletion); k.gateway == g && !ok {
			e.over(k, j)
		}
	}
	e.begin(a, now)
}

// begin begins what is to be done. Call with e.mu held.
func (e *Eraser) begin(a *hub.Actor, now bool) {
	g := a.Gateway()
	for _, d := range a.State().Deletions() {
		switch j := e.job(a, d); {
		case j.running:
		case now:
			e.start(a, j)
		case j.timer == nil:
			j.timer = time.AfterFunc(foreignWait+rand.N(foreignWait/4), func() { e.takeOver(g, d.ID) })
		}
	}
}

// takeOver begins a deletion that nobody has carried out in time.
func (e *Eraser) takeOver(g *hub.Gateway, id string) {
	err := g.Do(func(a *hub.Actor) {
		if d, ok := a.State().Deletion(id); ok {
			e.mu.Lock()
			defer e.mu.Unlock()
			if j := e.job(a, d); !j.running {
				e.start(a, j)
			}
		}
	})
	if err != nil { // the gateway was closed: whoever opens it begins anew, and may have
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.jobs, key{g, id})
	}
}

// job returns the job of a deletion, made when there is none. Call with e.mu held.
func (e *Eraser) job(a *hub.Actor, d iris.Deletion) *job {
	k := key{a.Gateway(), d.ID}
	j := e.jobs[k]
	if j == nil {
		j = &job{Deletion: d, gateway: a.Gateway(), store: e.store, media: e.media}
		e.jobs[k] = j
	}
	return j
}

// start runs a job. The gateway stays open for it. Call with e.mu held.
func (e *Eraser) start(a *hub.Actor, j *job) {
	j.running = true
	if j.timer != nil {
		j.timer.Stop()
	}
	release, held := a.Gateway().Hold()
	a.Go(func(ctx context.Context) {
		if held {
			defer release()
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(e.ctx, cancel)()
		e.carryOut(ctx, j)
	})
}

// over answers those who wait for a deletion that has ended. Call with e.mu held.
func (e *Eraser) over(k key, j *job) {
	if j.timer != nil {
		j.timer.Stop()
	}
	delete(e.jobs, k)
	for _, w := range j.waiters {
		if w.left--; w.left == 0 {
			w.answer()
		}
	}
}

// maxTries is how often a job is begun anew before it is left to the next opener.
const maxTries = 10

// carryOut does a job, again after what went wrong: the store may be away, and
// another instance may be about the same.
func (e *Eraser) carryOut(ctx context.Context, j *job) {
	log := e.log.With("gateway", j.gateway.ID, "deletion", j.ID)
	began := time.Now()
	for try := range maxTries {
		err := j.run(ctx, func() hub.Proposal { return e.origin(j) })
		if err == nil {
			log.Info("deleted", "messages", len(j.Messages), "threads", len(j.Threads), "took", time.Since(began))
			break
		}
		if ctx.Err() != nil { // the next opener goes on
			break
		}
		log.Warn("deletion is tried again", "try", try, "err", err)
		pause(ctx, min(time.Second<<min(try, 6), time.Minute))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	j.running, j.timer = false, nil
	if ctx.Err() != nil { // the gateway is closed
		delete(e.jobs, key{j.gateway, j.ID})
	}
}

// origin lets one of those who wait have the answer in the place of the broadcast.
func (e *Eraser) origin(j *job) hub.Proposal {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range j.waiters {
		if w.left == 1 && w.Device != nil && w.ID != nil {
			id := w.ID
			return hub.Proposal{Origin: w.Device, ID: id, Instead: w.Answer, Done: func(_ *hub.Actor, r hub.Result) {
				if r.Err == nil {
					e.answered(w)
				}
			}}
		}
	}
	return hub.Proposal{}
}

// answered notes that a waiter has its answer.
func (e *Eraser) answered(w *Waiter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w.ID = nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
