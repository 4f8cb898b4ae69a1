package wire

import (
	"strings"

	"iris-gateway/iris"
)

// Requests to the agent itself, and about its commands.
const (
	TypeAgentStop        = "agent.stop"
	TypeAgentSteer       = "agent.steer"
	TypeCommandsCatalog  = "commands.catalog"
	TypeCommandsComplete = "commands.complete"
	TypeReadReceipt      = "read.receipt"
	TypeFCMRegister      = "fcm.register"
)

// Payloads of the requests.
type (
	// AgentStop stops the turn of the lane in the envelope.
	AgentStop struct{}

	// AgentSteer tells the running turn something.
	AgentSteer struct {
		Text string `json:"text" jsonschema:"required"`
	}

	// CommandsCatalogRequest asks for all slash commands.
	CommandsCatalogRequest struct{}

	// CommandsCompleteRequest asks for the commands that begin with a prefix.
	CommandsCompleteRequest struct {
		Prefix string `json:"prefix"`
	}

	// ReadReceiptRequest says that a person has seen a message, and with it the
	// ones before. The lane may also stand in the envelope.
	ReadReceiptRequest struct {
		ChatID    string `json:"chat_id"`
		ThreadID  string `json:"thread_id,omitempty"`
		MessageID string `json:"message_id" jsonschema:"required"`
	}

	// FCMRegister says how the device is woken. What is absent stays, an empty
	// text removes.
	FCMRegister struct {
		FCMToken  *string `json:"fcm_token"`
		NtfyTopic *string `json:"ntfy_topic"`
	}
)

// Frames that answer them.
type (
	// CommandsCatalog lists the agent's slash commands, as of its last hello.
	CommandsCatalog struct {
		Commands []Command `json:"commands"`
	}

	// CommandsComplete lists the commands that begin with a prefix.
	CommandsComplete struct {
		Prefix  string         `json:"prefix"`
		Matches []CommandMatch `json:"matches"`
	}

	// Ack says that a request was done that has no other answer.
	Ack struct {
		OK bool `json:"ok"`
	}
)

// Command is a slash command.
type Command struct {
	Name        string   `json:"name"` // with the slash, like the aliases
	Description string   `json:"description"`
	ArgsHint    string   `json:"args_hint"`
	Category    string   `json:"category"`
	Aliases     []string `json:"aliases"`
}

// CommandMatch is a command that begins with what was typed.
type CommandMatch struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	ArgsHint    string `json:"args_hint"`
}

// FrameType implements [Payload].
func (CommandsCatalog) FrameType() string  { return "commands.catalog" }
func (CommandsComplete) FrameType() string { return "commands.complete" }
func (Ack) FrameType() string              { return "ack" }

// Validate checks what the agent is to be told: as much as a message may hold.
func (a *AgentSteer) Validate() error {
	if strings.TrimSpace(a.Text) == "" {
		return iris.Errorf(iris.CodeUnsupported, "text is empty: nothing to say")
	}
	return checkLength("text", a.Text, MaxMessageText)
}

// Validate checks what was typed.
func (c *CommandsCompleteRequest) Validate() error { return check("prefix", c.Prefix, MaxPrefix) }

// Validate checks which message was read.
func (r *ReadReceiptRequest) Validate() error {
	if r.MessageID == "" {
		return iris.Errorf(iris.CodeUnsupported, "message_id is missing")
	}
	return CheckID("message_id", r.MessageID)
}

// Validate checks a registration: it must say something.
func (f *FCMRegister) Validate() error {
	if f.FCMToken == nil && f.NtfyTopic == nil {
		return iris.Errorf(iris.CodeUnsupported, "neither fcm_token nor ntfy_topic is given")
	}
	return checkPush(deref(f.FCMToken), deref(f.NtfyTopic))
}

func checkPush(fcmToken, ntfyTopic string) error {
	if err := check("fcm_token", fcmToken, MaxFCMToken); err != nil {
		return err
	}
	return check("ntfy_topic", ntfyTopic, MaxNtfyTopic)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
