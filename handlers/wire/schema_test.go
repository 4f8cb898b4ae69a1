package wire_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// The machine-readable protocol is made from the structs: JSON Schema per frame
// in docs/protocol, an AsyncAPI document over them, and the examples and tables
// in docs/protocol.md. `go test ./handlers/wire -update` writes it anew; without
// the flag a file that is stale fails.
var update = flag.Bool("update", false, "write the generated files in docs")

//go:generate go test . -run TestGenerated -update

const docs = "../../docs"

// draft is the JSON Schema that AsyncAPI takes without more ado.
const draft = "http://json-schema.org/draft-07/schema#"

type object = map[string]any

// schemas returns the schema of every frame, by the name of its golden file.
func schemas(t *testing.T) map[string]object {
	t.Helper()
	r := &jsonschema.Reflector{DoNotReference: true, AllowAdditionalProperties: true, Anonymous: true, Mapper: named}
	asked := &jsonschema.Reflector{DoNotReference: true, AllowAdditionalProperties: true, Anonymous: true, Mapper: named, RequiredFromJSONSchemaTags: true}
	for _, r := range []*jsonschema.Reflector{r, asked} {
		// The comments of the structs and their fields become descriptions.
		if err := r.AddGoComments("iris-gateway/handlers/wire", "./"); err != nil {
			t.Fatal(err)
		}
		for name, comment := range r.CommentMap {
			r.CommentMap[name] = strings.Join(strings.Fields(comment), " ")
		}
	}
	all := map[string]object{}
	for _, p := range frames {
		payload := plain(t, r.ReflectFromType(reflect.TypeOf(p)))
		all[p.FrameType()] = frameSchema(p.FrameType(), payload)
	}
	for name, kind := range requests {
		payload := plain(t, asked.ReflectFromType(kind.of))
		optional(payload)
		all[name+".request"] = requestSchema(name, payload)
	}
	return all
}

// named says what the named types of strings may hold.
func named(t reflect.Type) *jsonschema.Schema {
	values := map[reflect.Type][]any{
		reflect.TypeFor[iris.Role]():  {iris.RoleUser, iris.RoleAssistant, iris.RoleSystem, iris.RoleCron},
		reflect.TypeFor[wire.State](): {wire.StateOnline, wire.StateDegraded, wire.StateRestarting},
		reflect.TypeFor[iris.Code](): {iris.CodeAuth, iris.CodeNotFound, iris.CodeRateLimited, iris.CodeMediaTooLarge,
			iris.CodeUnsupported, iris.CodeInternal},
	}[t]
	if values == nil {
		return nil
	}
	return &jsonschema.Schema{Type: "string", Enum: values}
}

func plain(t *testing.T, s *jsonschema.Schema) object {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	delete(o, "$schema")
	delete(o, "$id")
	return o
}

// optional lets what a request need not have be null: null is absent.
func optional(payload object) {
	required, _ := payload["required"].([]any)
	properties, _ := payload["properties"].(object)
	for name, p := range properties {
		p := p.(object)
		if kind, ok := p["type"].(string); ok && !slices.Contains(required, any(name)) {
			p["type"] = []any{kind, "null"}
			if values, ok := p["enum"].([]any); ok {
				p["enum"] = append(values, "", nil)
			}
		}
	}
}

// frameSchema is the schema of a frame that the gateway sends.
func frameSchema(name string, payload object) object {
	return envelope(name, payload, []any{"v", "type", "payload"}, object{
		"v":         object{"const": wire.Version, "description": "protocol version"},
		"cursor":    object{"type": "integer", "minimum": 1, "description": "entry of the log; only on frames that sync replays"},
		"chat_id":   object{"type": "string"},
		"thread_id": object{"type": "string"},
	})
}

// requestSchema is the schema of a frame that a device sends.
func requestSchema(name string, payload object) object {
	required := []any{"type"}
	if payload["required"] != nil {
		required = append(required, "payload")
	}
	return envelope(name, payload, required, object{
		"v":         object{"enum": []any{wire.Version, nil}, "description": "protocol version, absent = 1"},
		"chat_id":   object{"type": []any{"string", "null"}, "maxLength": wire.MaxID},
		"thread_id": object{"type": []any{"string", "null"}, "maxLength": wire.MaxID},
	})
}

func envelope(name string, payload object, required []any, properties object) object {
	properties["id"] = object{"type": []any{"number", "string"}, "maxLength": wire.MaxRequestID, "description": "of a request, echoed by its one answer"}
	properties["type"] = object{"const": name}
	properties["payload"] = payload
	o := object{"$schema": draft, "title": name, "type": "object", "required": required, "properties": properties}
	if d, ok := payload["description"]; ok {
		o["description"] = d
		delete(payload, "description")
	}
	return o
}

// asyncAPI is the document over the schemas.
func asyncAPI(t *testing.T, all map[string]object) object {
	t.Helper()
	messages, sent, received, inChannel := object{}, []any{}, []any{}, object{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		frameType, isRequest := strings.CutSuffix(name, ".request")
		key := strings.ReplaceAll(name, ".", "_")
		var example object
		if err := json.Unmarshal(golden(t, name+".json"), &example); err != nil {
			t.Fatal(err)
		}
		m := object{
			"name": frameType, "title": frameType, "contentType": "application/json",
			"payload":  object{"$ref": "./" + name + ".json"},
			"examples": []any{object{"payload": example}},
		}
		if d, ok := all[name]["description"]; ok {
			m["summary"] = d
		}
		messages[key] = m
		inChannel[key] = object{"$ref": "#/components/messages/" + key}
		ref := object{"$ref": "#/channels/device/messages/" + key}
		if isRequest {
			received = append(received, ref)
		} else {
			sent = append(sent, ref)
		}
	}
	channel := object{"$ref": "#/channels/device"}
	return object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": "Iris device protocol", "version": "1.0.0",
			"description": "JSON text frames over one WebSocket per device, and binary frames for media. See ../protocol.md.",
		},
		"channels": object{"device": object{"address": "/ws", "messages": inChannel,
			"bindings": object{"ws": object{"method": "GET", "bindingVersion": "0.1.0"}}}},
		"operations": object{
			"fromDevice":  object{"action": "receive", "channel": channel, "messages": received},
			"fromGateway": object{"action": "send", "channel": channel, "messages": sent},
		},
		"components": object{"messages": messages},
	}
}

// TestGenerated holds the generated files to the structs.
func TestGenerated(t *testing.T) {
	all := schemas(t)
	want := map[string][]byte{"protocol/asyncapi.json": encode(t, asyncAPI(t, all))}
	for name, schema := range all {
		want["protocol/"+name+".json"] = encode(t, schema)
	}
	want["protocol.md"] = withExamples(t)
	for name, data := range want {
		path := filepath.Join(docs, name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(have, data) {
			t.Errorf("%s is stale (%v): go generate ./handlers/wire", path, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(docs, "protocol", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if name, _ := filepath.Rel(docs, path); want[name] == nil {
			t.Errorf("%s belongs to no frame: remove it", path)
		}
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGoldenFilesFitSchemas reads the written files, as a client would.
func TestGoldenFilesFitSchemas(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		schema, err := validator.NewCompiler().Compile(filepath.Join(docs, "protocol", name+".json"))
		if err != nil {
			t.Error(err)
			continue
		}
		data := golden(t, name+".json")
		if err := validate(schema, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// A schema that takes everything says nothing.
		for _, bad := range []string{`{}`, `[]`, `{"v":1,"type":"other","payload":{}}`, `{"v":1,"type":"` + strings.TrimSuffix(name, ".request") + `","payload":[]}`} {
			if validate(schema, []byte(bad)) == nil {
				t.Errorf("%s: takes %s", name, bad)
			}
		}
	}
}

func validate(schema *validator.Schema, data []byte) error {
	v, err := validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// TestAsyncAPI follows the references of the written document.
func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	var doc struct {
		Channels   map[string]struct{ Messages map[string]object }
		Operations map[string]struct{ Messages []map[string]string }
		Components struct {
			Messages map[string]struct {
				Payload  map[string]string
				Examples []struct{ Payload json.RawMessage }
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(docs, "protocol", "asyncapi.json"))
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := len(doc.Components.Messages); n != len(frames)+len(requests) {
		t.Errorf("%d messages, want %d", n, len(frames)+len(requests))
	}
	used := map[string]bool{}
	for _, op := range doc.Operations {
		for _, m := range op.Messages {
			key := strings.TrimPrefix(m["$ref"], "#/channels/device/messages/")
			if doc.Channels["device"].Messages[key] == nil {
				t.Errorf("%s points nowhere", m["$ref"])
			}
			used[key] = true
		}
	}
	for key, m := range doc.Components.Messages {
		if !used[key] {
			t.Errorf("nobody sends %s", key)
		}
		schema, err := validator.NewCompiler().Compile(filepath.Join(docs, "protocol", m.Payload["$ref"]))
		if err == nil {
			err = validate(schema, m.Examples[0].Payload)
		}
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// withExamples returns docs/protocol.md with its examples, which are the golden
// files, as they are now. The rest is written by hand, and speaks of each frame.
func withExamples(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- example ", "<!-- end -->"
	parts := strings.Split(string(text), begin)
	var b strings.Builder
	b.WriteString(parts[0])
	shown := map[string]bool{}
	for _, part := range parts[1:] {
		name, _, ok := strings.Cut(part, " -->")
		_, rest, found := strings.Cut(part, end)
		if !ok || !found {
			t.Fatalf("docs/protocol.md: example without its end: %.40q", part)
		}
		shown[name] = true
		b.WriteString(begin + name + " -->\n```json\n" + string(bytes.TrimSpace(golden(t, name))) + "\n```\n" + end + rest)
	}
	for _, p := range frames {
		if !shown[p.FrameType()+".json"] {
			t.Errorf("docs/protocol.md has no example of %s.json", p.FrameType())
		}
	}
	for name := range requests {
		if !shown[name+".request.json"] {
			t.Errorf("docs/protocol.md has no example of %s.request.json", name)
		}
	}
	return []byte(b.String())
}
