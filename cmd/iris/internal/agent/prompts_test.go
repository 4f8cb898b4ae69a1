package agent_test

import (
	"strings"
	"testing"
	"time"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// answer answers a picker.
func answer(t *testing.T, c *device.Client, p wire.PickerSelect) {
	t.Helper()
	if _, err := c.Request(wire.TypePickerSelect, lane, p); err != nil {
		t.Fatal(err)
	}
}

func value(s string) *string { return &s }

func TestAsksAndWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, picker string
		reply              func(t *testing.T, c *device.Client, id string)
		want, frames       string
	}{
		{
			"a choice", "dinner", "picker.clarify",
			func(t *testing.T, c *device.Client, id string) {
				answer(t, c, wire.PickerSelect{PickerID: id, Value: value("Soup")})
			},
			"**Soup** it is", "picker.closed",
		},
		{
			"free text", "dinner", "picker.clarify",
			func(t *testing.T, c *device.Client, id string) {
				answer(t, c, wire.PickerSelect{PickerID: id, Text: "Rice"})
			},
			"**Rice** it is", "picker.closed",
		},
		{
			"a message of the lane", "dinner", "picker.clarify",
			func(t *testing.T, c *device.Client, _ string) { send(t, c, "Bread") },
			"**Bread** it is", "picker.closed",
		},
		{
			"allowed", "delete it", "picker.approval",
			func(t *testing.T, c *device.Client, id string) {
				answer(t, c, wire.PickerSelect{PickerID: id, Value: value("once")})
			},
			"Allowed (once)", "tool.end",
		},
		{
			"denied", "delete it", "picker.approval",
			func(t *testing.T, c *device.Client, id string) {
				answer(t, c, wire.PickerSelect{PickerID: id, Value: value("deny")})
			},
			"Then I leave it", "picker.closed",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, client, frames := talk(t, 0)
			send(t, client, tt.text)
			pickers := payload[struct {
				PickerID string `json:"picker_id"`
			}](t, until(t, frames, tt.picker), tt.picker)
			tt.reply(t, client, pickers[0].PickerID)
			after := until(t, frames, "agent.idle")
			stops := payload[wire.MessageStop](t, after, "message.stop")
			if len(stops) != 1 || !strings.Contains(stops[0].FinalText, tt.want) || !strings.Contains(types(after), tt.frames) {
				t.Errorf("%s: %+v", types(after), stops)
			}
		})
	}
}

// A menu stays open after its command, and its answer comes as a message.
func TestMenus(t *testing.T) {
	t.Parallel()
	_, client, frames := talk(t, 0)
	for command, choice := range map[string]string{"/model": "dream/very-large", "/reasoning": "high", "/undo": "cancel"} {
		send(t, client, command)
		var id string
		for _, f := range until(t, frames, "agent.idle") {
			if strings.HasPrefix(f.Type, "picker.") {
				p, err := device.Payload[wire.PickerSelect](f)
				if err != nil {
					t.Fatal(err)
				}
				id = p.PickerID
			}
		}
		answer(t, client, wire.PickerSelect{PickerID: id, Value: &choice})
		replies := payload[wire.Message](t, until(t, frames, "message"), "message")
		if len(replies) != 1 || replies[0].Role != iris.RoleSystem {
			t.Errorf("%s: %+v", command, replies)
		}
	}
}

// A stop ends a turn that waits for an answer, and takes the question away.
func TestStopWhileAsking(t *testing.T) {
	t.Parallel()
	_, client, frames := talk(t, 0)
	send(t, client, "dinner")
	until(t, frames, "picker.clarify")
	if _, err := client.Request(wire.TypeAgentStop, lane, wire.AgentStop{}); err != nil {
		t.Fatal(err)
	}
	if got := types(until(t, frames, "agent.idle")); !strings.Contains(got, "picker.closed") {
		t.Errorf("after the stop: %s", got)
	}
}

func TestSteer(t *testing.T) {
	t.Parallel()
	_, client, frames := talk(t, 5*time.Millisecond)
	send(t, client, "dinner")
	pickers := payload[wire.PickerClarify](t, until(t, frames, "picker.clarify"), "picker.clarify")
	if _, err := client.Request(wire.TypeAgentSteer, lane, wire.AgentSteer{Text: "be quick"}); err != nil {
		t.Fatal(err)
	}
	until(t, frames, "ack")
	answer(t, client, wire.PickerSelect{PickerID: pickers[0].PickerID, Value: value("Pasta")})
	stops := payload[wire.MessageStop](t, until(t, frames, "agent.idle"), "message.stop")
	if len(stops) != 1 || !strings.Contains(stops[0].FinalText, "you told me “be quick”") {
		t.Errorf("%+v", stops)
	}
}
