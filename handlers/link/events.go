package link

// Kinds of event (host-link.md, "Events"). Those marked "durable" carry a seq and are repeated by the
// host until they are acked.
const (
	KindTurnStart    = "turn.start"    // durable
	KindModelStart   = "model.start"   // durable, if the host gives it a seq, as it should: it ends the answer before
	KindSend         = "send"          // durable unless streaming
	KindEdit         = "edit"          // durable when final
	KindDelete       = "delete"        // durable
	KindModelEnd     = "model.end"     // durable
	KindModelError   = "model.error"   // durable
	KindAnswer       = "answer"        // durable
	KindToolStart    = "tool.start"    // live
	KindToolProgress = "tool.progress" // live
	KindToolEnd      = "tool.end"      // durable
	KindMedia        = "media"         // durable; the put of its bytes was acked before
	KindPrompt       = "prompt"        // durable
	KindPromptClosed = "prompt.closed" // durable
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

// Kinds of prompt. Approvals and clarifies end with their turn; the others
// stay open after it, until somebody answers or the host closes them.
const (
	PromptApproval = "approval"
	PromptClarify  = "clarify"
	PromptConfirm  = "confirm"
	PromptChoice   = "choice"
	PromptModel    = "model"
)

// Why a prompt was closed.
const (
	ClosedAnswered  = "answered"
	ClosedExpired   = "expired"
	ClosedTurnEnded = "turn ended"
)

// Bodies of the events (host-link.md, "Events"). What is null or absent is zero.
type (
	// TurnStart: hermes began to process something in a lane.
	TurnStart struct {
		Trigger string `json:"trigger"` // message id, "" when nobody asked
		Source  string `json:"source"`
	}

	// ModelStart: the agent begins to answer a text. Several may happen in a turn.
	// Its seq may be absent, but then an answer that it ends may be taken for a
	// part of the next one if it is lost.
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

	// Delete: messages were taken back: open ones end without a row, those that
	// have ended are removed.
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

	// Media: the agent sent a file, whose bytes the gateway has (host link:
	// Media). It may follow its turn's end.
	Media struct {
		MessageID string `json:"message_id"`
		MediaID   string `json:"media_id"`
		Kind      string `json:"kind"`
		Mime      string `json:"mime"`
		Size      int64  `json:"size"` // bytes
		SHA256    string `json:"sha256"`
		Filename  string `json:"filename"`
		Caption   string `json:"caption"`
		ReplyTo   string `json:"reply_to"`
	}

	// Prompt: the agent asks something. Which fields belong to which kind:
	//
	//	approval  command, description, choices, expires_at
	//	clarify   question, choices, allow_text, expires_at
	//	confirm   title, text, choices
	//	choice    title, choices
	//	model     current_model, current_provider, providers
	//
	// prompt_id is the host's, unique for ever, and answers come with it. turn is
	// the turn that asks, or null when none is open; the lane is that of the
	// prompt in any case. Strings are hermes' own, uncut up to 16 KiB, markdown
	// included; nothing of them is secret. Fields that are not named here reach
	// the devices as they are. A prompt of unknown kind is ignored.
	//
	// What a person answers is the value of a choice: hermes' own words. Labels
	// and styles of the values that hermes always uses need not be sent: once,
	// session, always, deny, cancel get theirs here.
	//
	//   - approval, choices: the values that hermes accepts now, e.g. without
	//     "always" if allow_permanent is false: [{"value":"once"},
	//     {"value":"session"},{"value":"always"},{"value":"deny"}], which is also
	//     what no choices at all mean. Of the approvals of one session only the
	//     oldest is sent; the next one when that one is closed.
	//   - clarify, choices: hermes' list, value and label the same; none for an
	//     open question. allow_text is true whenever a plain message of the lane
	//     would be taken as the answer, for an open question always.
	//   - confirm: title and text are hermes' title and message, whole: the list
	//     "Choose: …" for people without buttons is cut off here. No choices means
	//     once, always, cancel.
	//   - choice: value, label, is_current as hermes gives them.
	//   - model: a provider's id is hermes' slug, its label hermes' name; a
	//     model's id and label are its name. Answered by "provider/model": the
	//     provider ends at the first slash.
	//
	// While an approval or clarify of a turn waits, its lane shows waiting_input.
	Prompt struct {
		PromptID  string `json:"prompt_id"`
		Kind      string `json:"kind"`
		ExpiresAt int64  `json:"expires_at"` // ms since 1970; 0 if the host waits for ever

		Title       string   `json:"title"`
		Text        string   `json:"text"`
		Question    string   `json:"question"`
		Command     string   `json:"command"`
		Description string   `json:"description"`
		Choices     []Choice `json:"choices" max:"1000"`
		AllowText   bool     `json:"allow_text"`

		CurrentModel    string     `json:"current_model"`
		CurrentProvider string     `json:"current_provider"`
		Providers       []Provider `json:"providers" max:"1000"`
	}

	// Choice is something that can be answered.
	Choice struct {
		Value       string `json:"value"`
		Label       string `json:"label"` // absent: that of the kind and value, else the value
		Description string `json:"description"`
		Style       string `json:"style"` // primary or danger
		IsCurrent   bool   `json:"is_current"`
	}

	// Provider is a provider of models.
	Provider struct {
		ID     string       `json:"id"`
		Label  string       `json:"label"`
		Models []ModelLabel `json:"models" max:"1000"`
	}

	// ModelLabel names a model of a provider.
	ModelLabel struct {
		ID    string `json:"id"`
		Label string `json:"label"`
	}

	// PromptClosed: hermes waits for the prompt no longer. It is sent once for
	// every prompt, whoever answered, also when the answer came from a device:
	// only then does the lane cease to wait for input. Not needed for approvals
	// and clarifies that are open at turn.end. A host that starts anew sends it,
	// with why "expired", for each prompt that an earlier process has left open.
	//
	// value is what was answered, in hermes' words, or text for free text; both
	// are absent unless why is "answered". An approval that timed out is
	// "expired", one that an interrupt denied is "turn ended".
	PromptClosed struct {
		PromptID string  `json:"prompt_id"`
		Why      string  `json:"why"`
		Value    *string `json:"value"`
		Text     string  `json:"text"`
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
		Job       string `json:"job"` // how people call it: its name, else its id
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
