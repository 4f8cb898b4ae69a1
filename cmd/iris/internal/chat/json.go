package chat

import (
	"encoding/json"
	"fmt"

	"iris-gateway/cmd/iris/internal/device"
)

// writeJSON writes what the gateway sent as it came, one frame a line, and
// what happened to the connection as frames of the type "client".
func (c *chat) writeJSON(e device.Event) {
	if !c.opts.JSON {
		return
	}
	type client struct {
		State string  `json:"state"`
		Error string  `json:"error,omitempty"`
		Retry float64 `json:"retry,omitempty"` // seconds
	}
	var own client
	switch e := e.(type) {
	case device.Frame:
		fmt.Fprintf(c.opts.Out, "%s\n", e.Raw)
		return
	case device.Sent:
		fmt.Fprintf(c.opts.Out, "%s\n", e.Raw)
		return
	case device.Connecting:
		own = client{State: "connecting"}
	case device.Connected:
		own = client{State: "connected"}
	case device.Lost:
		own = client{State: "lost", Error: e.Err.Error(), Retry: e.Retry.Seconds()}
	case device.Refused:
		own = client{State: "refused", Error: e.Message}
	default:
		return
	}
	line, err := json.Marshal(map[string]any{"type": "client", "payload": own})
	if err != nil { // strings and numbers
		panic(err)
	}
	fmt.Fprintf(c.opts.Out, "%s\n", line)
}
