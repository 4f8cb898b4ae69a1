package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// The host's title takes the place of a derived name, on every instance, once,
// and never that of a name that a person gave.
func TestTitles(t *testing.T) {
	t.Parallel()
	w, there, a, b := twoPhones(t, memstore.New())
	title := func(thread, name string) {
		w.seq++
		w.host.send(`{"type":"event","seq":%d,"kind":"title","chat_id":%q,"thread_id":%q,"body":{"title":%q}}`, w.seq, lane, thread, name)
		w.host.acked(w.seq)
	}
	a.send(`{"type":"message.send","id":1,"payload":{"text":"please\n\ndeploy %s","auto_thread":true}}`, strings.Repeat("very ", 30))
	created := b.next("channel.created")
	if name := created.text("name"); created.payload()["auto"] != true || !strings.HasPrefix(name, "please deploy very") || !strings.HasSuffix(name, "…") || len([]rune(name)) > 50 {
		t.Errorf("channel.created = %v", created)
	}
	if f := b.next("message"); f["thread_id"] != created.text("thread_id") {
		t.Errorf("the echo is in %v", f)
	}
	thread := created.text("thread_id")
	title(thread, " \n")
	title(thread, "Deploying the\nservice "+strings.Repeat("x", 200))
	renamed := b.next("channel.renamed")
	if name := renamed.text("name"); !strings.HasPrefix(name, "Deploying the service x") || len([]rune(name)) != 100 || renamed.text("thread_id") != thread {
		t.Errorf("channel.renamed = %v", renamed)
	}
	title(thread, "Another")
	title("", "Not for channels")
	title("t_none", "Not for nobody")

	a.send(`{"type":"message.send","id":2,"payload":{"text":"second","auto_thread":true}}`)
	second := b.next("channel.created").text("thread_id")
	b.send(`{"type":"channel.rename","id":3,"chat_id":%q,"thread_id":%q,"payload":{"name":"Mine"}}`, lane, second)
	b.until("renamed", func(f frame) bool { return f["id"] == 3.0 })
	title(second, "Theirs")

	w.seq++
	w.host.send(`{"type":"event","seq":%d,"kind":"thread.create","chat_id":%q,"body":{"thread_id":"t_host","name":"Handoff"}}`, w.seq, lane)
	f := a.until("the host's thread", func(f frame) bool { return f.is("channel.created") && f.text("thread_id") == "t_host" })
	if f.text("name") != "Handoff" || f.payload()["auto"] != nil {
		t.Errorf("channel.created = %v", f)
	}
	w.host.acked(w.seq)
	want := map[string]string{"": "Default", thread: renamed.text("name"), second: "Mine", "t_host": "Handoff"}
	for _, in := range []*instance{w.in, there} {
		p := in.device(w.in.pair(w.g), "looks on")
		for _, c := range p.next("hello.ack").payload()["channels"].([]any) {
			c := c.(map[string]any)
			id, _ := c["thread_id"].(string)
			if c["name"] != want[id] {
				t.Errorf("%q has the name %q, want %q", id, c["name"], want[id])
			}
		}
		p.drop()
	}
}

// auto_thread is for the flat lane; a repeated message begins no second thread.
func TestAutoThreadOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	send := `{"type":"message.send","id":%d,"payload":{"text":"once","client_id":"c","auto_thread":true}}`
	w.phone.send(send, 1)
	first := w.phone.next("message")
	w.phone.send(send, 2)
	again := w.phone.next("message")
	if again["thread_id"] != first["thread_id"] || again.text("message_id") != first.text("message_id") {
		t.Errorf("again %v, at first %v", again, first)
	}
	w.phone.send(`{"type":"message.send","id":3,"chat_id":%q,"thread_id":%q,"payload":{"text":"inside","auto_thread":true}}`, lane, first["thread_id"])
	if f := w.phone.next("message"); f["thread_id"] != first["thread_id"] {
		t.Errorf("auto_thread in a thread: %v", f)
	}
	rows, err := w.store.Channels(t.Context(), w.g)
	if err != nil || len(rows) != 2 {
		t.Errorf("channels %v, %v", rows, err)
	}
}

// 500 channels and 1,000 threads; beyond it auto_thread stays in the lane.
func TestDirectoryIsBounded(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	in := start(t, s)
	g, _ := in.gateway()
	var changes []iris.Change
	for i := range wire.MaxChannels - 2 {
		changes = append(changes, iris.PutChannel{Channel: iris.Channel{Lane: iris.Lane{ChatID: fmt.Sprint("c", i)}, Name: "n", Kind: iris.KindChannel}})
	}
	commit := func(cursor int64) {
		if err := s.Append(t.Context(), g, iris.Commit{Entry: iris.Entry{Cursor: cursor, First: 1}, Changes: changes}); err != nil {
			t.Fatal(err)
		}
		changes = nil
	}
	changes = changes[:490]
	commit(2)
	for i := 490; i < wire.MaxChannels-2; i++ {
		changes = append(changes, iris.PutChannel{Channel: iris.Channel{Lane: iris.Lane{ChatID: fmt.Sprint("c", i)}, Name: "n", Kind: iris.KindChannel}})
	}
	commit(3)
	for part := range 4 {
		for i := range 250 {
			if part+i > 0 { // one is left
				changes = append(changes, iris.PutChannel{Channel: iris.Channel{
					Lane: iris.Lane{ChatID: lane, ThreadID: fmt.Sprint("t", part, ".", i)}, Name: "n", Kind: iris.KindThread}})
			}
		}
		commit(int64(4 + part))
	}
	phone := in.device(in.pair(g), "d")
	phone.next("status")
	ask := func(send, want string) frame {
		t.Helper()
		phone.send("%s", send)
		f := phone.until(want, func(f frame) bool { return f["id"] == 1.0 })
		if !f.is(want) {
			t.Errorf("%s: %v, want %s", send, f, want)
		}
		return f
	}
	channel := `{"type":"channel.create","id":1,"payload":{"name":"x"}}`
	thread := `{"type":"channel.create","id":1,"chat_id":"android:default","payload":{"name":"x","kind":"thread"}}`
	ask(channel, "channel.created")
	if f := ask(channel, "error"); !strings.Contains(f.text("message"), "500 channels") {
		t.Errorf("error = %v", f)
	}
	ask(thread, "channel.created")
	if f := ask(thread, "error"); !strings.Contains(f.text("message"), "1000 threads") {
		t.Errorf("error = %v", f)
	}
	if f := ask(`{"type":"message.send","id":1,"payload":{"text":"x","auto_thread":true}}`, "message"); f["thread_id"] != nil {
		t.Errorf("message = %v, want it in the flat lane", f)
	}
	ask(`{"type":"channel.set_default","id":1,"chat_id":"c7"}`, "channel.list")
}

// The directory begins with the channel that is the default now, whoever made it
// so, and however a device learns of it.
func TestDefaultIsFirst(t *testing.T) {
	t.Parallel()
	w, there, a, b := twoPhones(t, memstore.New())
	for i := range 4 {
		chat := ask(a, "channel.create", iris.Lane{}, `{"name":"c"}`).text("chat_id")
		b.next("channel.created")
		asks, looks := a, b
		if i%2 == 1 {
			asks, looks = b, a
		}
		lists := map[string]frame{"the answer": ask(asks, "channel.set_default", iris.Lane{ChatID: chat}, `{}`), "the broadcast": looks.next("channel.list")}
		for name, in := range map[string]*instance{"here": w.in, "there": there} {
			p := in.device(w.in.pair(w.g), "looks on")
			lists["hello.ack "+name] = p.next("hello.ack")
			p.drop()
		}
		for name, f := range lists {
			first := f.payload()["channels"].([]any)[0].(map[string]any)
			if first["chat_id"] != chat || first["is_default"] != true || first["kind"] != "default" {
				t.Errorf("%s begins with %v, want %s", name, first, chat)
			}
		}
	}
}

// The read position only moves forward, by when messages began.
func TestReadPosition(t *testing.T) {
	t.Parallel()
	w, there, a, b := twoPhones(t, memstore.New())
	var ids []string
	for i := range 3 {
		a.send(`{"type":"message.send","id":%d,"payload":{"text":"x"}}`, i)
		ids = append(ids, a.until("echo", func(f frame) bool { return f["id"] == float64(i) }).text("message_id"))
		time.Sleep(2 * time.Millisecond) // of one millisecond the ids decide
	}
	b.send(`{"type":"read.receipt","payload":{"chat_id":%q,"message_id":%q}}`, lane, ids[2]) // without id: no ack
	if f := a.next("read.receipt"); f.text("message_id") != ids[2] || f.text("device_id") != "b" {
		t.Errorf("read.receipt = %v", f)
	}
	for _, id := range ids {
		a.send(`{"type":"read.receipt","id":9,"chat_id":%q,"payload":{"message_id":%q}}`, lane, id)
		a.until("ack", func(f frame) bool { return f["id"] == 9.0 && f.is("ack") })
	}
	for _, f := range w.collect(b) {
		if f.is("read.receipt") || f.is("ack") {
			t.Errorf("the reader gets %v", f)
		}
	}
	for _, send := range []string{`{"message_id":"m_none"}`, `{"chat_id":"nope","message_id":"` + ids[0] + `"}`} {
		a.send(`{"type":"read.receipt","id":10,"payload":%s}`, send)
		if f := a.next("error"); f.text("code") != "not_found" {
			t.Errorf("%s: %v", send, f)
		}
	}
	for _, in := range []*instance{w.in, there} {
		p := in.device(w.in.pair(w.g), "looks on")
		c := p.next("hello.ack").payload()["channels"].([]any)[0].(map[string]any)
		if c["read_message_id"] != ids[2] {
			t.Errorf("read_message_id = %v, want %v", c["read_message_id"], ids[2])
		}
		p.drop()
	}
}

// Stop and steer need the host; a catalogue does not.
func TestHostAway(t *testing.T) {
	t.Parallel()
	w, _, a, b := twoPhones(t, memstore.New())
	w.event("turn.start", "tn1", `{"source":"user"}`)
	b.next("agent.busy")
	w.host.drop()
	b.until("degraded", func(f frame) bool { return f.is("status") && f.text("state") == "degraded" })
	for _, p := range []*peer{a, b} {
		for _, send := range []string{`{"type":"agent.stop","id":5}`, `{"type":"agent.steer","id":5,"payload":{"text":"x"}}`} {
			p.send("%s", send)
			if f := p.next("error"); f["id"] != 5.0 || f.text("code") != "internal" || f.text("message") != "agent host is offline" {
				t.Errorf("%s: %v", send, f)
			}
		}
		p.send(`{"type":"commands.catalog","id":6}`)
		if list := p.next("commands.catalog").payload()["commands"].([]any); len(list) != 2 {
			t.Errorf("catalogue %v", list)
		}
	}
}

// A device on another instance than the host gets the host's word by the log.
func TestStopAndSteerFromElsewhere(t *testing.T) {
	t.Parallel()
	w, _, a, b := twoPhones(t, memstore.New())
	w.event("turn.start", "tn1", `{"source":"user"}`)
	b.next("agent.busy")
	finish := func(kind, result string) {
		in := w.host.until(kind, func(f frame) bool { return f["kind"] == kind })
		w.event("done", "", fmt.Sprintf(`{"cursor":%v,"item":%v,%s}`, in["cursor"], in["item"], result))
	}
	b.send(`{"type":"agent.steer","id":1,"payload":{"text":"left"}}`)
	finish("steer", `"ok":true`)
	b.until("ack", func(f frame) bool { return f.is("ack") && f["id"] == 1.0 })
	if f := a.next("message"); f.text("text") != "left" || f.text("role") != "user" {
		t.Errorf("message = %v", f)
	}
	b.send(`{"type":"agent.stop","id":2}`)
	finish("stop", `"ok":false,"error":"it was too late"`)
	if f := b.next("error"); f["id"] != 2.0 || f.text("message") != "it was too late" {
		t.Errorf("error = %v", f)
	}
	b.send(`{"type":"agent.stop","id":3}`)
	w.host.until("stop", func(f frame) bool { return f["kind"] == "stop" })
	w.event("turn.end", "tn1", `{"outcome":"stopped"}`) // the end says it all, done may never come
	b.until("idle", func(f frame) bool { return f.is("agent.idle") && f["id"] == 3.0 })
}

// An answer that the host could not use any more is shown in its lane.
func TestAnswerTooLate(t *testing.T) {
	t.Parallel()
	w, _, _, b := twoPhones(t, memstore.New())
	w.prompt(wire.PickerConfirm{PickerID: "p"}, "p")
	b.next("picker.confirm")
	b.send(`{"type":"picker.select","id":1,"payload":{"picker_id":"p","value":"yes"}}`)
	in := w.host.until("answer", func(f frame) bool { return f["kind"] == "answer" })
	w.event("done", "", fmt.Sprintf(`{"cursor":%v,"item":%v,"ok":false,"error":"expired"}`, in["cursor"], in["item"]))
	if f := b.next("message"); f.text("role") != "system" || f.text("text") != "expired" {
		t.Errorf("message = %v", f)
	}
}

// A picker that the host gives up closes with null; its closing of one that a
// person has answered is not told again. Open ones are there after a restart.
func TestPickersOpenAndClosed(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	w, there, a, b := twoPhones(t, s)
	w.prompt(wire.PickerConfirm{PickerID: "p1"}, "p1")
	w.prompt(wire.PickerChoice{PickerID: "p2", Title: "<&>"}, "p2")
	b.next("picker.confirm")
	late := there.device(w.in.pair(w.g), "late") // fresh: without sync
	if f := late.next("picker.choice"); f["cursor"] != nil || f.text("title") != "<&>" {
		t.Errorf("picker.choice = %v", f)
	}
	closed := wire.Encode(iris.Lane{ChatID: lane}, wire.PickerClosed{PickerID: "p1"})
	w.append([]iris.Change{iris.AnswerPicker{ID: "p1"}}, closed)
	if f := a.next("picker.closed"); f.payload()["value"] != nil || f.payload()["device_id"] != nil {
		t.Errorf("picker.closed = %v", f)
	}
	b.next("picker.closed")
	b.send(`{"type":"picker.select","id":1,"payload":{"picker_id":"p1","value":"x"}}`)
	if f := b.next("error"); f.text("code") != "not_found" || !strings.Contains(f.text("message"), "already answered") {
		t.Errorf("error = %v", f)
	}
	w.in.stop()
	there.stop()
	in := start(t, s)
	p := in.device(in.pair(w.g), "new")
	p.next("picker.choice")
	p.send(`{"type":"picker.select","id":1,"payload":{"picker_id":"p2","value":"x"}}`)
	p.next("picker.closed")
}

// An answer that a picker does not offer is refused, and the question stays: the
// host would not take it, and nobody could give another one.
func TestPickersTakeWhatTheyOffer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	once := []wire.Choice{{Value: "once"}, {Value: "deny"}}
	for id, c := range map[string]struct {
		picker      wire.Payload
		wrong       []string // answers
		right, told string   // the answer, and what the host is told of it
	}{
		"approval": {wire.PickerApproval{PickerID: "approval", Choices: once},
			[]string{`"value":"always"`, `"value":"Once"`, `"value":""`, `"value":null,"text":"once"`}, `"value":"deny"`, "deny"},
		"clarify": {wire.PickerClarify{PickerID: "clarify", Choices: once, AllowText: true},
			[]string{`"value":"neither"`}, `"value":null,"text":"neither"`, "neither"},
		"model": {wire.PickerModel{PickerID: "model", Providers: []wire.PickerProvider{{ID: "p/q", Models: []wire.ModelLabel{{ID: "a/b"}}}}},
			[]string{`"value":"a/b"`, `"value":"p/q"`}, `"value":"p/q/a/b"`, "p/q/a/b"},
		"anything": {wire.PickerConfirm{PickerID: "anything"}, nil, `"value":"whatever"`, "whatever"},
	} {
		w.prompt(c.picker, id)
		w.phone.until("the picker", func(f frame) bool { return f.text("picker_id") == id })
		for _, answer := range c.wrong {
			if f := w.ask("picker.select", iris.Lane{}, fmt.Sprintf(`{"picker_id":%q,%s}`, id, answer)); f.text("code") != "unsupported" || !strings.Contains(f.text("message"), id) {
				t.Errorf("%s: %s: %v", id, answer, f)
			}
		}
		w.answered(w.ask("picker.select", iris.Lane{}, fmt.Sprintf(`{"picker_id":%q,%s}`, id, c.right)), "picker.closed")
		in := w.host.until("answer", func(f frame) bool { return f["kind"] == "answer" })
		if body := in["body"].(map[string]any); body["prompt_id"] != id || body["value"] != c.told && body["text"] != c.told {
			t.Errorf("%s: the host gets %v", id, in)
		}
	}
}

// Of two devices with one registration token the newest keeps it, whether it
// registers or says so in its hello.
func TestOneRegistration(t *testing.T) {
	t.Parallel()
	w, there, a, b := twoPhones(t, memstore.New())
	push := func(id string) string {
		t.Helper()
		d, err := w.store.Device(t.Context(), w.g, id)
		if err != nil {
			t.Fatal(err)
		}
		return d.FCMToken + "/" + d.NtfyTopic
	}
	register := func(p *peer, payload string) {
		t.Helper()
		p.send(`{"type":"fcm.register","id":1,"payload":%s}`, payload)
		p.next("ack")
	}
	register(a, `{"fcm_token":"f1","ntfy_topic":"n"}`)
	register(b, `{"fcm_token":"f1","ntfy_topic":"n"}`)
	if a, b := push("phone"), push("b"); a != "/n" || b != "f1/n" {
		t.Errorf("a has %q, b has %q", a, b)
	}
	register(b, `{"fcm_token":""}`)
	if b := push("b"); b != "/n" {
		t.Errorf("b has %q", b)
	}
	register(a, `{"fcm_token":"f2"}`)
	c := there.socket("c")
	c.send(`{"type":"hello","payload":{"token":%q,"device_id":"c","fcm_token":"f2"}}`, w.in.pair(w.g))
	c.next("status")
	if a, c := push("phone"), push("c"); a != "/n" || c != "f2/" {
		t.Errorf("a has %q, c has %q", a, c)
	}
}

func TestPairingsAndHostToken(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	in, there := start(t, s), start(t, s)
	g, hostToken := in.gateway()
	other, _ := in.gateway()
	used, unused := in.pair(g), in.pair(g)
	in.device(used, "d1").next("status")
	var list struct{ Pairings []struct{ ID, Name string } }
	in.admin("GET", "/admin/gateways/"+g+"/pairings", "", http.StatusOK, &list)
	if len(list.Pairings) != 1 || list.Pairings[0].Name != "phone" || strings.Contains(unused, list.Pairings[0].ID) {
		t.Fatalf("pairings = %+v", list)
	}
	in.admin("DELETE", "/admin/gateways/"+other+"/pairings/"+list.Pairings[0].ID, "", http.StatusNotFound, nil)
	in.admin("DELETE", "/admin/gateways/"+g+"/pairings/"+iris.HashToken(used), "", http.StatusNotFound, nil)
	in.admin("DELETE", "/admin/gateways/"+g+"/pairings/"+list.Pairings[0].ID, "", http.StatusNoContent, nil)
	if code := in.device(unused, "d2").closeCode(); code != 4401 {
		t.Errorf("close code %d for a dropped pairing", code)
	}

	host, _ := there.host(hostToken, "e1", 0, 0, "")
	var made struct {
		HostToken string `json:"host_token"`
	}
	in.admin("POST", "/admin/gateways/"+g+"/host-token", "", http.StatusOK, &made)
	if f := host.next("error"); f["code"] != "auth" {
		t.Errorf("error = %v", f)
	}
	if code := host.closeCode(); code != 4401 {
		t.Errorf("the host's connection ends with %d, want 4401", code)
	}
	if code := dial(t, "host", in.url+"/host", hostToken).closeCode(); code != 4401 {
		t.Errorf("the old token: %d, want 4401", code)
	}
	host, _ = in.host(made.HostToken, "e1", 0, 0, "")

	// The host pairs, lists and revokes devices of its own gateway.
	call := func(method, path, token string, want int) string {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), method, in.url+path, strings.NewReader(`{"name":"tablet"}`))
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var b strings.Builder
		_ = res.Write(&b)
		if res.StatusCode != want {
			t.Errorf("%s %s: %d, want %d: %s", method, path, res.StatusCode, want, b.String())
		}
		return b.String()
	}
	if body := call("POST", "/host/devices", made.HostToken, http.StatusCreated); !strings.Contains(body, "iris://pair?url=") {
		t.Errorf("pairing: %s", body)
	}
	if body := call("GET", "/host/devices", made.HostToken, http.StatusOK); !strings.Contains(body, `"d1"`) {
		t.Errorf("devices: %s", body)
	}
	call("DELETE", "/host/devices/d1", made.HostToken, http.StatusNoContent)
	call("DELETE", "/host/devices/d1", made.HostToken, http.StatusNotFound)
	for _, token := range []string{hostToken, used, adminToken, ""} {
		call("GET", "/host/devices", token, http.StatusUnauthorized)
	}
	host.send(`{"type":"received","cursor":0}`)
}
