package turn

import (
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
)

// tool is a tool call whose end is still to come.
type tool struct {
	call    string
	index   int
	name    string
	args    map[string]any
	preview string
	began   int64 // ms, 0 when nobody knows
}

// toolStart shows a tool at once. It may be lost, so tool.end repeats it.
func (m *Machine) toolStart(ev link.Event, b link.ToolStart) error {
	if b.Call == "" {
		return missing(ev, "call")
	}
	t := m.find(ev.Turn)
	if t == nil {
		return nil
	}
	if _, seen := t.tools[b.Call]; seen {
		return nil
	}
	m.openTool(t, &tool{call: b.Call, index: b.Index, name: b.Name, args: b.Args, preview: b.Preview, began: ev.At})
	return nil
}

// openTool adds an open tool and shows it.
func (m *Machine) openTool(t *running, tl *tool) {
	t.tools[tl.call] = true
	t.open = append(t.open, opened{tool: tl})
	if t.started {
		m.live(t.lane, tl.start())
	}
}

// toolProgress passes a note of a running tool on.
func (m *Machine) toolProgress(ev link.Event, b link.ToolProgress) error {
	t := m.find(ev.Turn)
	if t == nil {
		return nil
	}
	if tl := t.tool(b.Call); tl != nil {
		m.live(t.lane, wire.ToolProgress{Index: tl.index, Name: tl.name, Note: b.Note})
	}
	return nil
}

// toolEnd ends a tool. Both frames are durable, in one entry: a device that
// was away sees the arguments too.
func (m *Machine) toolEnd(ev link.Event, b link.ToolEnd) error {
	if b.Call == "" {
		return missing(ev, "call")
	}
	t := m.find(ev.Turn)
	if t == nil {
		return nil
	}
	if open, seen := t.tools[b.Call]; seen && !open {
		return nil
	}
	m.endTool(t,
		&tool{call: b.Call, index: b.Index, name: b.Name, args: b.Args, preview: b.Preview},
		wire.ToolEnd{Index: b.Index, Name: b.Name, OK: b.OK, Duration: b.Duration, OutputPreview: b.OutputTail})
	return nil
}

// cutTool ends a tool that its turn left open.
func (m *Machine) cutTool(t *running, tl *tool, at int64) {
	end := wire.ToolEnd{Index: tl.index, Name: tl.name}
	if tl.began > 0 && at > tl.began {
		end.Duration = float64(at-tl.began) / 1000
	}
	m.endTool(t, tl, end)
}

func (m *Machine) endTool(t *running, tl *tool, end wire.ToolEnd) {
	if open := t.tool(tl.call); open != nil {
		t.drop(opened{tool: open})
	}
	t.tools[tl.call] = false
	m.entry(t.lane, tl.start())
	m.entry(t.lane, end)
}

// start is the tool's first frame.
func (tl *tool) start() wire.ToolStart {
	args := tl.args
	if args == nil {
		args = map[string]any{}
	}
	return wire.ToolStart{Index: tl.index, Name: tl.name, Preview: tl.preview, Args: args}
}

// tool returns the open tool of that call, or nil.
func (t *running) tool(call string) *tool {
	for _, o := range t.open {
		if o.tool != nil && o.tool.call == call {
			return o.tool
		}
	}
	return nil
}
