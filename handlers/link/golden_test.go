package link_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"iris-gateway/handlers/link"
)

// reader decodes a frame or body, and returns what it encodes to.
type reader func(*testing.T, []byte) []byte

// frames holds a reader for each type of frame but event and inbound, which
// hold something themselves.
var frames = map[string]reader{
	link.TypeHello:    frame[link.Hello](link.TypeHello),
	link.TypeHelloAck: frame[link.HelloAck](link.TypeHelloAck),
	link.TypeAcked:    frame[link.Acked](link.TypeAcked),
	link.TypeReceived: frame[link.Received](link.TypeReceived),
	link.TypeError:    frame[link.Error](link.TypeError),

	link.TypeGatewayDelete:  frame[link.GatewayDelete](link.TypeGatewayDelete),
	link.TypeGatewayDeleted: frame[link.GatewayDeleted](link.TypeGatewayDeleted),

	link.TypeMediaPut:      frame[link.MediaPut](link.TypeMediaPut),
	link.TypeMediaPutReady: frame[link.MediaPutReady](link.TypeMediaPutReady),
	link.TypeMediaPutEnd:   frame[link.MediaPutEnd](link.TypeMediaPutEnd),
	link.TypeMediaPutAck:   frame[link.MediaPutAck](link.TypeMediaPutAck),
	link.TypeMediaGet:      frame[link.MediaGet](link.TypeMediaGet),
	link.TypeMediaGetStart: frame[link.MediaGetStart](link.TypeMediaGetStart),
	link.TypeMediaGetEnd:   frame[link.MediaGetEnd](link.TypeMediaGetEnd),
}

// events holds a reader for the body of each kind.
var events = map[string]reader{
	link.KindTurnStart:    plain[link.TurnStart],
	link.KindModelStart:   plain[link.ModelStart],
	link.KindSend:         plain[link.Send],
	link.KindEdit:         plain[link.Edit],
	link.KindDelete:       plain[link.Delete],
	link.KindModelEnd:     plain[link.ModelEnd],
	link.KindModelError:   plain[link.ModelError],
	link.KindAnswer:       plain[link.Answer],
	link.KindToolStart:    plain[link.ToolStart],
	link.KindToolProgress: plain[link.ToolProgress],
	link.KindToolEnd:      plain[link.ToolEnd],
	link.KindMedia:        plain[link.Media],
	link.KindPrompt:       plain[link.Prompt],
	link.KindPromptClosed: plain[link.PromptClosed],
	link.KindNotice:       plain[link.Notice],
	link.KindCron:         plain[link.Cron],
	link.KindTitle:        plain[link.Title],
	link.KindTurnEnd:      plain[link.TurnEnd],
	link.KindDone:         plain[link.Done],
	link.KindThreadCreate: plain[link.ThreadCreate],
}

// inbound holds a reader for the body of each kind of item.
var inbound = map[string]reader{
	link.InboundMessage:    plain[link.Message],
	link.InboundStop:       plain[link.Stop],
	link.InboundSteer:      plain[link.Steer],
	link.InboundAnswer:     plain[link.PromptAnswer],
	link.InboundLaneRename: plain[link.LaneRename],
	link.InboundDelete:     plain[link.MessageDelete],
	link.InboundLaneDelete: plain[struct{}],
	link.InboundDeleted:    plain[struct{}],
}

func frame[T any](frameType string) reader {
	return func(t *testing.T, data []byte) []byte { return link.Encode(frameType, decode[T](t, data)) }
}

func plain[T any](t *testing.T, data []byte) []byte { return marshal(t, decode[T](t, data)) }

func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	v, err := link.Decode[T](data)
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// That what was read encodes to the same also shows that no field of the golden
// file is unknown.
func TestGoldenFrames(t *testing.T) {
	t.Parallel()
	for name, read := range frames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := golden(t, name, name)
			equalJSON(t, read(t, data), data)
		})
	}
}

func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	for kind, read := range events {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			data := golden(t, link.TypeEvent, link.TypeEvent+"."+kind)
			ev := decode[link.Event](t, data)
			if ev.Kind != kind {
				t.Errorf("file is of kind %q", ev.Kind)
			}
			equalJSON(t, read(t, ev.Body), ev.Body)
			equalJSON(t, link.Encode(link.TypeEvent, ev), data)
		})
	}
}

func TestGoldenInbound(t *testing.T) {
	t.Parallel()
	for kind, read := range inbound {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			data := golden(t, link.TypeInbound, link.TypeInbound+"."+kind)
			in := decode[link.Inbound](t, data)
			if in.Kind != kind {
				t.Errorf("file is of kind %q", in.Kind)
			}
			equalJSON(t, read(t, in.Body), in.Body)
			item := link.EncodeItem(link.Item{Kind: in.Kind, ChatID: in.ChatID, ThreadID: in.ThreadID, Body: in.Body})
			equalJSON(t, link.EncodeInbound(in.Cursor, in.Item, in.Items, item), data)
		})
	}
}

// TestEveryKindHasGoldenFile reads the package's source, so that a kind that
// somebody adds cannot be forgotten here.
func TestEveryKindHasGoldenFile(t *testing.T) {
	t.Parallel()
	types, kinds, items := constants(t, "Type"), constants(t, "Kind"), constants(t, "Inbound")
	types = slices.DeleteFunc(types, func(s string) bool { return s == link.TypeEvent || s == link.TypeInbound })
	var want []string
	for _, s := range types {
		want = append(want, s+".json")
	}
	for _, s := range kinds {
		want = append(want, link.TypeEvent+"."+s+".json")
	}
	for _, s := range items {
		want = append(want, link.TypeInbound+"."+s+".json")
	}
	files, err := fs.Glob(os.DirFS("testdata"), "*.json")
	if err != nil {
		t.Fatal(err)
	}
	sameSet(t, "golden files in testdata", files, want)
	sameSet(t, "types in the table frames of this test", slices.Collect(maps.Keys(frames)), types)
	sameSet(t, "kinds in the table events of this test", slices.Collect(maps.Keys(events)), kinds)
	sameSet(t, "kinds in the table inbound of this test", slices.Collect(maps.Keys(inbound)), items)
}

// constants returns the values of the package's constants whose name begins
// with prefix.
func constants(t *testing.T, prefix string) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) {
				return true
			}
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
			return true
		})
	}
	if len(values) == 0 {
		t.Fatalf("found no constants %s…", prefix)
	}
	return values
}

func sameSet(t *testing.T, what string, have, want []string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(have, w) {
			t.Errorf("%s: %s is missing", what, w)
		}
	}
	for _, h := range have {
		if !slices.Contains(want, h) {
			t.Errorf("%s: %s belongs to nothing in the package", what, h)
		}
	}
}

// golden returns a golden file, which must be of the given type.
func golden(t testing.TB, frameType, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := link.Type(data); err != nil || got != frameType {
		t.Fatalf("%s: file is of type %q, %v", name, got, err)
	}
	return data
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// equalJSON compares what two pieces of JSON mean: on the host link null, an
// empty string and 0 mean the same as nothing, but only where a field is
// optional, in the head of a frame.
func equalJSON(t *testing.T, got, want []byte) {
	t.Helper()
	g, w := generic(t, got), generic(t, want)
	for _, optional := range []string{"thread_id", "seq"} {
		for _, frame := range []map[string]any{g, w} {
			if v := frame[optional]; v == nil || v == "" || v == json.Number("0") {
				delete(frame, optional)
			}
		}
	}
	dropNullThreads(g)
	dropNullThreads(w)
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// dropNullThreads does the same for the turns of a hello.
func dropNullThreads(hello map[string]any) {
	turns, _ := hello["turns"].([]any)
	for _, turn := range turns {
		if turn := turn.(map[string]any); turn["thread_id"] == nil || turn["thread_id"] == "" {
			delete(turn, "thread_id")
		}
	}
}

func generic(t *testing.T, data []byte) map[string]any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}
