package device_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iris-gateway/cmd/iris/internal/agent"
	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/gatewaytest"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// patience is how long a test waits for something that must come.
const patience = 30 * time.Second

// phone is a client under test, with all that it was told.
type phone struct {
	*device.Client
	t      *testing.T
	events chan device.Event
	ended  chan error
}

func dial(t *testing.T, g *gatewaytest.Gateway, cfg device.Config) *phone {
	t.Helper()
	p := &phone{t: t, events: make(chan device.Event, 10000), ended: make(chan error, 1)}
	cfg.URL = "ws://" + g.Addr + "/ws"
	cfg.Handle = func(e device.Event) { p.events <- e }
	cfg.MinRetry, cfg.MaxRetry = time.Millisecond, 20*time.Millisecond
	p.Client = device.New(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.ended <- p.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return p
}

// host runs the built-in agent against the gateway.
func host(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	a := agent.New(agent.Config{
		URL: "ws://" + g.Addr + "/host", Token: g.HostToken, Log: testenv.Logger(t, testenv.CommandLine),
		MinRetry: time.Millisecond, MaxRetry: 20 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("agent: %v", err)
		}
	})
}

// until takes events until one satisfies ok.
func (p *phone) until(what string, ok func(device.Event) bool) device.Event {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case e := <-p.events:
			if ok(e) {
				return e
			}
		case err := <-p.ended:
			p.t.Fatalf("waiting for %s, the client ended: %v", what, err)
		case <-deadline:
			p.t.Fatalf("no %s", what)
		}
	}
}

func synced(e device.Event) bool { _, ok := e.(device.Synced); return ok }

func frame(frameType string) func(device.Event) bool {
	return func(e device.Event) bool {
		f, ok := e.(device.Frame)
		return ok && f.Type == frameType
	}
}

var main = iris.Lane{ChatID: iris.DefaultChat}

func TestMessageIsAnswered(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	host(t, g)
	p := dial(t, g, device.Config{Token: g.Pair(), DeviceID: "d1", DeviceName: "one"})
	p.until("sync", synced)
	id, err := p.Send(main, "hello")
	if err != nil {
		t.Fatal(err)
	}
	sent := p.until("echo", func(e device.Event) bool { _, ok := e.(device.Sent); return ok }).(device.Sent)
	if sent.ClientID != id || sent.Message.Text != "hello" || sent.Lane != main {
		t.Errorf("echo %+v", sent)
	}
	receipt, err := device.Payload[wire.ReadReceipt](p.until("read.receipt", frame("read.receipt")).(device.Frame))
	if err != nil || receipt.MessageID != sent.Message.MessageID {
		t.Errorf("receipt for %q, sent %q (%v)", receipt.MessageID, sent.Message.MessageID, err)
	}
	stop, err := device.Payload[wire.MessageStop](p.until("answer", frame("message.stop")).(device.Frame))
	if err != nil || !strings.HasPrefix(stop.FinalText, "Hello!") || stop.Reasoning == "" || stop.Runtime == nil || stop.Tokens == 0 {
		t.Errorf("answer %+v (%v)", stop, err)
	}
	p.until("agent.idle", frame("agent.idle"))
}

// Whatever breaks, each message is sent, answered and shown exactly once.
func TestNothingIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	host(t, g)
	p := dial(t, g, device.Config{Token: g.Pair(), DeviceID: "d1", DeviceName: "one"})
	p.until("sync", synced)
	const n = 30
	want := map[string]string{} // by client id
	for i := range n {
		text := fmt.Sprintf("number %d", i)
		id, err := p.Send(main, text)
		if err != nil {
			t.Fatal(err)
		}
		want[id] = text
	}
	sent, answers, count := map[string]int{}, map[string]int{}, 0
	var order []string // of the answers: that of the messages
	breakIt := []func(){g.Cut, g.Cut, g.Restart}
	p.until("all answers", func(e device.Event) bool {
		if count++; count%37 == 0 && count < 37*12 {
			breakIt[count/37%len(breakIt)]()
		}
		switch e := e.(type) {
		case device.Refused:
			t.Errorf("refused: %s", e.Message)
		case device.Sent:
			sent[e.ClientID]++
			if e.Message.Text != want[e.ClientID] {
				t.Errorf("echo of %q is %q", want[e.ClientID], e.Message.Text)
			}
		case device.Frame:
			if e.Type == "message.stop" {
				stop, err := device.Payload[wire.MessageStop](e)
				if err != nil {
					t.Error(err)
				}
				if answers[stop.MessageID]++; answers[stop.MessageID] == 1 {
					order = append(order, numberIn(stop.FinalText))
				}
			}
			if e.Type == "message" && e.ID == "" {
				t.Errorf("own message came as somebody else's: %s", e.Payload)
			}
		}
		return len(answers) == n && len(sent) == n
	})
	for id, times := range sent {
		if times != 1 {
			t.Errorf("%q was echoed %d times", want[id], times)
		}
	}
	for id, times := range answers {
		if times != 1 {
			t.Errorf("answer %s came %d times", id, times)
		}
	}
	for i, number := range order {
		if number != fmt.Sprint(i) {
			t.Errorf("answer %d is to number %s", i, number)
		}
	}
	checkHistory(t, p, n)
}

// numberIn finds the number that the agent repeats.
func numberIn(text string) string {
	_, rest, _ := strings.Cut(text, "number ")
	number, _, _ := strings.Cut(rest, "”")
	return number
}

// checkHistory wants n different messages and n answers.
func checkHistory(t *testing.T, p *phone, n int) {
	t.Helper()
	ask := func() string {
		id, err := p.Request(wire.TypeHistory, main, wire.HistoryRequest{Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	id := ask()
	answer := p.until("history", func(e device.Event) bool {
		if _, ok := e.(device.Connected); ok {
			id = ask() // the connection that was asked is gone
		}
		f, ok := e.(device.Frame)
		return ok && f.ID == id
	})
	page, err := device.Payload[wire.History](answer.(device.Frame))
	if err != nil {
		t.Fatal(err)
	}
	users, answers := map[string]int{}, 0
	for _, m := range page.Messages {
		switch m.Role {
		case iris.RoleUser:
			users[m.Text]++
		case iris.RoleAssistant:
			answers++
		}
	}
	if len(page.Messages) != 2*n || len(users) != n || answers != n {
		t.Errorf("history holds %d messages: %d different of the user and %d answers, want %d of each", len(page.Messages), len(users), answers, n)
	}
}

// What is sent while the gateway is away goes out when it is back.
func TestSendWhileTheGatewayIsAway(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	p := dial(t, g, device.Config{Token: g.Pair(), DeviceID: "d1"})
	p.until("sync", synced)
	g.Stop()
	p.until("loss", func(e device.Event) bool { _, ok := e.(device.Lost); return ok })
	if _, err := p.Send(main, "later"); err != nil {
		t.Fatal(err)
	}
	g.Restart()
	p.until("echo", func(e device.Event) bool { s, ok := e.(device.Sent); return ok && s.Message.Text == "later" })
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	token := g.Pair()
	first := dial(t, g, device.Config{Token: token, DeviceID: "d1"})
	first.until("sync", synced)

	ends := func(p *phone, code int) {
		t.Helper()
		select {
		case err := <-p.ended:
			var closed *device.CloseError
			if !errors.As(err, &closed) || closed.Code != code || closed.Message == "" {
				t.Errorf("ended with %v, want code %d and words", err, code)
			}
		case <-time.After(patience):
			t.Errorf("does not end, want code %d", code)
		}
	}
	ends(dial(t, g, device.Config{Token: "wrong", DeviceID: "d2"}), wire.CloseAuth)
	ends(dial(t, g, device.Config{Token: token, DeviceID: "somebody else"}), wire.CloseAuth)
	second := dial(t, g, device.Config{Token: token, DeviceID: "d1"})
	second.until("sync", synced)
	ends(first, wire.CloseSuperseded)
}

func TestSendChecksTheText(t *testing.T) {
	t.Parallel()
	c := device.New(device.Config{})
	for _, text := range []string{"", "a\xff", strings.Repeat("x", wire.MaxMessageText+1)} {
		if _, err := c.Send(main, text); err == nil {
			t.Errorf("Send took %d bytes %.10q", len(text), text)
		}
	}
}
