package wire_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

func TestDecodeEnvelope(t *testing.T) {
	t.Parallel()
	lane := func(chat, thread string) iris.Lane { return iris.Lane{ChatID: chat, ThreadID: thread} }
	tests := map[string]struct {
		frame string
		want  wire.Request // without payload
	}{
		"only a type":           {`{"type":"ping"}`, wire.Request{Version: 1, Type: "ping"}},
		"all null":              {`{"v":null,"id":null,"type":"ping","chat_id":null,"thread_id":null,"payload":null}`, wire.Request{Version: 1, Type: "ping"}},
		"version":               {`{"v":2,"type":"ping"}`, wire.Request{Version: 2, Type: "ping"}},
		"number id":             {`{"type":"ping","id":42}`, wire.Request{Version: 1, Type: "ping", ID: wire.RequestID("42")}},
		"id beyond int64":       {`{"type":"ping","id":99999999999999999999}`, wire.Request{Version: 1, Type: "ping", ID: wire.RequestID("99999999999999999999")}},
		"fraction id":           {`{"type":"ping","id":-1.50e+3}`, wire.Request{Version: 1, Type: "ping", ID: wire.RequestID("-1.50e+3")}},
		"string id":             {`{"type":"ping","id":"a"}`, wire.Request{Version: 1, Type: "ping", ID: wire.RequestID(`"a"`)}},
		"empty string id":       {`{"type":"ping","id":""}`, wire.Request{Version: 1, Type: "ping", ID: wire.RequestID(`""`)}},
		"id with escapes":       {`{"type":"ping","id":"\u0041\ud800\u0000"}`, wire.Request{Version: 1, Type: "ping", ID: wire.RequestID(`"\u0041\ud800\u0000"`)}},
		"64 bytes of id":        {`{"type":"ping","id":"` + strings.Repeat("x", 64) + `"}`, wire.Request{Version: 1, Type: "ping", ID: wire.RequestID(`"` + strings.Repeat("x", 64) + `"`)}},
		"lane":                  {`{"type":"x","chat_id":"android:default","thread_id":"t_1"}`, wire.Request{Version: 1, Type: "x", Lane: lane("android:default", "t_1")}},
		"odd ids":               {`{"type":"x","chat_id":"../__a__/🙂","thread_id":"."}`, wire.Request{Version: 1, Type: "x", Lane: lane("../__a__/🙂", ".")}},
		"lane in the payload":   {`{"type":"x","payload":{"chat_id":"c","thread_id":"t"}}`, wire.Request{Version: 1, Type: "x", Lane: lane("c", "t")}},
		"thread in the payload": {`{"type":"x","chat_id":"c","thread_id":null,"payload":{"thread_id":"t"}}`, wire.Request{Version: 1, Type: "x", Lane: lane("c", "t")}},
		"top level first":       {`{"type":"x","chat_id":"c","thread_id":"t","payload":{"chat_id":"c","thread_id":"t2"}}`, wire.Request{Version: 1, Type: "x", Lane: lane("c", "t")}},
		"payload of elsewhere":  {`{"type":"x","chat_id":"c","payload":{"chat_id":"c2","thread_id":"t2"}}`, wire.Request{Version: 1, Type: "x", Lane: lane("c", "")}},
		"null in the payload":   {`{"type":"x","payload":{"chat_id":"c","thread_id":null}}`, wire.Request{Version: 1, Type: "x", Lane: lane("c", "")}},
		"space everywhere":      {" \n{\t\"type\" : \"x\" , \"id\" : 1 \r\n} ", wire.Request{Version: 1, Type: "x", ID: wire.RequestID("1")}},
		"names are exact":       {`{"type":"x","Type":"y","ID":1,"V":7,"CHAT_ID":"c","thread_\u0131d":"t"}`, wire.Request{Version: 1, Type: "x"}},
		"names with escapes":    {`{"t\u0079pe":"x","\u0069d":7}`, wire.Request{Version: 1, Type: "x", ID: wire.RequestID("7")}},
		"unknown fields":        {`{"type":"x","cursor":7,"more":{"type":"y","id":[1,2]},"more":null}`, wire.Request{Version: 1, Type: "x"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := wire.Decode([]byte(tt.frame))
			if err != nil {
				t.Fatal(err)
			}
			if got.Version != tt.want.Version || got.Type != tt.want.Type || got.Lane != tt.want.Lane || string(got.ID) != string(tt.want.ID) || (got.ID == nil) != (tt.want.ID == nil) {
				t.Errorf("got %+v with id %s, want %+v with id %s", got, got.ID, tt.want, tt.want.ID)
			}
		})
	}
}

// What is no frame counts towards the end of the connection (4408); everything
// else that is wrong is an error with the request's id.
func TestDecodeMalformed(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		``, ` `, `null`, `7`, `"type"`, `[]`, `[{"type":"x"}]`, `{`, `}`, `{}`, `{"id":1}`, `{"type":null}`, `{"type":""}`,
		`{"Type":"ping"}`, `{"type":"x"}{"type":"x"}`, `{"type":"x",}`, `{'type':'x'}`, `{"type":"x"} trailing`,
		"{\"type\":\"x\x00\"}", "{\"type\":\"\xff\"}", "{\"type\":\"x\",\"payload\":{\"text\":\"\xc3\x28\"}}",
		"\xef\xbb\xbf{\"type\":\"x\"}", `{"type":"x","payload":{"n":01}}`, `{"type":"x","payload":{"n":NaN}}`,
		strings.Repeat("[", 20000), `{"type":"x"`,
	} {
		if req, err := wire.Decode([]byte(data)); err != wire.ErrMalformed {
			t.Errorf("Decode(%.60q) = %+v, %v, want ErrMalformed", data, req, err)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("secret", 30)
	tests := map[string]struct {
		frame, id, want string
	}{
		"type is a number":        {`{"type":5,"id":1}`, `1`, "type is not a string"},
		"type is an object":       {`{"type":{},"id":1}`, `1`, "type is not a string"},
		"type is long":            {`{"type":"` + long + `","id":1}`, `1`, "type has 180 bytes, the limit is 64"},
		"type twice":              {`{"type":"secret","id":1,"type":"x"}`, `1`, "field type appears twice"},
		"v is a string":           {`{"type":"x","id":1,"v":"secret"}`, `1`, "field v is a string, expected a whole number"},
		"v has a fraction":        {`{"type":"x","id":1,"v":1.5}`, `1`, "field v is no whole number of 64 bits"},
		"v beyond int64":          {`{"type":"x","id":1,"v":99999999999999999999}`, `1`, "field v is no whole number of 64 bits"},
		"chat_id is a number":     {`{"type":"x","id":1,"chat_id":5}`, `1`, "field chat_id is a number, expected a string"},
		"chat_id is long":         {`{"type":"x","id":1,"chat_id":"` + long + `"}`, `1`, "chat_id has 180 bytes, the limit is 128"},
		"chat_id with NUL":        {`{"type":"x","id":1,"chat_id":"secret\u0000"}`, `1`, "chat_id contains a control character"},
		"chat_id twice":           {`{"type":"x","id":1,"chat_id":"a","chat_id":"b"}`, `1`, "field chat_id appears twice"},
		"thread_id is a list":     {`{"type":"x","id":1,"thread_id":["secret"]}`, `1`, "field thread_id is a list, expected a string"},
		"thread_id with newline":  {`{"type":"x","id":1,"thread_id":"secret\n"}`, `1`, "thread_id contains a control character"},
		"payload is a list":       {`{"type":"x","id":1,"payload":[]}`, `1`, "payload is not an object"},
		"payload is a string":     {`{"type":"x","id":1,"payload":"secret"}`, `1`, "payload is not an object"},
		"payload's chat_id":       {`{"type":"x","id":1,"payload":{"chat_id":true}}`, `1`, "field chat_id is true or false, expected a string"},
		"id is true":              {`{"type":"x","id":true}`, ``, "id is neither a number nor a string"},
		"id is a list":            {`{"type":"x","id":["secret"]}`, ``, "id is neither a number nor a string"},
		"id is an object":         {`{"type":"x","id":{"secret":1}}`, ``, "id is neither a number nor a string"},
		"id is a long string":     {`{"type":"x","id":"` + long + `"}`, ``, "id has 180 bytes, the limit is 64"},
		"id is a long number":     {`{"type":"x","id":` + strings.Repeat("7", 65) + `}`, ``, "id has 65 bytes, the limit is 64"},
		"id counted in bytes":     {`{"type":"x","id":"` + strings.Repeat("ä", 33) + `"}`, ``, "id has 66 bytes, the limit is 64"},
		"65 levels":               {`{"type":"x","id":1,"payload":` + nested(64) + `}`, `1`, "nested more than 64 levels deep"},
		"9,999 levels":            {`{"type":"x","id":1,"payload":` + nested(9998) + `}`, `1`, "nested more than 64 levels deep"},
		"10,001 levels":           {`{"type":"x","id":1,"payload":` + nested(10000) + `}`, ``, "nested more than 64 levels deep"},
		"500,000 levels unclosed": {`{"type":"x","id":1,"payload":` + strings.Repeat(`{"a":`, 200000), ``, "nested more than 64 levels deep"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			req, err := wire.Decode([]byte(tt.frame))
			if err == nil || err.Error() != tt.want || iris.ErrorCode(err) != iris.CodeUnsupported || err == wire.ErrMalformed {
				t.Errorf("got error %v with code %q, want %q", err, iris.ErrorCode(err), tt.want)
			}
			if string(req.ID) != tt.id {
				t.Errorf("got id %q, want %q", req.ID, tt.id)
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// nested returns JSON that is nested n levels deep.
func nested(n int) string {
	return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1)
}

func TestDecodeAcceptsDepth(t *testing.T) {
	t.Parallel()
	req, err := wire.Decode([]byte(`{"type":"x","payload":` + nested(63) + `}`))
	if err != nil || req.Payload == nil {
		t.Errorf("64 levels: %v", err)
	}
}

// The id is kept for a long time, the frame around it is not.
func TestDecodeCopiesID(t *testing.T) {
	t.Parallel()
	data := []byte(`{"type":"x","id":"abc"}`)
	req, err := wire.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	if string(req.ID) != `"abc"` {
		t.Errorf("id is %s after the buffer was used again", req.ID)
	}
}

func TestDecodePayload(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		payload, want string // want "" = no error
	}{
		"exact names":         {`{"text":"a","Text":5,"TEXT":null}`, ""},
		"unknown fields":      {`{"text":"a","x":1,"x":{"text":5}}`, ""},
		"null fields":         {`{"text":"a","reply_to":null,"media_refs":null,"auto_thread":null,"client_id":null}`, ""},
		"text is a number":    {`{"text":12345}`, "field text is a number, expected a string"},
		"text is an object":   {`{"text":{"secret":1}}`, "field text is an object, expected a string"},
		"refs is a string":    {`{"text":"a","media_refs":"secret"}`, "field media_refs is a string, expected a list"},
		"a ref is a number":   {`{"text":"a","media_refs":["a",7]}`, "field media_refs[1] is a number, expected a string"},
		"a ref is null":       {`{"text":"a","media_refs":[null]}`, "field media_refs[0] is null, expected a string"},
		"many refs":           {`{"text":"a","media_refs":["a"` + strings.Repeat(`,"a"`, 32) + `]}`, "field media_refs has 33 items, the limit is 32"},
		"thread is a string":  {`{"text":"a","auto_thread":"true"}`, "field auto_thread is a string, expected true or false"},
		"text twice":          {`{"text":"secret","text":"b"}`, "field text appears twice"},
		"first error is told": {`{"reply_to":1,"text":2}`, "field reply_to is a number, expected a string"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := wire.DecodePayload[wire.MessageSend](wire.Request{Type: "message.send", Payload: []byte(tt.payload)})
			switch {
			case tt.want == "" && (err != nil || p.Text != "a"):
				t.Errorf("got %+v, %v", p, err)
			case tt.want != "" && (err == nil || err.Error() != "payload of message.send: "+tt.want):
				t.Errorf("got error %v, want %q", err, tt.want)
			}
			var e *iris.Error
			if err != nil && (!errors.As(err, &e) || e.Code != iris.CodeUnsupported) {
				t.Errorf("got error %#v", err)
			}
		})
	}
}

// Text is what the device wrote, but always valid UTF-8.
func TestDecodePayloadText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`a\u0000b`:           "a\x00b",
		`\ud83d\ude42`:       "🙂",
		`a\ud800b`:           "a\uFFFDb",
		`\udc00\ud800`:       "\uFFFD\uFFFD",
		"\u2028<&>":          "\u2028<&>",
		`quote \" slash \\`:  `quote " slash \`,
		`\\\\\"`:             `\\"`,
		`ends with slash \\`: `ends with slash \`,
	} {
		p, err := wire.DecodePayload[wire.MessageSend](wire.Request{Payload: []byte(`{"text":"` + in + `"}`)})
		if err != nil || p.Text != want {
			t.Errorf("%s: got %q, %v, want %q", in, p.Text, err, want)
		}
	}
}
