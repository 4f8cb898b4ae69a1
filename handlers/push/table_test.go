package push_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/handlers/push"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// kinds are what an entry may hold, and what a push of it says.
var kinds = []struct {
	name    string
	frames  func(deadline time.Time) []wire.Payload
	kind    string // "" = nothing is pushed
	typ     string
	title   string
	neutral string // title without preview
	body    string
	message string
	lane    bool // collapses
	ttl     bool // until the deadline
}{
	{name: "answer", kind: "message", typ: "message", title: "Default", neutral: "New message", body: "It is done.", message: "m1", lane: true,
		frames: func(time.Time) []wire.Payload {
			return []wire.Payload{wire.Message{MessageID: "m1", Role: iris.RoleAssistant, Text: " It is done. "}, wire.AgentIdle{}}
		}},
	{name: "streamed answer, the last of two", kind: "message", typ: "message", title: "Default", neutral: "New message", body: "All done.", message: "m2", lane: true,
		frames: func(time.Time) []wire.Payload {
			return []wire.Payload{wire.MessageStop{MessageID: "m1", FinalText: "One."}, wire.MessageStop{MessageID: "m2", FinalText: "All done."}}
		}},
	{name: "long answer", kind: "message", typ: "message", title: "Default", neutral: "New message", message: "m1", lane: true, body: strings.Repeat("ü", 199) + "…",
		frames: func(time.Time) []wire.Payload {
			return []wire.Payload{wire.Message{MessageID: "m1", Role: iris.RoleAssistant, Text: strings.Repeat("ü", 5000)}}
		}},
	{name: "file without a word", kind: "message", typ: "message", title: "Default", neutral: "New message", body: "plot.png", message: "m1", lane: true,
		frames: func(time.Time) []wire.Payload {
			medium := wire.Media{MediaID: "md_1", Kind: "image", Filename: "plot.png"}
			return []wire.Payload{wire.MediaOffer(medium), wire.Message{MessageID: "m1", Role: iris.RoleAssistant, Media: []wire.Media{medium}}}
		}},
	{name: "beat", frames: func(time.Time) []wire.Payload {
		return []wire.Payload{wire.MessageStop{MessageID: "m1", FinalText: "Let me see.", Commentary: true}, wire.Commentary{MessageID: "m2", Text: "Hm."}}
	}},
	{name: "tool", frames: func(time.Time) []wire.Payload {
		return []wire.Payload{wire.ToolEnd{Index: 1, Name: "terminal", OK: true}}
	}},
	{name: "notice", frames: func(time.Time) []wire.Payload {
		return []wire.Payload{wire.Notification{Kind: "generic", Title: "notice", Body: "x"}}
	}},
	{name: "the user's own message", frames: func(time.Time) []wire.Payload {
		return []wire.Payload{wire.Message{MessageID: "m1", Role: iris.RoleUser, Text: "hi"}}
	}},
	{name: "approval", kind: "approval", typ: "notification", title: "Approval needed", neutral: "Approval needed", body: "rm -rf /", ttl: true,
		frames: func(d time.Time) []wire.Payload {
			return []wire.Payload{
				wire.PickerApproval{PickerID: "p1", Command: "rm -rf /", ExpiresAt: d.UnixMilli()},
				wire.Notification{Kind: "approval", Title: "Approval needed", Body: "rm -rf /", ExpiresAt: d.UnixMilli()},
			}
		}},
	{name: "clarify", kind: "clarify", typ: "notification", title: "Question", neutral: "Question", body: "Which one?",
		frames: func(time.Time) []wire.Payload {
			return []wire.Payload{wire.PickerClarify{PickerID: "p1", Question: "Which one?"}, wire.Notification{Kind: "clarify", Title: "Question", Body: "Which one?"}}
		}},
	{name: "clarify that was answered at once", frames: func(time.Time) []wire.Payload {
		return []wire.Payload{wire.PickerClarify{PickerID: "p1"}, wire.Notification{Kind: "clarify", Title: "Question"}, wire.PickerClosed{PickerID: "p1"}}
	}},
	{name: "confirm", kind: "confirm", typ: "picker.confirm", title: "Delete all?", neutral: "Please confirm", body: "Really?",
		frames: func(time.Time) []wire.Payload {
			return []wire.Payload{wire.PickerConfirm{PickerID: "p1", Title: "Delete all?", Text: "Really?"}}
		}},
	{name: "cron", kind: "cron", typ: "notification", title: "Morning", neutral: "Scheduled task", body: "Sunny", message: "c1", lane: true,
		frames: func(time.Time) []wire.Payload {
			return []wire.Payload{wire.Message{MessageID: "c1", Role: iris.RoleCron, Text: "Sunny"}, wire.Notification{Kind: "cron", Title: "Morning", Body: "Sunny"}}
		}},
	{name: "deleted in the same entry", frames: func(time.Time) []wire.Payload {
		return []wire.Payload{wire.Message{MessageID: "m1", Role: iris.RoleAssistant, Text: "oops"}, wire.MessageDeleted{MessageIDs: []string{"m1"}}}
	}},
}

// The push table: what device × what happens × preview: exactly the expected
// calls, and when.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, state := range []string{"offline", "live", "half-open"} {
			for _, preview := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %s, preview %v", state, k.name, preview), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						r := newRig(t, nil, func(c *push.Config) { c.Preview = preview }).open()
						defer r.close()
						r.device("d", "token-d", "")
						deadline := time.Now().Add(5 * time.Minute)
						if state != "offline" {
							confirmed := r.attach("d")
							if state == "live" {
								time.AfterFunc(7*time.Second, func() { confirmed.Store(1 << 40) })
							}
						}
						began := time.Now()
						cursor := r.frames(k.frames(deadline)...)
						r.wait(0)
						calls := r.fcm.take()
						r.wait(time.Minute)
						late := r.fcm.take()
						want, after := k.kind, time.Duration(0)
						switch state {
						case "live":
							want = ""
						case "half-open":
							calls, late, after = late, calls, 8*time.Second
						}
						if len(late) > 0 || want == "" && len(calls) > 0 || want != "" && len(calls) != 1 {
							t.Fatalf("%d pushes at the right time, %d at another: %+v %+v", len(calls), len(late), calls, late)
						}
						row := r.row("d")
						if want == "" {
							if row.LastPushed != 0 {
								t.Errorf("last pushed %d without a push", row.LastPushed)
							}
							return
						}
						c := calls[0]
						if got := c.after - began.Sub(r.fcm.began); got != after || c.to != "token-d" {
							t.Errorf("pushed to %s after %v, want after %v", c.to, got, after)
						}
						data := map[string]string{"type": k.typ, "kind": k.kind, "chat_id": lane.ChatID, "cursor": strconv.FormatInt(cursor, 10), "title": k.neutral}
						if k.message != "" {
							data["message_id"] = k.message
						}
						if preview {
							data["title"], data["body"] = k.title, k.body
						}
						if fmt.Sprint(c.push.Data) != fmt.Sprint(data) {
							t.Errorf("data %v\nwant %v", c.push.Data, data)
						}
						if n := len([]rune(c.push.Data["body"])); n > 200 {
							t.Errorf("the body has %d characters", n)
						}
						if (c.push.Collapse != "") != k.lane {
							t.Errorf("collapse key %q", c.push.Collapse)
						}
						ttl := time.Duration(0)
						if k.ttl {
							ttl = 5*time.Minute - after
						}
						if c.push.TTL != ttl {
							t.Errorf("TTL %v, want %v", c.push.TTL, ttl)
						}
						if row.LastPushed != cursor || row.Push.Outcome != iris.PushSent {
							t.Errorf("the row says %d, %+v; want %d, sent", row.LastPushed, row.Push, cursor)
						}
						r.quiet("token-d", "done", "rm -rf", "Sunny", "Really", "Which")
					})
				})
			}
		}
	}
}
