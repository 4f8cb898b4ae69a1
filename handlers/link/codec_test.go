package link_test

import (
	"encoding/json"
	"strings"
	"testing"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

func TestType(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("secret", 20)
	for data, want := range map[string]struct{ frameType, err string }{
		`{"type":"event"}`:                       {"event", ""},
		` {"Type":"x","type":"event","x":1} `:    {"event", ""},
		`{"type":"what is that?"}`:               {"what is that?", ""},
		``:                                       {"", link.ErrMalformed.Message},
		`{`:                                      {"", link.ErrMalformed.Message},
		`{}`:                                     {"", link.ErrMalformed.Message},
		`{"type":null}`:                          {"", link.ErrMalformed.Message},
		`{"type":""}`:                            {"", link.ErrMalformed.Message},
		`{"Type":"event"}`:                       {"", link.ErrMalformed.Message},
		"{\"type\":\"\xff\"}":                    {"", link.ErrMalformed.Message},
		`[]`:                                     {"", link.ErrMalformed.Message},
		`null`:                                   {"", link.ErrMalformed.Message},
		`{"type":7}`:                             {"", "host link: field type is a number, expected a string"},
		`{"type":"event","type":"hello"}`:        {"", "host link: field type appears twice"},
		`{"type":"` + long + `"}`:                {"", "host link: type has 120 bytes, the limit is 64"},
		`{"type":"x","a":` + nested(10000) + `}`: {"", "host link: nested more than 64 levels deep"},
		`{"type":"x","a":` + nested(100) + `}`:   {"", "host link: nested more than 64 levels deep"},
		`{"type":"x","a":` + nested(10) + `} true`: {"", link.ErrMalformed.Message},
	} {
		got, err := link.Type([]byte(data))
		switch {
		case want.err == "" && (err != nil || got != want.frameType):
			t.Errorf("%.60s: got %q, %v", data, got, err)
		case want.err != "" && (err == nil || err.Error() != want.err || iris.ErrorCode(err) != iris.CodeUnsupported):
			t.Errorf("%.60s: got %q, %v, want %q", data, got, err, want.err)
		}
	}
}

// nested returns JSON that is nested n levels deep.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestEncode(t *testing.T) {
	t.Parallel()
	item := link.EncodeItem(link.Item{Kind: "message", ChatID: "c", Body: link.Message{MessageID: "m", Text: "a < b"}})
	for got, want := range map[string]string{
		string(link.Encode(link.TypeAcked, link.Acked{Seq: 42})):                      `{"type":"acked","seq":42}`,
		string(link.Encode("odd\a\"<", struct{}{})):                                   `{"type":"odd\u0007\"<"}`,
		string(link.Encode(link.TypeError, link.Error{Code: "auth", Message: "<&>"})): `{"type":"error","code":"auth","message":"<&>"}`,
		item: `{"kind":"message","chat_id":"c","body":{"message_id":"m","text":"a < b","device":{"device_id":"","name":""},"channel":{"name":""}}}`,
		string(link.EncodeInbound(1041, 2, 3, `{"kind":"x"}`)): `{"type":"inbound","cursor":1041,"item":2,"items":3,"kind":"x"}`,
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// No data is an empty body.
func TestDecodeNothing(t *testing.T) {
	t.Parallel()
	if body, err := link.Decode[link.Title](nil); err != nil || body != (link.Title{}) {
		t.Errorf("got %+v, %v", body, err)
	}
}

// Arguments reach the devices as the agent wrote them.
func TestArgumentsStayExact(t *testing.T) {
	t.Parallel()
	const args = `{"big":12345678901234567890,"huge":1e400,"s":"\u0000"}`
	body, err := link.Decode[link.ToolStart]([]byte(`{"call":"c","args":` + args + `}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(body.Args)
	if err != nil || string(got) != args {
		t.Errorf("got %s, %v, want %s", got, err, args)
	}
}

// Half a surrogate pair is what is left of an emoji that hermes cut.
func TestLoneSurrogate(t *testing.T) {
	t.Parallel()
	body, err := link.Decode[link.Answer]([]byte(`{"text":"cut \ud83d"}`))
	if err != nil || body.Text != "cut \uFFFD" {
		t.Errorf("got %q, %v", body.Text, err)
	}
}

func BenchmarkDecodeEvent(b *testing.B) {
	text, err := json.Marshal(strings.Repeat("for i := 0; i < len(a) && b[i] > 0; i++ {\n\tc <- &a[i]\n}\n", 60))
	if err != nil {
		b.Fatal(err)
	}
	frame := []byte(`{"type":"event","at":1790000000123,"kind":"edit","chat_id":"android:default","thread_id":null,"turn":"tn_1","body":{"message_id":"m_9002","text":` +
		string(text) + `,"final":false,"began":1790000000500}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if _, err := link.Type(frame); err != nil {
			b.Fatal(err)
		}
		ev, err := link.Decode[link.Event](frame)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := link.Decode[link.Edit](ev.Body); err != nil {
			b.Fatal(err)
		}
	}
}
