package link

// Kinds of event (host link: Events). Those marked "durable" carry a seq and are repeated by the
// host until they are acked.
const (
	KindTurnStart    = "turn.start"    // durable
	KindModelStart   = "model.start"   // live
	KindSend         = "send"          // durable unless streaming
	KindEdit         = "edit"          // durable when final
	KindDelete       = "delete"        // durable
	KindModelEnd     = "model.end"     // durable
	KindModelError   = "model.error"   // durable
	KindAnswer       = "answer"        // durable
	KindToolStart    = "tool.start"    // live
	KindToolProgress = "tool.progress" // live
	KindToolEnd      = "tool.end"      // durable
	KindNotice       = "notice"        // durable
	KindCron         = "cron"          // durable
	KindThreadCreate = "thread.create" // durable
	KindTitle        = "title"         // durable
	KindTurnEnd      = "turn.end"      // durable
	KindDone         = "done"          // durable
)

// Sources of a turn.
const (
	SourceUser     = "user"
	SourceCommand  = "command"
	SourceInternal = "internal"
	SourceCron     = "cron"
)

// Outcomes of a turn.
const (
	OutcomeCompleted = "completed"
	OutcomeFailed    = "failed"
	OutcomeStopped   = "stopped"
)

// Bodies of the events (host link: Events). What is null or absent is zero.
type (
	// TurnStart: hermes began to process something in a lane.
	TurnStart struct {
		Trigger string `json:"trigger"` // message id, "" when nobody asked
		Source  string `json:"source"`
	}

	// ModelStart: the agent begins to answer a text. Several may happen in a turn.
	ModelStart struct {
		Text      string `json:"text"`
		MessageID string `json:"message_id"`
	}

	// Send: a message appeared. Streaming ones are edited until a final edit.
	Send struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
		ReplyTo   string `json:"reply_to"`
		Streaming bool   `json:"streaming"`
		Notify    bool   `json:"notify"`
		Immediate bool   `json:"immediate"` // acknowledgement made inside an inbound call
	}

	// Edit: the whole text of a message, so far or at its end.
	Edit struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
		Final     bool   `json:"final"`
		ReplyTo   string `json:"reply_to"`
		Began     int64  `json:"began"` // ms, when the message began
	}

	// Delete: messages were taken back.
	Delete struct {
		MessageIDs []string `json:"message_ids" max:"1000"`
	}

	// ModelEnd: a model call ended.
	ModelEnd struct {
		FinishReason string  `json:"finish_reason"`
		Text         string  `json:"text"` // the call's whole text
		Model        string  `json:"model"`
		Usage        Usage   `json:"usage"`
		Duration     float64 `json:"duration"` // seconds
		Reasoning    string  `json:"reasoning"`
	}

	// Usage counts the tokens of a model call.
	Usage struct {
		Input      int `json:"input"`
		Output     int `json:"output"`
		CacheRead  int `json:"cache_read"`
		CacheWrite int `json:"cache_write"`
		Reasoning  int `json:"reasoning"`
		Prompt     int `json:"prompt"`
	}

	// ModelError: a model call failed.
	ModelError struct {
		Status    int    `json:"status"`
		Reason    string `json:"reason"`
		Message   string `json:"message"`
		Attempt   int    `json:"attempt"`
		WillRetry bool   `json:"will_retry"`
	}

	// Answer: the whole final text of an agent turn.
	Answer struct {
		Text string `json:"text"`
	}

	// ToolStart: a tool call began.
	ToolStart struct {
		Call    string         `json:"call"`
		Index   int            `json:"index"` // from 1, per turn
		Name    string         `json:"name"`
		Args    map[string]any `json:"args"`
		Preview string         `json:"preview"`
	}

	// ToolProgress: a note of a running tool.
	ToolProgress struct {
		Call string `json:"call"`
		Note string `json:"note"`
	}

	// ToolEnd: a tool call ended.
	ToolEnd struct {
		Call       string         `json:"call"`
		Index      int            `json:"index"`
		Name       string         `json:"name"`
		Args       map[string]any `json:"args"`
		Preview    string         `json:"preview"`
		OK         bool           `json:"ok"`
		Duration   float64        `json:"duration"` // seconds
		OutputTail string         `json:"output_tail"`
	}

	// Notice: something a person may want to know.
	Notice struct {
		Key  string `json:"key"`
		Text string `json:"text"`
	}

	// Cron: a scheduled job has something to say.
	Cron struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
		Job       string `json:"job"`
	}

	// ThreadCreate: the host made a thread of the lane's channel.
	ThreadCreate struct {
		ThreadID string `json:"thread_id"`
		Name     string `json:"name"`
	}

	// Title: the host named the conversation of a lane.
	Title struct {
		Title string `json:"title"`
	}

	// TurnEnd: hermes has ended the processing.
	TurnEnd struct {
		Outcome   string  `json:"outcome"`
		Error     string  `json:"error"`
		Runtime   Runtime `json:"runtime"`
		Tokens    int     `json:"tokens"`
		Reasoning string  `json:"reasoning"` // of the answer, joined
	}

	// Runtime is the footer of an answer.
	Runtime struct {
		Model      string  `json:"model"`
		ContextPct float64 `json:"context_pct"`
		Cwd        string  `json:"cwd"`
		Latency    float64 `json:"latency"` // seconds
		Cost       float64 `json:"cost"`    // USD
	}

	// Done: the result of an inbound item that asked for something.
	Done struct {
		Cursor int64  `json:"cursor"`
		Item   int    `json:"item"`
		OK     bool   `json:"ok"`
		Error  string `json:"error"`
		Text   string `json:"text"`
	}
)
