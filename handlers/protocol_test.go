package handlers_test

import (
	"fmt"
	"slices"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/wire"
)

// step is a request, and all that it leads to.
type step struct {
	name   string
	before func(w *world)
	send   string // {id} and what earlier steps kept is filled in
	host   func(w *world)
	answer string         // type of the one answer
	ends   string         // type of the frame that ends a long one
	has    map[string]any // fields of its payload
	mine   []string       // frames that the phone gets beside the answer
	others []string       // frames that the other device gets
	log    []string       // frames in the log, in order
	gone   []string       // frames of the log that a replay leaves out
	asks   []string       // inbound for the host
	after  func(w *world, answer frame)
}

// steps walks every request of the protocol. They build on each other.
var steps = []step{
	{
		name: "ping", send: `{"type":"ping","id":{id},"payload":{"ts":1724000000000}}`,
		answer: "pong", has: map[string]any{"ts": 1724000000000.0},
	},
	{
		name: "message.send", send: `{"type":"message.send","id":{id},"chat_id":"android:default","payload":{"text":"hello","client_id":"c1"}}`,
		answer: "message", has: map[string]any{"role": "user", "text": "hello"},
		others: []string{"message"}, log: []string{"message"}, asks: []string{"message"},
		after: func(w *world, answer frame) { w.vars["first"] = answer.text("message_id") },
	},
	{
		name: "message.send", send: `{"type":"message.send","id":{id},"payload":{"text":"hello again","client_id":"c1"}}`,
		answer: "message", has: map[string]any{"text": "hello"}, // the original, and no second one
	},
	{
		name: "message.send", send: `{"type":"message.send","id":{id},"payload":{"text":"please deploy the new service to production at night","auto_thread":true}}`,
		answer: "message", has: map[string]any{"role": "user"},
		mine: []string{"channel.created"}, others: []string{"channel.created", "message"},
		log: []string{"channel.created", "message"}, asks: []string{"message"},
		after: func(w *world, answer frame) { w.vars["thread"], _ = answer["thread_id"].(string) },
	},
	{
		name: "message.send", send: `{"type":"message.send","id":{id},"payload":{"text":"/status","auto_thread":true}}`,
		answer: "message", others: []string{"message"}, log: []string{"message"}, asks: []string{"message"},
	},
	{
		name: "history", send: `{"type":"history","id":{id},"chat_id":"android:default","payload":{"limit":1}}`,
		answer: "history", has: map[string]any{"has_more": true},
	},
	{
		name: "read.receipt", send: `{"type":"read.receipt","id":{id},"payload":{"chat_id":"android:default","message_id":"{first}"}}`,
		answer: "ack", has: map[string]any{"ok": true},
		others: []string{"read.receipt"}, log: []string{"read.receipt"},
	},
	{
		name: "read.receipt", send: `{"type":"read.receipt","id":{id},"payload":{"chat_id":"android:default","message_id":"{first}"}}`,
		answer: "ack", has: map[string]any{"ok": true}, // read before: nothing moves
	},
	{
		name: "channel.create", send: `{"type":"channel.create","id":{id},"payload":{"name":" Cron \u0007Reports ","kind":"channel"}}`,
		answer: "channel.created", has: map[string]any{"name": "Cron Reports", "kind": "channel"},
		others: []string{"channel.created"}, log: []string{"channel.created"},
		after: func(w *world, answer frame) { w.vars["channel"] = answer.text("chat_id") },
	},
	{
		name: "channel.create", send: `{"type":"channel.create","id":{id},"chat_id":"{channel}","payload":{"name":"Talk","kind":"thread"}}`,
		answer: "channel.created", has: map[string]any{"name": "Talk", "kind": "thread"},
		others: []string{"channel.created"}, log: []string{"channel.created"},
	},
	{
		name: "channel.rename", send: `{"type":"channel.rename","id":{id},"chat_id":"{channel}","payload":{"name":"Reports"}}`,
		answer: "channel.renamed", has: map[string]any{"name": "Reports"},
		others: []string{"channel.renamed"}, log: []string{"channel.renamed"}, asks: []string{"lane.rename"},
	},
	{
		name: "channel.set_default", send: `{"type":"channel.set_default","id":{id},"chat_id":"{channel}","payload":{}}`,
		answer: "channel.list", others: []string{"channel.list"}, log: []string{"channel.list"},
	},
	{
		name: "channel.set_default", send: `{"type":"channel.set_default","id":{id},"chat_id":"android:default"}`,
		answer: "channel.list", others: []string{"channel.list"}, log: []string{"channel.list"},
	},
	{
		name: "commands.catalog", send: `{"type":"commands.catalog","id":{id},"payload":{}}`, answer: "commands.catalog",
	},
	{
		name: "commands.complete", send: `{"type":"commands.complete","id":{id},"payload":{"prefix":"/res"}}`,
		answer: "commands.complete", has: map[string]any{"prefix": "/res"},
		after: func(w *world, answer frame) {
			if m := answer.payload()["matches"].([]any); len(m) != 1 || m[0].(map[string]any)["name"] != "/new" {
				w.Errorf("matches = %v, want /new by its alias", m)
			}
		},
	},
	{
		name: "fcm.register", send: `{"type":"fcm.register","id":{id},"payload":{"fcm_token":"f","ntfy_topic":"n"}}`,
		answer: "ack", has: map[string]any{"ok": true},
	},
	{
		name: "agent.stop", send: `{"type":"agent.stop","id":{id},"payload":{}}`, answer: "agent.idle", // none runs
	},
	{
		name:   "agent.stop",
		before: func(w *world) { w.event("turn.start", "tn1", `{"source":"user"}`) },
		send:   `{"type":"agent.stop","id":{id},"payload":{}}`,
		host: func(w *world) {
			in := w.host.until("stop", func(f frame) bool { return f["kind"] == "stop" })
			w.event("done", "", fmt.Sprintf(`{"cursor":%v,"item":%v,"ok":true}`, in["cursor"], in["item"]))
			w.event("turn.end", "tn1", `{"outcome":"stopped"}`)
		},
		answer: "agent.idle", mine: []string{"agent.busy", "agent.idle"}, others: []string{"agent.busy", "agent.idle"},
		log: []string{"agent.busy", "agent.idle"}, asks: []string{"stop"},
	},
	{
		name:   "agent.steer",
		before: func(w *world) { w.event("turn.start", "tn2", `{"source":"user"}`) },
		send:   `{"type":"agent.steer","id":{id},"payload":{"text":"focus on the error"}}`,
		host: func(w *world) {
			in := w.host.until("steer", func(f frame) bool { return f["kind"] == "steer" })
			w.event("done", "", fmt.Sprintf(`{"cursor":%v,"item":%v,"ok":true}`, in["cursor"], in["item"]))
		},
		answer: "ack", has: map[string]any{"ok": true},
		mine: []string{"agent.busy", "message"}, others: []string{"agent.busy", "message"},
		log: []string{"agent.busy", "message"}, asks: []string{"steer"},
	},
	{
		name: "agent.steer", send: `{"type":"agent.steer","id":{id},"payload":{"text":"too late"}}`,
		host: func(w *world) {
			in := w.host.until("steer", func(f frame) bool { return f["kind"] == "steer" })
			w.event("done", "", fmt.Sprintf(`{"cursor":%v,"item":%v,"ok":false,"error":"nothing runs"}`, in["cursor"], in["item"]))
			w.event("turn.end", "tn2", `{"outcome":"completed"}`)
		},
		answer: "error", has: map[string]any{"code": "internal", "message": "nothing runs"},
		mine: []string{"message", "agent.idle"}, others: []string{"message", "agent.idle"},
		log: []string{"message", "agent.idle"}, asks: []string{"steer"},
	},
	{
		name: "picker.select",
		before: func(w *world) {
			w.prompt(wire.PickerModel{PickerID: "pm", CurrentModel: "a", Providers: []wire.PickerProvider{{ID: "p", Models: []wire.ModelLabel{{ID: "a"}}}}}, "pm")
			w.prompt(wire.PickerChoice{PickerID: "pc", Choices: []wire.Choice{{Value: "low", IsCurrent: true}}}, "pc")
			w.prompt(wire.PickerClarify{PickerID: "pq", AllowText: true}, "pq")
			w.prompt(wire.PickerApproval{PickerID: "pa", Choices: []wire.Choice{{Value: "deny", Style: "danger"}}, ExpiresAt: 5}, "pa")
			w.prompt(wire.PickerConfirm{PickerID: "pf", Extra: map[string]any{"of": "hermes"}}, "pf")
		},
		send:   `{"type":"picker.select","id":{id},"payload":{"picker_id":"pm","value":"p/a"}}`,
		answer: "picker.closed", has: map[string]any{"picker_id": "pm", "value": "p/a", "device_id": "phone"},
		mine:   []string{"picker.model", "picker.choice", "picker.clarify", "picker.approval", "picker.confirm"},
		others: []string{"picker.model", "picker.choice", "picker.clarify", "picker.approval", "picker.confirm", "picker.closed"},
		log:    []string{"picker.model", "picker.choice", "picker.clarify", "picker.approval", "picker.confirm", "picker.closed"},
		gone:   []string{"picker.model"}, asks: []string{"answer"},
	},
	{
		name: "picker.select", send: `{"type":"picker.select","id":{id},"payload":{"picker_id":"pq","value":null,"text":"neither"}}`,
		answer: "picker.closed", has: map[string]any{"value": nil, "text": "neither", "device_id": "phone"},
		others: []string{"picker.closed"}, log: []string{"picker.closed"}, asks: []string{"answer"},
	},
	{
		name: "picker.select", send: `{"type":"picker.select","id":{id},"payload":{"picker_id":"pm","value":"p/b"}}`,
		answer: "error", has: map[string]any{"code": "not_found"},
	},
	{name: "sync", send: `{"type":"sync","id":{id},"payload":{"cursor":{synced}}}`, answer: "sync.done", has: map[string]any{"complete": true},
		mine: []string{"picker.choice", "picker.approval", "picker.confirm"}},
	{name: "hello", send: `{"type":"hello","id":{id},"payload":{"token":"t","device_id":"d"}}`, answer: "error", has: map[string]any{"code": "unsupported"}},
	{
		name: "message.delete", send: `{"type":"message.delete","id":{id},"payload":{"message_ids":["{first}","{first}"]}}`,
		answer: "message.deleted", has: map[string]any{"message_ids": "[{first}]"},
		others: []string{"message.deleted"}, log: []string{"message.deleted"}, asks: []string{"delete"},
	},
	{ // gone already: who asks is answered, the others know
		name: "message.delete", send: `{"type":"message.delete","id":{id},"payload":{"message_ids":["{first}"]}}`, answer: "message.deleted",
	},
	{ // it came before
		name: "message.send", send: `{"type":"message.send","id":{id},"payload":{"text":"hello","client_id":"c1"}}`,
		answer: "message.deleted", has: map[string]any{"message_ids": "[{first}]"},
	},
	{
		name: "message.delete", send: `{"type":"message.delete","id":{id},"chat_id":"{channel}","payload":{"message_ids":["{first}"]}}`,
		answer: "error", has: map[string]any{"code": "not_found"}, // of another channel
	},
	{
		name: "channel.delete", send: `{"type":"channel.delete","id":{id},"chat_id":"android:default"}`,
		answer: "error", has: map[string]any{"code": "unsupported"},
	},
	{
		name: "channel.delete", send: `{"type":"channel.delete","id":{id},"chat_id":"{channel}"}`,
		answer: "channel.deleted", has: map[string]any{"chat_id": "{channel}"},
		others: []string{"channel.deleted"}, log: []string{"channel.deleted"}, asks: []string{"lane.delete"},
		after: func(w *world, answer frame) {
			if threads := answer.payload()["thread_ids"].([]any); len(threads) != 1 {
				w.Errorf("threads %v went with the channel, want one", threads)
			}
		},
	},
	{
		name: "channel.delete", send: `{"type":"channel.delete","id":{id},"chat_id":"{channel}"}`,
		answer: "error", has: map[string]any{"code": "not_found"},
	},
	{name: "search", send: `{"type":"search","id":{id},"payload":{"query":"deploy"}}`, answer: "search.results", has: map[string]any{"query": "deploy", "scope": "all", "has_more": false}},
	{
		name: "media.upload.start", send: `{"type":"media.upload.start","id":{id},"payload":{"media_ref":"mu","kind":"image","mime":"image/png","size":0,"filename":"a.png","resume":true}}`,
		answer: "media.upload.ready", has: map[string]any{"media_ref": "mu", "offset": 0.0},
	},
	{
		name: "media.upload.end", send: `{"type":"media.upload.end","id":{id},"payload":{"media_ref":"mu","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}`,
		answer: "media.upload.ack", has: map[string]any{"media_ref": "mu", "ok": true},
	},
	{
		name: "message.send", send: `{"type":"message.send","id":{id},"payload":{"text":"","media_refs":["mu"]}}`,
		answer: "message", others: []string{"message"}, log: []string{"message"}, asks: []string{"message"},
		after: func(w *world, answer frame) {
			w.vars["medium"] = answer.payload()["media"].([]any)[0].(map[string]any)["media_id"].(string)
		},
	},
	{
		name: "media.pull", send: `{"type":"media.pull","id":{id},"payload":{"media_id":"{medium}"}}`,
		answer: "media.pull", has: map[string]any{"size": 0.0, "filename": "a.png", "offset": 0.0}, ends: "media.pull.end",
	},
	{name: "media.pull", send: `{"type":"media.pull","id":{id},"payload":{"media_id":"md_none"}}`, answer: "error", has: map[string]any{"code": "not_found"}},
}

func TestEveryFrame(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) store{
		"memory":    func(testing.TB) store { return memstore.New() },
		"firestore": firestore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open(t))
			asked := map[string]bool{}
			for i, s := range steps {
				w.walk(i+1, s)
				asked[s.name] = true
				if t.Failed() {
					return
				}
			}
			w.turn()
			for _, name := range goldenTypes(t, true) {
				if !asked[name] {
					t.Errorf("no step for the request %s", name)
				}
			}
			for _, name := range goldenTypes(t, false) {
				if !w.seen[name] {
					t.Errorf("no device got a %s", name)
				}
			}
		})
	}
}

// walk does a step and compares all that it leads to.
func (w *world) walk(id int, s step) {
	w.Helper()
	title := fmt.Sprintf("step %d, %s", id, s.name)
	mark := w.head()
	if s.before != nil {
		s.before(w)
	}
	w.vars["id"], w.vars["synced"] = fmt.Sprint(id), fmt.Sprint(w.cursor) // not the head: the instance may be behind the store
	w.phone.send("%s", w.fill(s.send))
	if s.host != nil {
		s.host(w)
	}
	var answer frame
	var mine []frame
	w.phone.until("answer to "+title, func(f frame) bool {
		if answer = f; f["id"] == float64(id) {
			return true
		}
		mine = append(mine, f)
		return false
	})
	if s.ends != "" {
		w.see(w.phone.until(s.ends, func(f frame) bool { return f["id"] == float64(id) && f.is(s.ends) }))
	}
	w.see(answer)
	w.see(mine...)
	for _, f := range w.collect(w.phone) {
		if f["id"] != nil {
			w.Errorf("%s: a second answer: %v", title, f)
		}
		mine = append(mine, f)
	}
	if !answer.is(s.answer) {
		w.Errorf("%s: answered with %v, want %s", title, answer, s.answer)
	}
	for field, want := range s.has {
		if name, ok := want.(string); ok {
			want = w.fill(name)
		}
		if got := answer.payload()[field]; fmt.Sprint(got) != fmt.Sprint(want) {
			w.Errorf("%s: %s = %v, want %v", title, field, got, want)
		}
	}
	sameTypes(w, title+": the phone itself", types(mine), s.mine)
	sameTypes(w, title+": the other device", types(w.collect(w.other)), s.others)
	frames, inbound := w.logged(mark)
	sameTypes(w, title+": the log", frames, s.log)
	sameTypes(w, title+": inbound", inbound, s.asks)
	before, _ := w.missed()
	want := slices.DeleteFunc(slices.Clone(s.log), func(f string) bool { return slices.Contains(s.gone, f) })
	sameTypes(w, title+": sync", types(before), want)
	if s.after != nil {
		s.after(w, answer)
	}
}

// turn walks the frames of a turn: what devices get live, what the log keeps,
// and what comes by sync.
func (w *world) turn() {
	w.Helper()
	mark := w.head()
	w.event("turn.start", "tn9", `{"source":"user"}`)
	w.host.event(0, "model.start", "tn9", `{"text":"hello"}`)
	w.host.event(0, "send", "tn9", `{"message_id":"a1","text":"Let me look. ▉","streaming":true}`)
	w.event("model.end", "tn9", `{"finish_reason":"tool_calls","text":"Let me look.","model":"m"}`)
	w.host.event(0, "tool.start", "tn9", `{"call":"c","index":1,"name":"terminal","args":{"command":"ls"},"preview":"ls"}`)
	w.host.event(0, "tool.progress", "tn9", `{"call":"c","note":"running"}`)
	w.event("tool.end", "tn9", `{"call":"c","index":1,"name":"terminal","args":{"command":"ls"},"preview":"ls","ok":true,"duration":1,"output_tail":"x"}`)
	w.host.event(0, "send", "tn9", `{"message_id":"a2","text":"Done ▉","streaming":true}`)
	w.event("model.end", "tn9", `{"finish_reason":"stop","text":"Done.","model":"m"}`)
	w.event("answer", "tn9", `{"text":"Done."}`)
	w.event("edit", "tn9", `{"message_id":"a2","text":"Done.","final":true}`)
	w.event("turn.end", "tn9", `{"outcome":"completed"}`)
	w.host.bring("md_9", []byte("a picture"))
	w.event("media", "tn9", `{"message_id":"a3","media_id":"md_9","sha256":"`+hashOf([]byte("a picture"))+`","caption":"Look"}`)
	w.event("notice", "", `{"key":"update","text":"a new version"}`)
	w.event("cron", "", `{"message_id":"cr1","text":"report","job":"daily"}`)
	w.host.send(`{"type":"received","cursor":%v}`, w.head())
	w.phone.until("read.receipt", func(f frame) bool { w.see(f); return f.is("read.receipt") })
	w.collect(w.phone)
	frames, _ := w.logged(mark)
	for _, kind := range live {
		if !w.seen[kind] {
			w.Errorf("turn: nobody got a %s", kind)
		}
		if kind != "tool.start" && slices.Contains(frames, kind) {
			w.Errorf("turn: %s is in the log", kind)
		}
	}
	before, after := w.missed()
	var kinds []string
	for _, f := range before {
		kinds = append(kinds, fmt.Sprint(f["type"]))
	}
	sameTypes(w, "turn: sync", kinds, frames)
	sameTypes(w, "turn: open pickers after sync", types(after), []string{"picker.choice", "picker.approval", "picker.confirm"})
	// A beat that hermes does not stream, without agent.streaming.
	w.host.drop()
	w.host = dial(w.T, "host", w.in.url+"/host", w.hostToken)
	w.host.send(`{"type":"hello","protocol":1,"epoch":"e1","process":"p2","last_seq":%d,"received":%d,
		"agent":{"name":"hermes-agent","version":"0.19.0","model":"m","streaming":false},"plugin":"0.1.0","commands":[],"turns":[]}`, w.seq, w.head())
	w.host.next("hello.ack")
	w.event("turn.start", "tn10", `{"source":"user"}`)
	w.event("send", "tn10", `{"message_id":"a3","text":"a beat"}`)
	w.event("turn.end", "tn10", `{"outcome":"completed"}`)
	w.collect(w.phone)
}
