package hub

import (
	"encoding/json"
	"fmt"
	"testing"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// A tool that has ended stays so while its turn asks somebody and goes on: the
// live document may be older. The next turn counts its tools anew.
func TestEndedToolWhileTurnWaits(t *testing.T) {
	t.Parallel()
	lane := iris.Lane{ChatID: "c"}
	o := newOver()
	shown := func() int {
		return len(o.without(link.Turn{ChatID: "c", Tools: []link.TurnTool{{Index: 1}}}).Tools)
	}
	for _, step := range []struct {
		frame wire.Payload
		shown int
	}{
		{wire.AgentBusy{Reason: "processing"}, 1},
		{wire.ToolEnd{Index: 1}, 0},
		{wire.AgentBusy{Reason: "waiting_input"}, 0},
		{wire.AgentBusy{Reason: "processing"}, 0},
		{wire.AgentBusy{Reason: "processing"}, 1}, // the lane goes over to another turn
		{wire.ToolEnd{Index: 1}, 0},
		{wire.AgentBusy{Reason: "waiting_input"}, 0},
		{wire.AgentIdle{}, 1},
		{wire.ToolEnd{Index: 1}, 0},
		{wire.AgentBusy{Reason: "cron"}, 1},
	} {
		o.see(iris.Entry{Frames: []string{wire.Encode(lane, step.frame)}})
		if got := shown(); got != step.shown {
			t.Fatalf("after %#v: %d tools are shown, want %d", step.frame, got, step.shown)
		}
	}
}

// A turn may show hundreds of long messages, one after the other: what the devices
// were told of one that has ended is forgotten.
func TestWatchForgetsWhatHasEnded(t *testing.T) {
	t.Parallel()
	lane := iris.Lane{ChatID: "c"}
	a := &Actor{over: newOver(), watch: watch{told: map[string]string{}}, state: newState(rowsRead{channels: []iris.Channel{{Lane: lane, Busy: "t"}}}, iris.Entry{}, 64)}
	var most int
	for n := range 10 {
		data, err := json.Marshal(link.Turn{Turn: "t", ChatID: lane.ChatID, Messages: []link.TurnMessage{{MessageID: fmt.Sprint("m", n), Text: "long"}}})
		if err != nil {
			t.Fatal(err)
		}
		a.sawLives([]iris.Live{{Turn: "t", Lane: lane, Data: string(data)}})
		if len(a.watch.told) == 0 {
			t.Fatal("nothing was told")
		}
		if n == 0 {
			most = len(a.watch.told)
		}
	}
	if n := len(a.watch.told); n != most {
		t.Errorf("%d frames are remembered, %d after the first message", n, most)
	}
}
