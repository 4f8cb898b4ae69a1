package wire

// Request types that devices send.
const (
	TypeHello       = "hello"
	TypeMessageSend = "message.send"
	TypeSync        = "sync"
	TypeHistory     = "history"
	TypePing        = "ping"
)

// Payloads of the requests. The protocol tells under their type what they ask for.
type (
	// Hello is the first frame of a connection.
	Hello struct {
		Token      string     `json:"token" jsonschema:"required"`
		DeviceID   string     `json:"device_id" jsonschema:"required"`
		DeviceName string     `json:"device_name"`
		Caps       DeviceCaps `json:"caps"`
		FCMToken   string     `json:"fcm_token"`
		NtfyTopic  string     `json:"ntfy_topic"`
	}

	// MessageSend sends text, or a slash command, to the agent.
	MessageSend struct {
		Text       string   `json:"text"`
		ReplyTo    string   `json:"reply_to"`
		MediaRefs  []string `json:"media_refs" max:"32"`
		AutoThread bool     `json:"auto_thread"`
		ClientID   string   `json:"client_id"` // idempotency key
	}

	// Sync asks for the replay of what the device missed.
	Sync struct {
		Cursor *int64 `json:"cursor"` // nil: from hello.ack's sync_cursor
	}

	// HistoryRequest asks for a page of messages.
	HistoryRequest struct {
		BeforeMessageID string `json:"before_message_id"`
		Limit           int    `json:"limit"` // 1–200, 0 = 50
	}

	// Ping asks for a pong.
	Ping struct {
		TS int64 `json:"ts"`
	}
)

// DeviceCaps says what a device can do.
type DeviceCaps struct {
	MinProtocol int    `json:"min_protocol"`
	Media       bool   `json:"media"`
	Push        string `json:"push"` // fcm, ntfy or none
}
