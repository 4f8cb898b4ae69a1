package device

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// write sends what waits, until the session ends: requests first, then, once
// the sync is done, the messages that have no echo.
func (c *Client) write(ctx context.Context, conn *websocket.Conn) {
	for {
		frame, pause := c.next()
		if frame == nil {
			var later <-chan time.Time
			if pause > 0 {
				later = time.After(pause)
			}
			select {
			case <-ctx.Done():
				return
			case <-c.wake:
			case <-later:
			}
			continue
		}
		wctx, cancel := context.WithTimeout(ctx, writeTimeout)
		err := conn.Write(wctx, websocket.MessageText, frame)
		cancel()
		if err != nil {
			_ = conn.CloseNow() // the reader notices
			return
		}
	}
}

// next returns the next frame to write, or how long to wait for one (0: until
// somebody wakes the writer).
func (c *Client) next() (frame []byte, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) > 0 {
		frame, c.requests = c.requests[0], c.requests[1:]
		return frame, 0
	}
	if !c.ready {
		return nil, 0
	}
	for _, m := range c.pending {
		if m.session == c.session {
			continue // written, its echo is on the way
		}
		if wait := time.Until(m.notUntil); wait > 0 {
			return nil, wait // those behind it wait too: the order stays
		}
		id := c.newID()
		frame, err := encode(id, wire.TypeMessageSend, m.lane, sendPayload{Text: m.text, ClientID: m.clientID, MediaRefs: m.media})
		if err != nil { // strings always marshal
			panic(err)
		}
		m.session, m.id = c.session, id
		return frame, 0
	}
	return nil, 0
}

// sendPayload is wire.MessageSend as this client fills it in.
type sendPayload struct {
	Text      string   `json:"text"`
	ClientID  string   `json:"client_id"`
	MediaRefs []string `json:"media_refs,omitempty"`
}

// read tells the owner what comes, until the connection ends.
func (c *Client) read(ctx context.Context, conn *websocket.Conn) error {
	var said string
	for {
		f, err := readFrame(ctx, conn)
		if err != nil {
			return closeError(err, said)
		}
		if f.Type == (wire.Error{}).FrameType() && f.ID == "" {
			if e, err := Payload[wire.Error](f); err == nil {
				said = e.Message
			}
		}
		if c.hand(ctx, f) {
			continue
		}
		if err := c.take(f); err != nil {
			return err
		}
	}
}

// take handles one frame.
func (c *Client) take(f Frame) error {
	if m := c.answered(f); m != nil {
		return c.echo(m, f)
	}
	if f.Type == (wire.SyncDone{}).FrameType() {
		return c.syncDone(f)
	}
	if f.ID != "" && f.ID == c.syncing { // an error: without sync there is no order, so begin anew
		e, _ := Payload[wire.Error](f)
		return fmt.Errorf("the gateway refuses to sync: %s", e.Message)
	}
	if f.Cursor > 0 {
		if c.cfg.SkipFirstReplay && !c.synced || c.seen.replayed(f) {
			return nil
		}
		if own := c.replayedEcho(f); own != nil {
			return c.echo(own, f)
		}
	} else if f.ID == "" {
		c.seen.add(f)
		if c.seen.full() && c.syncing == "" {
			if err := c.requestSync(); err != nil {
				return err
			}
		}
	}
	c.cfg.Handle(f)
	return nil
}

// answered returns the message whose request the frame answers.
func (c *Client) answered(f Frame) *message {
	if f.ID == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.pending {
		if m.session == c.session && m.id == f.ID {
			return m
		}
	}
	return nil
}

// replayedEcho returns the pending message that a replayed frame is: it had
// arrived, only its echo was lost. The gateway derives its id from ours.
func (c *Client) replayedEcho(f Frame) *message {
	if f.Type != (wire.Message{}).FrameType() {
		return nil
	}
	p, err := Payload[wire.Message](f)
	if err != nil || p.Role != iris.RoleUser {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.pending {
		if iris.ClientMessageID(c.cfg.DeviceID, m.clientID) == p.MessageID {
			return m
		}
	}
	return nil
}

// echo takes the answer to a message: the message itself, or an error.
func (c *Client) echo(m *message, f Frame) error {
	if f.Type == (wire.Error{}).FrameType() {
		return c.refused(m, f)
	}
	c.drop(m)
	if f.Type == (wire.MessageDeleted{}).FrameType() { // it came before, and was deleted since
		c.cfg.Handle(Refused{ClientID: m.clientID, Code: iris.CodeNotFound, Message: "the message was deleted meanwhile"})
		return nil
	}
	if f.Cursor == 0 {
		c.seen.add(f)
	}
	p, err := Payload[wire.Message](f)
	if err != nil {
		return err
	}
	c.cfg.Handle(Sent{ClientID: m.clientID, Lane: f.Lane, Message: p, Raw: f.Raw})
	return nil
}

// refused keeps a message that came too fast, and gives up any other.
func (c *Client) refused(m *message, f Frame) error {
	e, err := Payload[wire.Error](f)
	if err != nil {
		return err
	}
	if e.Code == iris.CodeRateLimited {
		c.mu.Lock()
		m.session = 0
		m.notUntil = time.Now().Add(max(time.Second, time.Duration(e.RetryAfter*float64(time.Second))))
		c.mu.Unlock()
		c.kick()
		return nil
	}
	c.drop(m)
	c.cfg.Handle(Refused{ClientID: m.clientID, Code: e.Code, Message: e.Message})
	return nil
}

func (c *Client) drop(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = slices.DeleteFunc(c.pending, func(p *message) bool { return p == m })
}

// syncDone moves the cursor: all that was seen before lies below it.
func (c *Client) syncDone(f Frame) error {
	done, err := Payload[wire.SyncDone](f)
	if err != nil {
		return err
	}
	first := !c.synced
	c.cursor, c.synced, c.syncing = done.Cursor, true, ""
	c.seen.reset()
	c.cfg.Handle(Synced{First: first, Complete: done.Complete})
	c.mu.Lock()
	c.ready = true
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
	c.kick()
	return nil
}

// seen counts the frames that the owner was told since the last sync.done. A
// live frame has no cursor, so after a reconnect the gateway replays it, and a
// replay may be cut and begin anew: the client knows a frame again by its text.
type seen struct {
	told   map[uint64]int // since the last sync.done
	replay map[uint64]int // in the replay that runs, or ran last
	seed   maphash.Seed
}

// seenLimit is when the client syncs in between, so that seen stays small and
// what it covers stays within the gateway's log.
const seenLimit = 500

func newSeen() seen {
	return seen{told: map[uint64]int{}, replay: map[uint64]int{}, seed: maphash.MakeSeed()}
}

func (s seen) key(f Frame) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	for _, part := range []string{f.Type, f.Lane.ChatID, f.Lane.ThreadID, string(f.Payload)} {
		h.WriteString(part)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// add notes a frame that came live, if it can come again.
func (s seen) add(f Frame) {
	switch f.Type {
	case "message.start", "message.update", "tool.progress", "typing", "typing.stop", "status", "error", "pong":
		return // never replayed
	}
	s.told[s.key(f)]++
}

// replayed notes a frame of a replay, and reports whether it was told before:
// the third time that a replay brings a frame is news if it was told twice.
func (s seen) replayed(f Frame) bool {
	k := s.key(f)
	s.replay[k]++
	if s.replay[k] <= s.told[k] {
		return true
	}
	s.told[k]++
	return false
}

// connected begins a connection: its replay begins where the last one did.
func (s seen) connected() { clear(s.replay) }

// reset forgets everything: what was told lies behind the cursor.
func (s seen) reset() {
	clear(s.told)
	clear(s.replay)
}

func (s seen) full() bool { return len(s.told) >= seenLimit }
