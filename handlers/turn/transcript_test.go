package turn_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// began is when every transcript begins, in ms.
const began = 1790000000000

// line is one line of a recorded transcript: an adapter call, a plugin hook or
// something that the recording test did.
type line struct {
	T    float64 `json:"t"`
	Kind string  `json:"kind"`
	Name string  `json:"name"`
	Task string  `json:"task"`
	ID   string  `json:"id"`
	Ctx  struct {
		ChatID   string `json:"CHAT_ID"`
		ThreadID string `json:"THREAD_ID"`
	} `json:"ctx"`
	Args args `json:"args"`
	Ret  any  `json:"ret"` // of an operation
}

// args are the arguments that the plugin looks at, of all calls and hooks.
type args struct {
	asking
	Event struct {
		Text      string `json:"text"`
		MessageID string `json:"message_id"`
		Internal  bool   `json:"internal"`
		Source    struct {
			ChatID   string `json:"chat_id"`
			ThreadID string `json:"thread_id"`
		} `json:"source"`
	} `json:"event"`
	Outcome string `json:"outcome"`

	ChatID    string `json:"chat_id"`
	Content   string `json:"content"`
	ReplyTo   string `json:"reply_to"`
	MessageID string `json:"message_id"`
	Finalize  bool   `json:"finalize"`
	ImagePath string `json:"image_path"`
	ImageURL  string `json:"image_url"`
	Caption   string `json:"caption"`
	StatusKey string `json:"status_key"`
	Metadata  *struct {
		ThreadID    string `json:"thread_id"`
		ExpectEdits bool   `json:"expect_edits"`
		Notify      bool   `json:"notify"`
		JobID       string `json:"job_id"`
	} `json:"metadata"`

	TurnID    string `json:"turn_id"`
	TaskID    string `json:"task_id"`
	Platform  string `json:"platform"`
	Model     string `json:"model"`
	Finish    string `json:"finish_reason"`
	User      string `json:"user_message"`
	Response  string `json:"assistant_response"`
	Assistant struct {
		Content      string `json:"content"`
		ProviderData struct {
			Reasoning string `json:"reasoning_content"`
		} `json:"provider_data"`
	} `json:"assistant_message"`
	Usage struct {
		Output int `json:"output_tokens"`
	} `json:"usage"`
	Interrupted bool `json:"interrupted"`

	ToolName   string         `json:"tool_name"`
	ToolArgs   map[string]any `json:"args"`
	ToolCallID string         `json:"tool_call_id"`
	Result     string         `json:"result"`
	Status     string         `json:"status"`
	DurationMS float64        `json:"duration_ms"`

	StatusCode int  `json:"status_code"`
	Retry      int  `json:"retry_count"`
	MaxRetries int  `json:"max_retries"`
	Retryable  bool `json:"retryable"`
	Error      any  `json:"error"`
}

// recording turns a transcript into the events that the plugin reports for it.
type recording struct {
	seq   int64
	turns map[string]*recorded // by the asyncio task of the processing
	lanes map[iris.Lane]*recorded
	hooks map[string]*recorded // by hermes' turn id
	began map[string]int64     // by message id
	out   []link.Event

	approvals map[string][]string // tool calls that are about to ask, by session key
	prompts   []*asked            // that wait, oldest first
	shared    []func()            // report the files that hermes sent
}

// recorded is what the plugin knows of an open processing.
type recorded struct {
	id        string
	lane      iris.Lane
	started   float64
	tools     map[string]int
	tokens    int
	reasoning []string
	model     string
	failed    string
	stopped   bool
}

// events reads testdata/NAME.jsonl.
func events(t *testing.T, name string) []link.Event {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &recording{
		turns: map[string]*recorded{}, lanes: map[iris.Lane]*recorded{},
		hooks: map[string]*recorded{}, began: map[string]int64{}, approvals: map[string][]string{},
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			// "args" of a hook and of an operation differ in type; operations
			// are not looked at.
			if !strings.Contains(lines.Text(), `"kind": "op"`) {
				t.Fatalf("%s: %v: %s", name, err, lines.Text())
			}
			continue
		}
		switch l.Kind {
		case "call":
			r.call(l)
		case "hook":
			r.hook(l)
		case "op":
			r.op(l)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, share := range r.shared {
		share()
	}
	return r.out
}

func (l line) at() int64 { return began + int64(l.T*1000+0.5) }

// add appends an event; durable ones get a seq.
func (r *recording) add(l line, durable bool, kind string, lane iris.Lane, turn *recorded, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	ev := link.Event{At: l.at(), Kind: kind, ChatID: lane.ChatID, ThreadID: lane.ThreadID, Body: raw}
	if turn != nil {
		ev.Turn = turn.id
	}
	if durable {
		r.seq++
		ev.Seq = r.seq
	}
	r.out = append(r.out, ev)
}

func (r *recording) call(l line) {
	lane := iris.Lane{ChatID: l.Args.ChatID}
	if l.Args.Metadata != nil {
		lane.ThreadID = l.Args.Metadata.ThreadID
	}
	turn := r.lanes[lane]
	if r.asks(l, lane, turn) {
		return
	}
	switch l.Name {
	case "on_processing_start":
		r.processingStart(l)
	case "on_processing_complete":
		r.processingComplete(l)
	case "interrupt_session_activity":
		if turn != nil {
			turn.stopped = true
		}
	case "send_or_update_status":
		r.add(l, true, link.KindNotice, lane, turn, link.Notice{Key: l.Args.StatusKey, Text: l.Args.Content})
	case "send":
		r.send(l, lane, turn)
		r.typed(l, lane)
	case "edit_message":
		r.add(l, l.Args.Finalize, link.KindEdit, lane, turn, link.Edit{
			MessageID: l.Args.MessageID, Text: l.Args.Content, Final: l.Args.Finalize, Began: r.began[l.Args.MessageID],
		})
	case "send_image_file", "send_image":
		r.shared = append(r.shared, func() { r.share(l, lane, turn) })
	}
}

func (r *recording) send(l line, lane iris.Lane, turn *recorded) {
	id := l.ID
	if id == "" {
		id = "out-failed"
	}
	md := l.Args.Metadata
	if md != nil && md.JobID != "" {
		r.add(l, true, link.KindCron, lane, nil, link.Cron{MessageID: id, Text: l.Args.Content, Job: md.JobID})
		return
	}
	r.began[id] = l.at()
	b := link.Send{
		MessageID: id, Text: l.Args.Content, ReplyTo: l.Args.ReplyTo,
		Streaming: md != nil && md.ExpectEdits, Notify: md != nil && md.Notify,
		Immediate: strings.HasPrefix(l.Task, "iris-op-"),
	}
	r.add(l, !b.Streaming, link.KindSend, lane, turn, b)
}

// share reports a picture once its bytes are on the gateway, which they are only
// at the end of the transcript.
func (r *recording) share(l line, lane iris.Lane, turn *recorded) {
	r.add(l, true, link.KindMedia, lane, turn, link.Media{
		MessageID: l.ID, MediaID: "md_" + l.ID, Kind: "image", Mime: "image/png", Size: 68, SHA256: strings.Repeat("0f", 32),
		Filename: path.Base(l.Args.ImagePath + l.Args.ImageURL), Caption: l.Args.Caption, ReplyTo: l.Args.ReplyTo,
	})
}

func (r *recording) processingStart(l line) {
	ev := l.Args.Event
	turn := &recorded{
		id:    "tn_" + strings.TrimPrefix(l.Task, "Task-"),
		lane:  iris.Lane{ChatID: ev.Source.ChatID, ThreadID: ev.Source.ThreadID},
		tools: map[string]int{}, started: l.T,
	}
	r.turns[l.Task], r.lanes[turn.lane] = turn, turn
	source := link.SourceUser
	switch {
	case ev.Internal:
		source = link.SourceInternal
	case strings.HasPrefix(ev.Text, "/"):
		source = link.SourceCommand
	}
	r.add(l, true, link.KindTurnStart, turn.lane, turn, link.TurnStart{Trigger: ev.MessageID, Source: source})
}

func (r *recording) processingComplete(l line) {
	turn := r.turns[l.Task]
	if turn == nil { // it began before the recording
		return
	}
	end := link.TurnEnd{
		Outcome: link.OutcomeCompleted, Tokens: turn.tokens, Reasoning: strings.Join(turn.reasoning, "\n\n"),
		Runtime: link.Runtime{Model: turn.model, Latency: float64(int((l.T-turn.started)*1000)) / 1000},
	}
	switch {
	case turn.failed != "":
		end.Outcome, end.Error = link.OutcomeFailed, turn.failed
	case turn.stopped || l.Args.Outcome == "cancelled":
		end.Outcome = link.OutcomeStopped
	}
	r.add(l, true, link.KindTurnEnd, turn.lane, turn, end)
	delete(r.turns, l.Task)
	delete(r.lanes, turn.lane)
}

func (r *recording) hook(l line) {
	lane := iris.Lane{ChatID: l.Ctx.ChatID, ThreadID: l.Ctx.ThreadID}
	if lane.ChatID == "" || l.Args.TaskID != "" { // another platform, or the hidden review
		return
	}
	if l.Name == "pre_llm_call" {
		if r.hooks[l.Args.TurnID] = r.lanes[lane]; r.lanes[lane] == nil {
			return
		}
		turn := r.lanes[lane]
		turn.tokens, turn.reasoning, turn.failed, turn.stopped = 0, nil, "", false
		r.add(l, true, link.KindModelStart, lane, turn, link.ModelStart{Text: l.Args.User})
		return
	}
	turn := r.hooks[l.Args.TurnID]
	if turn == nil {
		return
	}
	switch l.Name {
	case "post_api_request":
		r.modelEnd(l, turn)
	case "api_request_error":
		text, _ := l.Args.Error.(map[string]any)["message"].(string)
		turn.failed = text
		r.add(l, true, link.KindModelError, lane, turn, link.ModelError{
			Status: l.Args.StatusCode, Message: text, Attempt: l.Args.Retry + 1,
			WillRetry: l.Args.Retryable && l.Args.Retry+1 < l.Args.MaxRetries,
		})
	case "post_llm_call":
		r.add(l, true, link.KindAnswer, lane, turn, link.Answer{Text: l.Args.Response})
	case "on_session_end":
		turn.stopped = turn.stopped || l.Args.Interrupted
	case "pre_approval_request":
		r.approvals[l.Args.SessionKey] = append(r.approvals[l.Args.SessionKey], l.Args.ToolCallID)
	case "post_approval_response":
		r.approved(l)
	case "pre_tool_call":
		turn.tools[l.Args.ToolCallID] = len(turn.tools) + 1
		r.add(l, false, link.KindToolStart, lane, turn, link.ToolStart{
			Call: l.Args.ToolCallID, Index: turn.tools[l.Args.ToolCallID], Name: l.Args.ToolName, Args: l.Args.ToolArgs,
		})
	case "post_tool_call":
		r.toolEnd(l, turn)
	}
}

func (r *recording) modelEnd(l line, turn *recorded) {
	a := l.Args
	turn.failed, turn.model = "", a.Model
	turn.tokens += a.Usage.Output
	if s := a.Assistant.ProviderData.Reasoning; s != "" {
		turn.reasoning = append(turn.reasoning, s)
	}
	r.add(l, true, link.KindModelEnd, turn.lane, turn, link.ModelEnd{
		FinishReason: a.Finish, Text: a.Assistant.Content, Model: a.Model,
		Usage: link.Usage{Output: a.Usage.Output}, Reasoning: a.Assistant.ProviderData.Reasoning,
	})
}

func (r *recording) toolEnd(l line, turn *recorded) {
	if l.Args.ToolName == "clarify" {
		r.clarified(l, turn)
	}
	var result struct {
		Output  string `json:"output"`
		Content string `json:"content"`
		Exit    int    `json:"exit_code"`
		Error   string `json:"error"`
	}
	_ = json.Unmarshal([]byte(l.Args.Result), &result)
	r.add(l, true, link.KindToolEnd, turn.lane, turn, link.ToolEnd{
		Call: l.Args.ToolCallID, Index: turn.tools[l.Args.ToolCallID], Name: l.Args.ToolName, Args: l.Args.ToolArgs,
		OK: l.Args.Status == "ok" && result.Exit == 0, Duration: l.Args.DurationMS / 1000,
		OutputTail: result.Output + result.Content + result.Error,
	})
}
