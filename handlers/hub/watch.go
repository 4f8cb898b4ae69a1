package hub

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/turn"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// watch is how the devices of this instance see text that streams to another
// one: through the live documents, and only while there is something to see.
type watch struct {
	stop  context.CancelFunc // nil while nothing is watched
	lives []iris.Live
	told  map[string]string // frame by key, as the devices were told last
}

// watchLives begins or ends watching.
func (a *Actor) watchLives() {
	want := a.host == nil && len(a.devices) > 0 && a.HostOnline() && a.state.anyBusy()
	switch w := &a.watch; {
	case want && w.stop == nil:
		ctx, stop := context.WithCancel(a.ctx)
		w.stop, w.told = stop, map[string]string{}
		young := a.loaded.Add(freshFor)
		a.Go(func(context.Context) { a.g.followLives(ctx, young) })
	case !want && w.stop != nil:
		w.stop()
		*w = watch{}
	}
}

// followLives passes the live documents on. Those that were written before the
// tail was no longer young may show messages that ended before it began, however
// long that is ago: nobody writes them while the host is away. Such messages
// have rows.
func (g *Gateway) followLives(ctx context.Context, young time.Time) {
	checked := map[string]bool{}
	for try := 0; ctx.Err() == nil; try++ {
		err := g.hub.cfg.Store.FollowLive(ctx, g.ID, func(lives []iris.Live) {
			old := slices.DeleteFunc(slices.Clone(lives), func(l iris.Live) bool { return l.At.After(young) })
			ended, err := g.endedBefore(ctx, old, checked)
			if err != nil {
				g.log.Warn("look for messages of live documents", "err", err)
				return
			}
			g.later(func(a *Actor) {
				if ctx.Err() == nil {
					a.over.messages.add(ended)
					a.sawLives(lives)
				}
			})
		})
		if err != nil && ctx.Err() == nil {
			g.log.Warn("follow live documents", "err", err)
			pause(ctx, backoff(try))
		}
	}
}

// endedBefore returns the messages of live documents that have a row. Each is
// looked for once: if it ends later, the tail brings that.
func (g *Gateway) endedBefore(ctx context.Context, lives []iris.Live, checked map[string]bool) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	var ended []string
	for _, l := range lives {
		t, _ := TurnOf(l)
		for _, m := range t.Messages {
			if checked[m.MessageID] {
				continue
			}
			_, err := g.hub.cfg.Store.Message(ctx, g.ID, m.MessageID)
			switch {
			case err == nil:
				ended = append(ended, m.MessageID)
			case iris.ErrorCode(err) != iris.CodeNotFound:
				return nil, err
			}
			checked[m.MessageID] = true
		}
	}
	return ended, nil
}

// sawLives tells the devices what has changed, and forgets what has ended.
func (a *Actor) sawLives(lives []iris.Live) {
	w := &a.watch
	before := w.told
	w.lives, w.told = lives, map[string]string{}
	for _, f := range a.liveFrames() {
		key, frame := liveKey(f.Lane, f.Payload), wire.Encode(f.Lane, f.Payload)
		w.told[key] = frame
		if before[key] != frame {
			a.Live(f.Lane, f.Payload)
		}
	}
}

// liveFrames returns what the watched documents show. One whose turn is not
// its lane's busy turn is a ghost.
func (a *Actor) liveFrames() []turn.Frame {
	var frames []turn.Frame
	for _, l := range a.watch.lives {
		c, ok := a.state.Channel(l.Lane)
		if !ok || c.Busy == "" || c.Busy != unknownTurn && c.Busy != l.Turn {
			continue
		}
		if t, ok := TurnOf(l); ok {
			m := turn.New(nil)
			m.Believe(a.over.without(t))
			frames = append(frames, m.Snapshot()...)
		}
	}
	return frames
}

// TurnOf reads the turn that a live document keeps.
func TurnOf(l iris.Live) (link.Turn, bool) {
	var t link.Turn
	if json.Unmarshal([]byte(l.Data), &t) != nil || t.Turn != l.Turn {
		return link.Turn{}, false
	}
	return t, true
}

// Snapshot returns the frames that a device needs which connects in the middle
// of a turn.
func (a *Actor) Snapshot() []string {
	var frames []turn.Frame
	switch {
	case a.host != nil:
		frames = a.host.Snapshot()
	default:
		frames = a.liveFrames()
	}
	encoded := make([]string, 0, len(frames))
	for _, f := range frames {
		encoded = append(encoded, wire.Encode(f.Lane, f.Payload))
	}
	return encoded
}
