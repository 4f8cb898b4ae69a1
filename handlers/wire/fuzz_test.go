package wire_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// hostile is input that something once tripped over, or might.
var hostile = []string{
	``, `{`, `null`, `[]`, `{"type":"x"`, `{"type":5}`, `{"type":"x","id":[]}`, `{"type":"x","id":1e999}`, `{"type":"x","id":-0}`,
	`{"type":"x","id":"\ud800\u0000\""}`, `{"type":"x","type":"y"}`, `{"Type":"x"}`, `{"t\u0079pe":"x"}`, "{\"type\":\"\xff\"}",
	`{"type":"x","v":99999999999999999999}`, `{"type":"x","chat_id":"\u0000","payload":{"chat_id":{}}}`,
	`{"type":"message.send","id":1,"payload":{"text":"\\\"","media_refs":["\\",null,7]}}`,
	`{"type":"sync","payload":{"cursor":9223372036854775808}}`, `{"type":"hello","payload":{"caps":[{}],"caps":7}}`,
	`{"type":"history","payload":{"limit":1e2}}`, strings.Repeat(`{"type":`, 100) + strings.Repeat("}", 100), strings.Repeat("[", 10001),
}

func seed(f *testing.F) {
	files, err := fs.Glob(os.DirFS("testdata"), "*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no golden files", err)
	}
	for _, name := range files {
		f.Add(golden(f, name))
	}
	for _, s := range hostile {
		f.Add([]byte(s))
	}
}

func FuzzDecode(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		req, err := wire.Decode(data)
		if err != nil {
			if iris.ErrorCode(err) != iris.CodeUnsupported {
				t.Errorf("error %v has code %q", err, iris.ErrorCode(err))
			}
			if len(err.Error()) > 200 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		}
		checkRequest(t, data, req, err)

		pong := wire.WithID(wire.Encode(req.Lane, wire.Pong{}), req.ID)
		for _, frame := range []string{pong, wire.WithCursor(pong, 1<<62)} {
			if !json.Valid([]byte(frame)) || !utf8.ValidString(frame) {
				t.Fatalf("answer is not valid: %q", frame)
			}
			again, err := wire.Decode([]byte(frame))
			if err != nil || string(again.ID) != string(req.ID) || again.Lane != req.Lane || again.Type != "pong" {
				t.Errorf("answer %q reads as %+v, %v", frame, again, err)
			}
		}
	})
}

// checkRequest compares with what encoding/json finds.
func checkRequest(t *testing.T, data []byte, req wire.Request, err error) {
	var plain map[string]json.RawMessage
	if jsonErr := json.Unmarshal(data, &plain); jsonErr != nil || plain == nil {
		if err == nil {
			t.Fatalf("accepted what is no object: %v", jsonErr)
		}
		return
	}
	if err != nil {
		return
	}
	if id := plain["id"]; string(id) != string(req.ID) && string(id) != "null" {
		t.Errorf("got id %q, want %q", req.ID, id)
	}
	var want string
	if err := json.Unmarshal(plain["type"], &want); err != nil || req.Type != want || want == "" {
		t.Errorf("got type %q, want %q, %v", req.Type, want, err)
	}
	if p := plain["payload"]; string(p) != string(req.Payload) && string(p) != "null" {
		t.Errorf("got payload %q, want %q", req.Payload, p)
	}
}

func FuzzHello(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.Hello) {
		if p.Token == "" || p.DeviceID == "" || len(p.DeviceID) > wire.MaxDeviceID || p.DeviceName != wire.CleanName(p.DeviceName) {
			t.Errorf("accepted %+v", p)
		}
	})
}

func FuzzMessageSend(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.MessageSend) {
		if p.Text == "" && len(p.MediaRefs) == 0 || len(p.Text) > wire.MaxMessageText || !utf8.ValidString(p.Text) {
			t.Errorf("accepted %+v", p)
		}
	})
}

func FuzzSync(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.Sync) {
		if p.Cursor != nil && *p.Cursor < 0 {
			t.Errorf("accepted %d", *p.Cursor)
		}
	})
}

func FuzzHistory(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.HistoryRequest) {
		if p.Limit < 1 || p.Limit > wire.MaxHistory {
			t.Errorf("accepted limit %d", p.Limit)
		}
	})
}

func FuzzPing(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.Ping) {
		_ = wire.Encode(iris.Lane{}, wire.Pong(p))
	})
}

func FuzzPickerSelect(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.PickerSelect) {
		if p.PickerID == "" || (p.Value == nil) == (p.Text == "") {
			t.Errorf("accepted %+v", p)
		}
	})
}

func FuzzChannelCreate(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.ChannelCreate) {
		if n := utf8.RuneCountInString(p.Name); n < 1 || n > wire.MaxChannelName || p.Name != strings.TrimSpace(wire.CleanName(p.Name)) {
			t.Errorf("accepted %q", p.Name)
		}
	})
}

func FuzzSteer(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.AgentSteer) {
		if strings.TrimSpace(p.Text) == "" || len(p.Text) > wire.MaxMessageText {
			t.Errorf("accepted %q", p.Text)
		}
	})
}

func FuzzRegister(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.FCMRegister) {
		if p.FCMToken == nil && p.NtfyTopic == nil || p.FCMToken != nil && len(*p.FCMToken) > wire.MaxFCMToken {
			t.Errorf("accepted %+v", p)
		}
	})
}

func FuzzMedia(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.MediaUploadStart) {
		if p.MediaRef == "" || p.Size < 0 || len(p.Filename) > wire.MaxUploadName {
			t.Errorf("accepted %+v", p)
		}
	})
}

func FuzzSearch(f *testing.F) {
	fuzzPayload(f, func(t *testing.T, p wire.SearchRequest) {
		if strings.TrimSpace(p.Query) == "" || len(p.Query) > wire.MaxQuery || p.Scope != wire.ScopeAll && p.Scope != wire.ScopeChat {
			t.Errorf("accepted %+v", p)
		}
	})
}

// fuzzPayload looks at payloads that were accepted: they hold what check asks
// for, and are read again, as the same, from what they encode to.
func fuzzPayload[T any](f *testing.F, check func(*testing.T, T)) {
	seed(f)
	files, err := fs.Glob(os.DirFS("testdata"), "*.request.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		req, err := wire.Decode(golden(f, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(req.Payload))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := wire.DecodePayload[T](wire.Request{Type: "fuzzed", Payload: data})
		if err != nil {
			if len(err.Error()) > 200 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
			return
		}
		check(t, p)
		once, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := wire.DecodePayload[T](wire.Request{Type: "fuzzed", Payload: once})
		if err != nil {
			t.Fatalf("%v in %s", err, once)
		}
		if twice, err := json.Marshal(q); err != nil || string(twice) != string(once) {
			t.Errorf("%s became %s, %v", once, twice, err)
		}
	})
}
