package handlers_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/push"
	"iris-gateway/testenv"
	"iris-gateway/testenv/fakefcm"
)

// waking makes an instance wake devices by the real SDK and a server that
// answers like FCM.
func waking(t testing.TB, store interface {
	store
	push.Store
}, change ...func(*push.Config)) (func(*handlers.Config), *fakefcm.Server) {
	t.Helper()
	server := fakefcm.Start()
	fcm, err := cloudstore.OpenFCM(t.Context(), cloudstore.FCMConfig{Project: "demo-push", Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fcm.Close(); server.Close() })
	return func(cfg *handlers.Config) {
		pc := push.Config{Store: store, FCM: fcm, Preview: true, Log: cfg.Log}
		for _, c := range change {
			c(&pc)
		}
		cfg.Push = push.New(pc)
		cfg.Hub = hub.New(hub.Config{Store: store, LogEntries: 64, Log: cfg.Log, Notifier: cfg.Push})
	}, server
}

// deviceRow is what operators see of a device.
type deviceRow struct {
	DeviceID         string `json:"device_id"`
	Attached         bool
	LastPushedCursor int64 `json:"last_pushed_cursor"`
	Push             string
	PushOutcome      string `json:"push_outcome"`
	PushAt           int64  `json:"push_at"`
}

// listed returns a device as operators see it, once it is as wanted.
func (in *instance) listed(gateway, id string, wanted func(deviceRow) bool) deviceRow {
	in.t.Helper()
	var row deviceRow
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var list struct{ Devices []deviceRow }
		in.admin("GET", "/admin/gateways/"+gateway+"/devices", "", http.StatusOK, &list)
		for _, d := range list.Devices {
			if row = d; d.DeviceID == id && wanted(d) {
				return row
			}
		}
	}
	in.t.Fatalf("device %s stays %+v", id, row)
	return row
}

// registered pairs a device with an FCM token that then goes away.
func (in *instance) registered(gateway, id, fcm string) (token string, ack frame) {
	in.t.Helper()
	token = in.pair(gateway)
	p := in.socket(id)
	p.send(`{"type":"hello","payload":{"token":%q,"device_id":%q,"fcm_token":%q,"caps":{"push":"fcm"}}}`, token, id, fcm)
	ack = p.next("hello.ack")
	p.next("status")
	p.drop()
	in.away(gateway, id)
	return token, ack
}

// away waits until a device is detached.
func (in *instance) away(gateway, id string) {
	in.t.Helper()
	in.listed(gateway, id, func(d deviceRow) bool { return !d.Attached })
}

// counting opens a store on the emulator that counts what is spent.
func counting(t *testing.T) (*cloudstore.Store, *spending) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short")
	}
	spent := &spending{ops: map[string]int{}}
	store, err := cloudstore.Open(t.Context(), cloudstore.Config{Project: testenv.Firestore(t).Project, MaxSockets: 10, Count: spent.count})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return store, spent
}

// An answer and an approval wake a phone in a pocket, once; it learns by
// hello.ack what it was woken for. What the operator sees of it.
func TestPushes(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	option, fcm := waking(t, store)
	in := startWith(t, store, option)
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	token, ack := in.registered(g, "phone", "secret-f1")
	if caps := ack.payload()["server_caps"].(map[string]any); caps["push"] != "fcm" {
		t.Errorf("server_caps = %v", caps)
	}
	host.event(1, "turn.start", "t1", `{"trigger":"m","source":"user"}`)
	host.event(2, "send", "t1", `{"message_id":"a1","text":"It is **done**.","notify":true}`)
	host.event(3, "turn.end", "t1", `{"outcome":"completed"}`)
	host.acked(3)
	calls := fcm.Wait("secret-f1", 1, patience)
	if len(calls) != 1 || calls[0].Other || calls[0].Priority != "high" || calls[0].Data["body"] != "It is **done**." ||
		calls[0].Data["message_id"] != "a1" || calls[0].Data["kind"] != "message" {
		t.Fatalf("pushed %+v", calls)
	}
	expires := time.Now().Add(2 * time.Minute)
	host.event(4, "prompt", "t2", fmt.Sprintf(`{"prompt_id":"p1","kind":"approval","command":"rm -rf /tmp/x","expires_at":%d}`, expires.UnixMilli()))
	host.acked(4)
	if calls = fcm.Wait("secret-f1", 2, patience); len(calls) != 2 || calls[1].Data["kind"] != "approval" || calls[1].Data["body"] != "rm -rf /tmp/x" || calls[1].Collapse != "" {
		t.Fatalf("pushed %+v", calls)
	}
	if ttl, err := time.ParseDuration(calls[1].TTL); err != nil || ttl > 2*time.Minute || ttl < 110*time.Second {
		t.Errorf("TTL of the approval: %s", calls[1].TTL)
	}
	row := in.listed(g, "phone", func(d deviceRow) bool { return fmt.Sprint(d.LastPushedCursor) == calls[1].Data["cursor"] })
	if row.Push != "fcm" || row.PushOutcome != "sent by fcm" || row.PushAt == 0 {
		t.Errorf("the operator sees %+v", row)
	}
	phone := in.device(token, "phone")
	if last := phone.next("hello.ack").payload()["last_pushed_cursor"]; last != float64(row.LastPushedCursor) {
		t.Errorf("last_pushed_cursor = %v, want %d", last, row.LastPushedCursor)
	}
	phone.send(`{"type":"sync","id":1}`)
	phone.next("sync.done")
	time.Sleep(300 * time.Millisecond)
	if calls = fcm.Calls(""); len(calls) != 2 {
		t.Errorf("%d pushes after the reconnect, want the two from before", len(calls))
	}
}

// `push-test` says what FCM answered, for each kind of answer.
func TestPushTest(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	option, fcm := waking(t, store)
	in := startWith(t, store, option)
	g, _ := in.gateway()
	in.registered(g, "phone", "secret-f1")
	in.registered(g, "none", "")
	var got struct{ Outcome, Detail string }
	ask := func(device string) {
		t.Helper()
		in.admin("POST", "/admin/gateways/"+g+"/devices/"+device+"/push-test", "", http.StatusOK, &got)
	}
	for _, tt := range []struct{ answer, outcome, detail string }{
		{"200", "sent", "fcm"}, {"400", "failed", "fcm: 400 INVALID_ARGUMENT"}, {"401", "failed", "fcm: 401 UNAUTHENTICATED"},
		{"404", "failed", "fcm: 404 NOT_FOUND"}, {"429 30", "failed", "fcm: 429 QUOTA_EXCEEDED"}, {"500", "failed", "fcm: 500 INTERNAL"},
		{"close", "failed", "fcm: no answer: connection closed"}, {"unregistered", "unregistered", "fcm: 404 UNREGISTERED"},
	} {
		fcm.Answer("secret-f1", tt.answer)
		if ask("phone"); got.Outcome != tt.outcome || got.Detail != tt.detail {
			t.Errorf("FCM answers %s: push-test says %+v", tt.answer, got)
		}
	}
	if row := in.listed(g, "phone", func(deviceRow) bool { return true }); row.Push != "none" || row.PushOutcome != "unregistered (fcm: 404 UNREGISTERED)" || row.LastPushedCursor != 0 {
		t.Errorf("the operator sees %+v", row)
	}
	for _, device := range []string{"phone", "none"} {
		if ask(device); got.Outcome != "none" {
			t.Errorf("%s without a registration: %+v", device, got)
		}
	}
	in.admin("POST", "/admin/gateways/"+g+"/devices/nobody/push-test", "", http.StatusNotFound, nil)
	plain := start(t, memstore.New())
	p, _ := plain.gateway()
	plain.device(plain.pair(p), "d").next("status")
	plain.admin("POST", "/admin/gateways/"+p+"/devices/d/push-test", "", http.StatusOK, &got)
	if got.Outcome != "none" {
		t.Errorf("with push off: %+v", got)
	}
}

// A live device confirms by its pong, and costs no read; one that is away costs
// one read and one write a push.
func TestPushOperations(t *testing.T) {
	t.Parallel()
	store, spent := counting(t)
	option, fcm := waking(t, store)
	in := startWith(t, store, option)
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	in.registered(g, "away", "f-away")
	live := in.socket("live")
	live.send(`{"type":"hello","payload":{"token":%q,"device_id":"live","fcm_token":"f-live"}}`, in.pair(g))
	live.next("status")
	time.Sleep(6 * time.Second) // the cursor of the attachment is saved
	spent.take()
	host.event(1, "send", "", `{"message_id":"a1","text":"hello","notify":true}`)
	host.acked(1)
	live.next("message")
	fcm.Wait("f-away", 1, patience)
	time.Sleep(10 * time.Second) // 8 s for the live one, 5 s for its cursor
	named, _ := spent.take()
	t.Logf("spent: %v", named)
	// Of the devices: the row before the call, the note after it; the cursor of the live one.
	if named["read devices"] != 1 || named["write devices"] != 2 || named["read outbox"] != 0 {
		t.Errorf("spent %v", named)
	}
	if calls := fcm.Calls(""); len(calls) != 1 {
		t.Errorf("%d pushes, want 1 for the one that is away", len(calls))
	}
}

// What FCM answers, through the real SDK: what is tried again and when, what is
// dropped, and that neither token nor text gets into the log.
func TestPushAnswers(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	option, fcm := waking(t, store)
	log := &logs{}
	in := startWith(t, store, func(cfg *handlers.Config) {
		cfg.Log = slog.New(slog.NewTextHandler(io.MultiWriter(log, testenv.Log(t, testenv.Gateways, "push")), &slog.HandlerOptions{Level: slog.LevelDebug}))
		option(cfg)
	})
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	cases := map[string]struct {
		answers []string
		calls   int
		gap     time.Duration // between the first two calls
		outcome string
	}{
		"ok": {[]string{"200"}, 1, 0, "sent by fcm"}, "bad": {[]string{"400"}, 1, 0, "failed (fcm: 400 INVALID_ARGUMENT)"},
		"auth": {[]string{"401"}, 1, 0, "failed (fcm: 401 UNAUTHENTICATED)"}, "odd": {[]string{"404"}, 1, 0, "failed (fcm: 404 NOT_FOUND)"},
		"gone": {[]string{"unregistered"}, 1, 0, "unregistered (fcm: 404 UNREGISTERED)"}, "sender": {[]string{"sender"}, 1, 0, "failed (fcm: 403 SENDER_ID_MISMATCH)"},
		"quota": {[]string{"429 3", "200"}, 2, 3 * time.Second, "sent by fcm"}, "500": {[]string{"500", "200"}, 2, time.Second, "sent by fcm"},
		"503": {[]string{"503 2", "200"}, 2, 2 * time.Second, "sent by fcm"}, "close": {[]string{"close", "200"}, 2, time.Second, "sent by fcm"},
		"cut": {[]string{"cut", "200"}, 2, time.Second, "sent by fcm"}, "hang": {[]string{"hang", "200"}, 2, 10 * time.Second, "sent by fcm"},
	}
	for id, c := range cases {
		fcm.Answer("secret-"+id, c.answers...)
		in.registered(g, id, "secret-"+id)
	}
	host.event(1, "send", "", `{"message_id":"a1","text":"secret text","notify":true}`)
	host.acked(1)
	for id, c := range cases {
		calls := fcm.Wait("secret-"+id, c.calls, 30*time.Second)
		row := in.listed(g, id, func(d deviceRow) bool { return d.PushOutcome == c.outcome })
		if len(calls) != c.calls || c.calls == 2 && calls[1].At.Sub(calls[0].At) < c.gap {
			t.Errorf("%s: %d calls, want %d, the second after %v: %+v", id, len(calls), c.calls, c.gap, calls)
		}
		if (row.Push == "none") != (id == "gone") || (row.LastPushedCursor > 0) != (c.outcome == "sent by fcm") {
			t.Errorf("%s: the operator sees %+v", id, row)
		}
	}
	if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "429 QUOTA_EXCEEDED") {
		t.Errorf("the log tells a token or a text, or nothing of what happened:\n%s", text)
	}
}

// logs keeps what is logged.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
