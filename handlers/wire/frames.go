package wire

import "iris-gateway/iris"

// Frames from the gateway, in the order of the protocol, which tells what each
// one means under its type. testdata holds an example of each.
type (
	// HelloAck accepts a device (protocol: hello.ack, Opening).
	HelloAck struct {
		ServerCaps       ServerCaps `json:"server_caps"`
		SyncCursor       int64      `json:"sync_cursor"`        // the device has received everything up to here
		LastPushedCursor int64      `json:"last_pushed_cursor"` // highest cursor that reached it by push; 0 = never
		Channels         []Channel  `json:"channels"`
	}

	// Message is a final, standalone message.
	Message struct {
		MessageID  string        `json:"message_id"`
		Role       iris.Role     `json:"role"`
		Text       string        `json:"text"`
		Commentary bool          `json:"commentary,omitempty"` // only in history: a beat
		Reasoning  string        `json:"reasoning,omitempty"`
		Media      []Media       `json:"media,omitempty"`
		ReplyTo    string        `json:"reply_to,omitempty"`
		Model      string        `json:"model,omitempty"`
		Tokens     int           `json:"tokens,omitempty"`
		TS         int64         `json:"ts"` // ms since 1970, when the message began
		Runtime    *iris.Runtime `json:"runtime,omitempty"`
	}

	// MessageStart opens a streamed message.
	MessageStart struct {
		MessageID string    `json:"message_id"`
		Role      iris.Role `json:"role"`
	}

	// MessageUpdate carries the whole text of a streamed message so far.
	MessageUpdate struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
	}

	// MessageStop ends a streamed message.
	MessageStop struct {
		MessageID   string        `json:"message_id"`
		FinalText   string        `json:"final_text"`
		Commentary  bool          `json:"commentary,omitempty"`  // it was a beat
		Interrupted bool          `json:"interrupted,omitempty"` // its turn was lost in the middle
		Reasoning   string        `json:"reasoning,omitempty"`
		Model       string        `json:"model,omitempty"`
		Tokens      int           `json:"tokens,omitempty"`
		Runtime     *iris.Runtime `json:"runtime,omitempty"`
	}

	// Commentary is a beat that was not streamed.
	Commentary struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
	}

	// ToolStart says that a tool call began.
	ToolStart struct {
		Index   int            `json:"index"` // from 1, per turn
		Name    string         `json:"name"`
		Preview string         `json:"preview,omitempty"`
		Args    map[string]any `json:"args"`
	}

	// ToolProgress is a note of a running tool.
	ToolProgress struct {
		Index int    `json:"index"`
		Name  string `json:"name"`
		Note  string `json:"note"`
	}

	// ToolEnd says that a tool call ended.
	ToolEnd struct {
		Index         int     `json:"index"`
		Name          string  `json:"name"`
		OK            bool    `json:"ok"`
		Duration      float64 `json:"duration"` // seconds
		OutputPreview string  `json:"output_preview"`
	}

	// Typing switches the typing indicator.
	Typing struct {
		On bool `json:"on"`
	}

	// TypingStop ends typing; it is sent together with Typing{On: false}.
	TypingStop struct{}

	// Notification is a banner, or the mirror of a push.
	Notification struct {
		Kind  string `json:"kind" jsonschema:"enum=channel_renamed,enum=channel_created,enum=cron,enum=approval,enum=clarify,enum=generic"`
		Title string `json:"title"`
		Body  string `json:"body"`
		TS    int64  `json:"ts"`
		// ExpiresAt is when the question can no longer be answered, ms since 1970.
		ExpiresAt int64 `json:"expires_at,omitempty"`
	}

	// AgentBusy says that the agent works in a lane.
	AgentBusy struct {
		Reason string `json:"reason" jsonschema:"enum=processing,enum=tool,enum=waiting_input,enum=cron"`
	}

	// AgentIdle says that the agent has ended its work in a lane.
	AgentIdle struct{}

	// History is a page of messages, oldest first.
	History struct {
		Messages        []Message `json:"messages"`
		HasMore         bool      `json:"has_more"`
		OldestMessageID string    `json:"oldest_message_id,omitempty"`
	}

	// ReadReceipt says that the host has accepted the user's message (protocol:
	// Rules); with a device_id, that a person has read up to a message there.
	ReadReceipt struct {
		MessageID string `json:"message_id"`
		DeviceID  string `json:"device_id,omitempty"`
		TS        int64  `json:"ts,omitempty"` // with a device_id: ms since 1970, when the message began
	}

	// SyncDone ends a replay (protocol: One answer per request).
	SyncDone struct {
		Cursor   int64 `json:"cursor"`   // resume from here
		Complete bool  `json:"complete"` // false: entries are missing, reload by history
	}

	// Status is the state of gateway and host (protocol: Opening).
	Status struct {
		State State `json:"state"`
	}

	// Error answers a request that failed, or says why the connection ends.
	Error struct {
		Code       iris.Code `json:"code"`
		Message    string    `json:"message"`
		RetryAfter float64   `json:"retry_after,omitempty"` // seconds
	}

	// Pong answers a ping.
	Pong struct {
		TS int64 `json:"ts"`
	}
)

// State is what [Status] says.
type State string

// The states: StateDegraded means that the gateway works and the host is away.
const (
	StateOnline     State = "online"
	StateDegraded   State = "degraded"
	StateRestarting State = "restarting"
)

// ServerCaps says what the gateway can do; each is true only if it works
// (protocol: Opening).
type ServerCaps struct {
	Streaming     bool   `json:"streaming"`
	Reasoning     bool   `json:"reasoning"`
	Tools         bool   `json:"tools"`
	Media         bool   `json:"media"`
	Search        bool   `json:"search"`
	Push          string `json:"push" jsonschema:"enum=fcm,enum=ntfy,enum=none"`
	Pickers       bool   `json:"pickers"`
	MediaMaxBytes int64  `json:"media_max_bytes"`
}

// Media describes a file that belongs to a message (protocol: message, Media).
type Media struct {
	MediaID  string `json:"media_id"`
	Kind     string `json:"kind"` // image, audio, video, document …
	Mime     string `json:"mime"`
	Size     int64  `json:"size"` // bytes
	Filename string `json:"filename"`
}

// Channel is an entry of the directory (protocol: Opening).
type Channel struct {
	ChatID        string `json:"chat_id"`
	ThreadID      string `json:"thread_id,omitempty"`
	Name          string `json:"name"`
	Kind          string `json:"kind" jsonschema:"enum=default,enum=channel,enum=thread"`
	ParentChatID  string `json:"parent_chat_id,omitempty"`
	IsDefault     bool   `json:"is_default"`
	Auto          bool   `json:"auto,omitempty"`
	ReadMessageID string `json:"read_message_id,omitempty"`
	Busy          bool   `json:"busy,omitempty"`
}

// FrameType implements [Payload].
func (HelloAck) FrameType() string      { return "hello.ack" }
func (Message) FrameType() string       { return "message" }
func (MessageStart) FrameType() string  { return "message.start" }
func (MessageUpdate) FrameType() string { return "message.update" }
func (MessageStop) FrameType() string   { return "message.stop" }
func (Commentary) FrameType() string    { return "commentary" }
func (ToolStart) FrameType() string     { return "tool.start" }
func (ToolProgress) FrameType() string  { return "tool.progress" }
func (ToolEnd) FrameType() string       { return "tool.end" }
func (Typing) FrameType() string        { return "typing" }
func (TypingStop) FrameType() string    { return "typing.stop" }
func (Notification) FrameType() string  { return "notification" }
func (AgentBusy) FrameType() string     { return "agent.busy" }
func (AgentIdle) FrameType() string     { return "agent.idle" }
func (History) FrameType() string       { return "history" }
func (ReadReceipt) FrameType() string   { return "read.receipt" }
func (SyncDone) FrameType() string      { return "sync.done" }
func (Status) FrameType() string        { return "status" }
func (Error) FrameType() string         { return "error" }
func (Pong) FrameType() string          { return "pong" }
