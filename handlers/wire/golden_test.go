package wire_test

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

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// frames holds one value of each payload that the gateway sends.
var frames = []wire.Payload{
	wire.HelloAck{}, wire.Message{}, wire.MessageStart{}, wire.MessageUpdate{}, wire.MessageStop{},
	wire.Commentary{}, wire.ToolStart{}, wire.ToolProgress{}, wire.ToolEnd{}, wire.Typing{},
	wire.TypingStop{}, wire.Notification{}, wire.AgentBusy{}, wire.AgentIdle{}, wire.History{},
	wire.ReadReceipt{}, wire.SyncDone{}, wire.Status{}, wire.Error{}, wire.Pong{},
	wire.PickerModel{}, wire.PickerChoice{}, wire.PickerClarify{}, wire.PickerApproval{}, wire.PickerConfirm{},
	wire.PickerClosed{}, wire.ChannelList{}, wire.ChannelCreated{}, wire.ChannelRenamed{}, wire.ChannelDeleted{},
	wire.CommandsCatalog{}, wire.CommandsComplete{}, wire.Ack{}, wire.MediaOffer{}, wire.MediaUploadReady{},
	wire.MediaUploadAck{}, wire.MediaPull{}, wire.MediaPullEnd{}, wire.SearchResults{}, wire.MessageDeleted{},
}

// requests maps the type of each request to its payload.
var requests = map[string]requestType{
	wire.TypeHello:             request[wire.Hello](),
	wire.TypeMessageSend:       request[wire.MessageSend](),
	wire.TypeSync:              request[wire.Sync](),
	wire.TypeHistory:           request[wire.HistoryRequest](),
	wire.TypePing:              request[wire.Ping](),
	wire.TypePickerSelect:      request[wire.PickerSelect](),
	wire.TypeChannelCreate:     request[wire.ChannelCreate](),
	wire.TypeChannelRename:     request[wire.ChannelRename](),
	wire.TypeChannelSetDefault: request[wire.ChannelSetDefault](),
	wire.TypeChannelDelete:     request[wire.ChannelDelete](),
	wire.TypeAgentStop:         request[wire.AgentStop](),
	wire.TypeAgentSteer:        request[wire.AgentSteer](),
	wire.TypeCommandsCatalog:   request[wire.CommandsCatalogRequest](),
	wire.TypeCommandsComplete:  request[wire.CommandsCompleteRequest](),
	wire.TypeReadReceipt:       request[wire.ReadReceiptRequest](),
	wire.TypeFCMRegister:       request[wire.FCMRegister](),
	wire.TypeMediaUploadStart:  request[wire.MediaUploadStart](),
	wire.TypeMediaUploadEnd:    request[wire.MediaUploadEnd](),
	wire.TypeMediaPull:         request[wire.MediaPullRequest](),
	wire.TypeSearch:            request[wire.SearchRequest](),
	wire.TypeMessageDelete:     request[wire.MessageDelete](),
}

// requestType is the payload of a request: its struct, and how it is read.
type requestType struct {
	of     reflect.Type
	decode func(wire.Request) (any, error)
}

func request[T any]() requestType {
	return requestType{reflect.TypeFor[T](), func(req wire.Request) (any, error) { return wire.DecodePayload[T](req) }}
}

// frame is a frame of the gateway as it stands in its golden file.
type frame struct {
	V        int             `json:"v"`
	ID       json.RawMessage `json:"id"`
	Cursor   *int64          `json:"cursor"`
	Type     string          `json:"type"`
	ChatID   string          `json:"chat_id"`
	ThreadID string          `json:"thread_id"`
	Payload  json.RawMessage `json:"payload"`
}

func TestGoldenFrames(t *testing.T) {
	t.Parallel()
	for _, p := range frames {
		t.Run(p.FrameType(), func(t *testing.T) {
			t.Parallel()
			data := golden(t, p.FrameType()+".json")
			var f frame
			strict(t, data, &f)
			if f.Type != p.FrameType() {
				t.Fatalf("file is of type %q", f.Type)
			}
			target := reflect.New(reflect.TypeOf(p))
			strict(t, f.Payload, target.Interface())
			lane := iris.Lane{ChatID: f.ChatID, ThreadID: f.ThreadID}
			got := wire.WithID(wire.Encode(lane, target.Elem().Interface().(wire.Payload)), wire.RequestID(f.ID))
			if f.Cursor != nil {
				got = wire.WithCursor(got, *f.Cursor)
			}
			equalJSON(t, []byte(got), data)
		})
	}
}

func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	for name, kind := range requests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := golden(t, name+".request.json")
			req, err := wire.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if req.Type != name {
				t.Fatalf("file is of type %q", req.Type)
			}
			p, err := kind.decode(req)
			if err != nil {
				t.Fatal(err)
			}
			// Equal also means that no field of the file is unknown.
			again, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			equalJSON(t, again, req.Payload)
			var f frame
			strict(t, data, &f)
			if f.ChatID == "" { // the lane may also stand in the payload
				if err := json.Unmarshal(f.Payload, &f); err != nil {
					t.Fatal(err)
				}
			}
			if want := (iris.Lane{ChatID: f.ChatID, ThreadID: f.ThreadID}); req.Lane != want || !bytes.Equal(req.ID, f.ID) {
				t.Errorf("got lane %v and id %s, want %v and %s", req.Lane, req.ID, want, f.ID)
			}
		})
	}
}

// TestEveryTypeHasGoldenFile reads the package's source, so that a type that
// somebody adds cannot be forgotten here.
func TestEveryTypeHasGoldenFile(t *testing.T) {
	t.Parallel()
	sent, received := typesInSource(t)
	var want []string
	for _, name := range sent {
		want = append(want, name+".json")
	}
	for _, name := range received {
		want = append(want, name+".request.json")
	}
	var have []string
	files, err := fs.Glob(os.DirFS("testdata"), "*.json")
	if err != nil {
		t.Fatal(err)
	}
	have = append(have, files...)
	sameSet(t, "golden files in testdata", have, want)

	have = nil
	for _, p := range frames {
		have = append(have, p.FrameType())
	}
	sameSet(t, "payloads in the list frames of this test", have, sent)
	sameSet(t, "types in the table requests of this test", slices.Collect(maps.Keys(requests)), received)
}

// typesInSource returns what the FrameType methods return, and the values of
// the constants Type….
func typesInSource(t *testing.T) (sent, received []string) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "FrameType" {
					sent = append(sent, literal(t, n.Body.List[0].(*ast.ReturnStmt).Results[0]))
				}
			case *ast.ValueSpec:
				if strings.HasPrefix(n.Names[0].Name, "Type") {
					received = append(received, literal(t, n.Values[0]))
				}
			}
			return true
		})
	}
	if len(sent) == 0 || len(received) == 0 {
		t.Fatal("found no types in the source")
	}
	return sent, received
}

func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	s, err := strconv.Unquote(e.(*ast.BasicLit).Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
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
			t.Errorf("%s: %s belongs to no type of the package", what, h)
		}
	}
}

func golden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// strict decodes data and refuses fields that the target does not have.
func strict(t *testing.T, data []byte, target any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(target); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

func equalJSON(t *testing.T, got, want []byte) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
