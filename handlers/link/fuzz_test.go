package link_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// FuzzDecode reads a frame as the gateway does: whatever a host sends is an
// error or can be taken, and what was taken encodes to the same again.
func FuzzDecode(f *testing.F) {
	files, err := fs.Glob(os.DirFS("testdata"), "*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no golden files", err)
	}
	for _, name := range files {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range []string{
		``, `{`, `[]`, `{"type":"event"}`, `{"type":"event","kind":"send","seq":-1,"body":7}`, `{"type":"event","kind":"delete","seq":1,"body":{"message_ids":[null]}}`,
		`{"type":"hello","protocol":1,"turns":[{},null,7]}`, `{"type":"hello","commands":[` + strings.Repeat(`{},`, 3000) + `{}]}`,
		`{"type":"event","kind":"tool.end","seq":1,"body":{"call":"\ud800","args":{"a":1e999}}}`, `{"type":"received","cursor":1e30}`,
		strings.Repeat(`{"type":"event","body":`, 200), strings.Repeat("[", 10001), "{\"type\":\"event\",\"kind\":\"\xff\"}", `{"type":"event","seq":1,"seq":2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frameType, err := link.Type(data)
		if err != nil {
			checkFuzzed(t, err)
			return
		}
		if err := readAs(t, frameType, data); err != nil {
			checkFuzzed(t, err)
		}
	})
}

func checkFuzzed(t *testing.T, err error) {
	if iris.ErrorCode(err) != iris.CodeUnsupported || len(err.Error()) > 300 {
		t.Errorf("error of %d bytes with code %q: %.300v", len(err.Error()), iris.ErrorCode(err), err)
	}
}

func readAs(t *testing.T, frameType string, data []byte) error {
	switch frameType {
	case link.TypeHello:
		return readTwice[link.Hello](t, frameType, data)
	case link.TypeReceived:
		return readTwice[link.Received](t, frameType, data)
	case link.TypeMediaPut:
		return readTwice[link.MediaPut](t, frameType, data)
	case link.TypeMediaPutEnd:
		return readTwice[link.MediaPutEnd](t, frameType, data)
	case link.TypeMediaGet:
		return readTwice[link.MediaGet](t, frameType, data)
	case link.TypeEvent:
		ev, err := link.Decode[link.Event](data)
		if err != nil {
			return err
		}
		if read, known := events[ev.Kind]; known {
			if body := read(t, ev.Body); !json.Valid(body) {
				t.Errorf("body became %s", body)
			}
		}
		return readTwice[link.Event](t, frameType, data)
	}
	return nil
}

func readTwice[T any](t *testing.T, frameType string, data []byte) error {
	v, err := link.Decode[T](data)
	if err != nil {
		return err
	}
	once := link.Encode(frameType, v)
	v, err = link.Decode[T](once)
	if err != nil {
		t.Fatalf("%v in %s", err, once)
	}
	if twice := link.Encode(frameType, v); string(twice) != string(once) {
		t.Errorf("%s became %s", once, twice)
	}
	return nil
}
