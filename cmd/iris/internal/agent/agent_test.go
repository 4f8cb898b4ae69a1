package agent_test

import (
	"context"
	"errors"
	"image/png"
	"slices"
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

var lane = iris.Lane{ChatID: iris.DefaultChat}

// talk starts an agent and a device on a gateway of their own.
func talk(t *testing.T, pace time.Duration) (g *gatewaytest.Gateway, client *device.Client, frames chan device.Frame) {
	t.Helper()
	g = gatewaytest.Start(t)
	attached := make(chan struct{}, 100)
	a := agent.New(agent.Config{
		URL: "ws://" + g.Addr + "/host", Token: g.HostToken, Pace: pace, Log: testenv.Logger(t, testenv.CommandLine),
		Attached: func() { attached <- struct{}{} }, MinRetry: time.Millisecond, MaxRetry: 20 * time.Millisecond,
	})
	run(t, a.Run)
	synced := make(chan struct{}, 100)
	frames = make(chan device.Frame, 10000)
	client = device.New(device.Config{
		URL: "ws://" + g.Addr + "/ws", Token: g.Pair(), DeviceID: "d1",
		MinRetry: time.Millisecond, MaxRetry: 20 * time.Millisecond,
		Handle: func(e device.Event) {
			switch e := e.(type) {
			case device.Frame:
				frames <- e
			case device.Synced:
				synced <- struct{}{}
			}
		},
	})
	run(t, client.Run)
	for _, c := range []chan struct{}{attached, synced} {
		select {
		case <-c:
		case <-time.After(patience):
			t.Fatal("not connected")
		}
	}
	return g, client, frames
}

func run(t *testing.T, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// until collects frames up to the first of a type.
func until(t *testing.T, frames chan device.Frame, frameType string) []device.Frame {
	t.Helper()
	var got []device.Frame
	deadline := time.After(patience)
	for {
		select {
		case f := <-frames:
			got = append(got, f)
			if f.Type == frameType {
				return got
			}
		case <-deadline:
			t.Fatalf("no %s, only %v", frameType, types(got))
		}
	}
}

// types lists the frames' types without those that may be merged or repeated.
func types(frames []device.Frame) string {
	var list []string
	for _, f := range frames {
		switch f.Type {
		case "status", "typing", "typing.stop", "message.update", "tool.progress":
		default:
			list = append(list, f.Type)
		}
	}
	// A tool.end brings its tool.start along, for those who missed it.
	return strings.Join(slices.CompactFunc(list, func(a, b string) bool { return a == "tool.start" && b == a }), " ")
}

func send(t *testing.T, c *device.Client, text string) {
	t.Helper()
	if _, err := c.Send(lane, text); err != nil {
		t.Fatal(err)
	}
}

func payload[T any](t *testing.T, frames []device.Frame, frameType string) []T {
	t.Helper()
	var list []T
	for _, f := range frames {
		if f.Type != frameType {
			continue
		}
		p, err := device.Payload[T](f)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

func TestTurns(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, frames string }{
		{"hello", "read.receipt agent.busy message.start message.stop agent.idle"},
		{"weather in Oslo?", "read.receipt agent.busy message.start message.stop tool.start tool.end message.start message.stop agent.idle"},
		{"use a tool", "read.receipt agent.busy message.start message.stop tool.start tool.end tool.start tool.end message.start message.stop tool.start tool.end message.start message.stop agent.idle"},
		{"/help", "read.receipt agent.busy message agent.idle"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			_, client, frames := talk(t, 0)
			send(t, client, tt.text)
			if got := types(until(t, frames, "agent.idle")); got != tt.frames {
				t.Errorf("%q made\n%s\nwant\n%s", tt.text, got, tt.frames)
			}
		})
	}
}

func TestWeather(t *testing.T) {
	t.Parallel()
	_, client, frames := talk(t, 0)
	send(t, client, "How is the weather in New York?")
	got := until(t, frames, "agent.idle")
	ends := payload[wire.ToolEnd](t, got, "tool.end")
	if len(ends) != 1 || !ends[0].OK || ends[0].Index != 1 || !strings.HasPrefix(ends[0].OutputPreview, "New York: ") {
		t.Errorf("tool.end %+v", ends)
	}
	stops := payload[wire.MessageStop](t, got, "message.stop")
	if len(stops) != 2 || !stops[0].Commentary || stops[1].Commentary || !strings.Contains(stops[1].FinalText, "New York") ||
		stops[1].Reasoning == "" || stops[1].Tokens == 0 || stops[1].Model != "built-in" {
		t.Errorf("message.stop %+v", stops)
	}
}

// /stop ends the answer in the middle, and the lane goes on with the next message.
func TestStop(t *testing.T) {
	t.Parallel()
	_, client, frames := talk(t, 10*time.Millisecond)
	send(t, client, "something long")
	until(t, frames, "message.update")
	send(t, client, "/stop")
	got := until(t, frames, "agent.idle")
	if got := payload[wire.Message](t, got, "message"); len(got) != 1 || got[0].Text != "Stopped." {
		t.Errorf("reply %+v", got)
	}
	stops := payload[wire.MessageStop](t, got, "message.stop")
	if len(stops) != 1 || strings.Contains(stops[0].FinalText, "Thank you for watching") {
		t.Errorf("message.stop %+v", stops)
	}
	send(t, client, "hello")
	stops = payload[wire.MessageStop](t, until(t, frames, "agent.idle"), "message.stop")
	if len(stops) != 1 || !strings.HasPrefix(stops[0].FinalText, "Hello") {
		t.Errorf("after the stop: %+v", stops)
	}
}

// The gateway restarts in the middle of an answer: its end arrives, once,
// under the same id.
func TestGatewayRestartsInTheMiddle(t *testing.T) {
	t.Parallel()
	g, client, frames := talk(t, 5*time.Millisecond)
	send(t, client, "something long")
	starts := payload[wire.MessageStart](t, until(t, frames, "message.update"), "message.start")
	g.Restart()
	stops := payload[wire.MessageStop](t, until(t, frames, "agent.idle"), "message.stop")
	if len(starts) != 1 || len(stops) != 1 || stops[0].MessageID != starts[0].MessageID ||
		stops[0].Interrupted || !strings.HasSuffix(stops[0].FinalText, "Thank you for watching.") {
		t.Errorf("started %+v, stopped %+v", starts, stops)
	}
}

// The picture of a turn comes before its end: whoever asks through a pipe waits for
// that.
func TestPictureBeforeTheEnd(t *testing.T) {
	t.Parallel()
	_, client, frames := talk(t, 0)
	send(t, client, "paint me a picture")
	if got := types(until(t, frames, "agent.idle")); !strings.Contains(got, "media.offer") {
		t.Errorf("no picture in\n%s", got)
	}
}

// A picture is painted, brought to the gateway and offered, also when the gateway
// restarts meanwhile.
func TestPicture(t *testing.T) {
	t.Parallel()
	g, client, frames := talk(t, 0)
	send(t, client, "paint me a picture")
	got := until(t, frames, "media.offer")
	g.Restart()
	send(t, client, "one more picture please")
	got = append(got, until(t, frames, "media.offer")...)
	got = append(got, until(t, frames, "message")...)
	for _, offer := range payload[wire.MediaOffer](t, got, "media.offer") {
		m, r, err := g.Store.OpenMedia(t.Context(), g.ID, offer.MediaID, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		img, err := png.Decode(r)
		if err != nil || img.Bounds().Dx() != 480 || m.MIME != "image/png" {
			t.Errorf("%+v: %v", m, err)
		}
	}
	last := payload[wire.Message](t, got, "message")
	if len(last) == 0 || len(last[len(last)-1].Media) != 1 || last[len(last)-1].Text != "A rainbow, all by myself." {
		t.Errorf("message %+v", last)
	}
}

func TestWrongToken(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	a := agent.New(agent.Config{URL: "ws://" + g.Addr + "/host", Token: "wrong", Log: testenv.Logger(t, testenv.CommandLine)})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := a.Run(ctx); !errors.Is(err, agent.ErrToken) {
		t.Errorf("Run = %v", err)
	}
}
