package link

import (
	"encoding/json"

	"iris-gateway/iris"
)

// Protocol is the version of the host link spoken here.
const Protocol = 1

// MaxTextFrame is the largest JSON frame, in bytes, from the first frame on.
const MaxTextFrame = 1 << 20

// Types of the frames.
const (
	TypeHello    = "hello"
	TypeHelloAck = "hello.ack"
	TypeEvent    = "event"
	TypeAcked    = "acked"
	TypeInbound  = "inbound"
	TypeReceived = "received"
	TypeError    = "error"

	TypeGatewayDelete  = "gateway.delete"
	TypeGatewayDeleted = "gateway.deleted"
)

// Frames from the host.
type (
	// Hello is the first frame of a host (host-link.md, "Opening").
	Hello struct {
		Protocol int       `json:"protocol"`
		Epoch    string    `json:"epoch"`    // made with the host's spool
		Process  string    `json:"process"`  // changes with each start of hermes
		LastSeq  int64     `json:"last_seq"` // newest event of the epoch
		Received int64     `json:"received"` // the host has all inbound up to this cursor
		Agent    Agent     `json:"agent"`
		Plugin   string    `json:"plugin"`
		Commands []Command `json:"commands" max:"2000"`
		Turns    []Turn    `json:"turns" max:"1000"` // what runs now
	}

	// Agent describes the agent behind the plugin.
	Agent struct {
		Name      string `json:"name"`
		Version   string `json:"version"`
		Model     string `json:"model"`
		Streaming bool   `json:"streaming"`
	}

	// Command is a slash command of the catalogue.
	Command struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		ArgsHint    string   `json:"args_hint"`
		Category    string   `json:"category"`
		Aliases     []string `json:"aliases" max:"100"`
	}

	// Turn is a turn that runs while the host says hello (host-link.md, "Opening"), or
	// whose turn.end was not acked: that one as it stood at its end.
	Turn struct {
		Turn      string        `json:"turn"`
		ChatID    string        `json:"chat_id"`
		ThreadID  string        `json:"thread_id"`
		StartedAt int64         `json:"started_at"`      // ms
		Ended     int64         `json:"ended,omitempty"` // seq of its turn.end, 0 while it runs: it is named until that is acked
		Source    string        `json:"source"`
		Messages  []TurnMessage `json:"messages" max:"1000"` // those whose end is still to come
		Tools     []TurnTool    `json:"tools" max:"1000"`
		Prompts   []string      `json:"prompts" max:"1000"` // approvals and clarifies that wait
		Reasoning string        `json:"reasoning"`
	}

	// TurnMessage is a message of a turn whose `message` or `message.stop` is
	// still to come.
	TurnMessage struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
		Began     int64  `json:"began"` // ms
		ReplyTo   string `json:"reply_to,omitempty"`
		Streamed  *bool  `json:"streamed,omitempty"` // absent means true; false: sent whole, waits for its footer
	}

	// TurnTool is an open tool of a running turn.
	TurnTool struct {
		Call  string         `json:"call"`
		Index int            `json:"index"`
		Name  string         `json:"name"`
		Args  map[string]any `json:"args"`
	}

	// Event is something that hermes did (host-link.md, "Events").
	Event struct {
		Seq      int64           `json:"seq"` // 0 for a live event
		At       int64           `json:"at"`  // ms
		Kind     string          `json:"kind"`
		ChatID   string          `json:"chat_id"`
		ThreadID string          `json:"thread_id"`
		Turn     string          `json:"turn"`
		Body     json.RawMessage `json:"body"`
	}

	// Received says that all inbound up to Cursor is safe on the host (host
	// link: Inbound).
	Received struct {
		Cursor int64 `json:"cursor"`
	}

	// GatewayDeleted confirms that nothing is left of what GatewayDelete named.
	GatewayDeleted struct{}
)

// Lane returns the lane of the turn.
func (t Turn) Lane() iris.Lane { return iris.Lane{ChatID: t.ChatID, ThreadID: t.ThreadID} }

// Lane returns the lane that the event belongs to.
func (e Event) Lane() iris.Lane { return iris.Lane{ChatID: e.ChatID, ThreadID: e.ThreadID} }

// Frames from the gateway.
type (
	// HelloAck accepts a host (host-link.md, "Opening").
	HelloAck struct {
		GatewayID     string `json:"gateway_id"`
		Acked         int64  `json:"acked"`    // last event of the host's epoch that is in the log
		Received      int64  `json:"received"` // inbound above this follows
		MediaMaxBytes int64  `json:"media_max_bytes"`
	}

	// Acked says that all events up to Seq are in the log or void (host link:
	// Events).
	Acked struct {
		Seq int64 `json:"seq"`
	}

	// GatewayDelete follows HelloAck when the gateway has been deleted: the host is
	// to erase all that it has of it, now and as often as it is told, and to
	// confirm that. It gets and sends nothing else.
	GatewayDelete struct{}

	// Error says why the connection ends (host-link.md, "Opening").
	Error struct {
		Code    iris.Code `json:"code"`
		Message string    `json:"message"`
	}
)
