package turn

import (
	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// Machine follows the turns of one host: it holds what a later event, or a
// device that connects, needs to know of the earlier ones (host-link.md, "From
// events to frames"). One goroutine owns it.
//
// Everything in it can be lost: [Machine.Believe] and [Machine.Resume] rebuild
// what matters, and no durable frame depends on a live event.
type Machine struct {
	ended     func(messageID string) bool
	streaming bool               // agent.streaming of the host's last hello
	turns     []*running         // open turns, in the order they began
	typing    map[iris.Lane]bool // lanes that show the typing indicator
	closed    recent             // turns that ended here
	stopped   recent             // messages that get no more frames
	asked     recent             // prompts that devices got
	answered  recent             // prompts that are closed
	catching  bool               // between Resume and Lost: the host repeats its past
	epoch     string             // of the host's spool
	taken     int64              // last event of the epoch that was handled
	out       []Frame            // frames of the event at hand
}

// How many ids are remembered of what is over. Later stragglers are caught by
// the rows of the messages.
const (
	keepTurns    = 256
	keepMessages = 2048
	keepPrompts  = 256
)

// New returns a machine that knows of no turn. It asks ended, which may be
// nil, whether a message that it does not know has a row already: an earlier
// process may have stopped it. That happens only for late edits, for what a
// hello names and for cron messages.
func New(ended func(messageID string) bool) *Machine {
	if ended == nil {
		ended = func(string) bool { return false }
	}
	return &Machine{
		ended:    ended,
		typing:   make(map[iris.Lane]bool),
		closed:   recent{keep: keepTurns},
		stopped:  recent{keep: keepMessages},
		asked:    recent{keep: keepPrompts},
		answered: recent{keep: keepPrompts},
	}
}

// Asks returns the message whose row Handle will ask ended for when it is given
// the event next, "" for none: so that who owns the machine can look before.
func (m *Machine) Asks(ev link.Event) string {
	switch ev.Kind {
	case link.KindEdit:
		if b, err := link.Decode[link.Edit](ev.Body); err == nil && m.strange(ev.Turn, b) {
			return b.MessageID
		}
	case link.KindCron:
		if b, err := link.Decode[link.Cron](ev.Body); err == nil && !m.stopped.has(b.MessageID) {
			return b.MessageID
		}
	}
	return ""
}

// Handle returns the frames that an event leads to, in order; the durable ones
// belong into one entry, which contains the host's events up to this one: a
// live event may end a message too (model.start), and then those before it must
// not come again. A kind it does not know leads to none, and neither
// does an event that it had before. An event that can never be taken returns an
// [iris.Error], and nothing changes.
func (m *Machine) Handle(ev link.Event) ([]Frame, error) {
	if ev.Seq > 0 && ev.Seq <= m.taken {
		return nil, nil
	}
	if err := m.dispatch(ev); err != nil {
		return nil, err
	}
	m.taken = max(m.taken, ev.Seq)
	m.settleTyping(ev.Lane())
	return m.take(), nil
}

func (m *Machine) dispatch(ev link.Event) error {
	switch ev.Kind {
	case link.KindTurnStart:
		return decode(ev, m.turnStart)
	case link.KindTurnEnd:
		return decode(ev, m.turnEnd)
	case link.KindModelStart:
		return decode(ev, m.modelStart)
	case link.KindModelEnd:
		return decode(ev, m.modelEnd)
	case link.KindModelError:
		return decode(ev, m.modelError)
	case link.KindAnswer:
		return decode(ev, m.answer)
	case link.KindSend:
		return decode(ev, m.send)
	case link.KindEdit:
		return decode(ev, m.edit)
	case link.KindToolStart:
		return decode(ev, m.toolStart)
	case link.KindToolProgress:
		return decode(ev, m.toolProgress)
	case link.KindToolEnd:
		return decode(ev, m.toolEnd)
	case link.KindMedia:
		return decode(ev, m.media)
	case link.KindPrompt:
		return decode(ev, m.prompt)
	case link.KindPromptClosed:
		return decode(ev, m.promptClosed)
	case link.KindDelete:
		return decode(ev, m.remove)
	case link.KindNotice:
		return decode(ev, m.notice)
	case link.KindCron:
		return decode(ev, m.cron)
	}
	return nil
}

// decode reads the body of an event and hands both to the event's method. A
// method that returns an error must not have changed anything.
func decode[Body any](ev link.Event, handle func(link.Event, Body) error) error {
	body, err := link.Decode[Body](ev.Body)
	if err != nil {
		return err
	}
	if ev.ChatID == "" {
		return missing(ev, "chat_id")
	}
	return handle(ev, body)
}

// missing says that an event lacks a field without which it means nothing.
func missing(ev link.Event, field string) error {
	return iris.Errorf(iris.CodeUnsupported, "event %s (seq %d) has no %s", ev.Kind, ev.Seq, field)
}

// take returns the frames made so far and begins anew.
func (m *Machine) take() []Frame {
	out := m.out
	m.out = nil
	return out
}

// recent is a set of ids that forgets the oldest beyond keep.
type recent struct {
	keep  int
	ids   map[string]struct{}
	order []string
}

func (r *recent) has(id string) bool {
	_, ok := r.ids[id]
	return ok
}

func (r *recent) add(id string) {
	if r.has(id) {
		return
	}
	if r.ids == nil {
		r.ids = make(map[string]struct{})
	}
	r.ids[id] = struct{}{}
	r.order = append(r.order, id)
	if len(r.order) > r.keep {
		delete(r.ids, r.order[0])
		r.order = r.order[1:]
	}
}
