package wire_test

import (
	"strings"
	"testing"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	hello, send, sync, history := wire.TypeHello, wire.TypeMessageSend, wire.TypeSync, wire.TypeHistory
	x := strings.Repeat
	tests := map[string]struct {
		request, payload string
		want             string // "" = accepted
		code             iris.Code
	}{
		"hello":                 {hello, `{"token":"t","device_id":"d"}`, "", ""},
		"hello, longest id":     {hello, `{"token":"t","device_id":"` + x("d", 128) + `"}`, "", ""},
		"hello, no token":       {hello, `{"device_id":"d"}`, "token is missing: pair the device first", iris.CodeAuth},
		"hello, nothing":        {hello, ``, "token is missing: pair the device first", iris.CodeAuth},
		"hello, token is 5":     {hello, `{"token":5,"device_id":"d"}`, "payload of hello: field token is a number, expected a string", iris.CodeUnsupported},
		"hello, no device_id":   {hello, `{"token":"t"}`, "device_id is missing", iris.CodeUnsupported},
		"hello, long device_id": {hello, `{"token":"t","device_id":"` + x("é", 65) + `"}`, "device_id has 130 bytes, the limit is 128", iris.CodeUnsupported},
		"hello, NUL in id":      {hello, `{"token":"t","device_id":"d\u0000"}`, "device_id contains a control character", iris.CodeUnsupported},
		"hello, wrong caps":     {hello, `{"token":"t","device_id":"d","caps":{"media":"yes"}}`, "payload of hello: field caps.media is a string, expected true or false", iris.CodeUnsupported},

		"send":                      {send, `{"text":"hi"}`, "", ""},
		"send, largest text":        {send, `{"text":"` + x("ä", 32<<10) + `"}`, "", ""},
		"send, large text":          {send, `{"text":"` + x("a", 64<<10+1) + `"}`, "text has 65537 bytes, the limit is 65536 (64 KiB)", iris.CodeUnsupported},
		"send, nothing":             {send, ``, "text is empty, and there are no media_refs: nothing to send", iris.CodeUnsupported},
		"send, spaces":              {send, `{"text":" \n\t\u2003"}`, "text is empty, and there are no media_refs: nothing to send", iris.CodeUnsupported},
		"send, media only":          {send, `{"text":"","media_refs":["mu_1"]}`, "", ""},
		"send, empty media_refs":    {send, `{"text":"","media_refs":[]}`, "text is empty, and there are no media_refs: nothing to send", iris.CodeUnsupported},
		"send, empty ref":           {send, `{"text":"a","media_refs":["mu_1",""]}`, "media_refs has an empty item", iris.CodeUnsupported},
		"send, long ref":            {send, `{"media_refs":["` + x("m", 129) + `"]}`, "an item of media_refs has 129 bytes, the limit is 128", iris.CodeUnsupported},
		"send, longest client_id":   {send, `{"text":"a","client_id":"` + x("🙂", 64) + `"}`, "", ""},
		"send, long client_id":      {send, `{"text":"a","client_id":"` + x("c", 65) + `"}`, "client_id has 65 characters, the limit is 64", iris.CodeUnsupported},
		"send, NUL in client_id":    {send, `{"text":"a","client_id":"c\u0000"}`, "client_id contains a control character", iris.CodeUnsupported},
		"send, newline in reply_to": {send, `{"text":"a","reply_to":"m\n"}`, "reply_to contains a control character", iris.CodeUnsupported},

		"sync":               {sync, `{"cursor":0}`, "", ""},
		"sync, nothing":      {sync, ``, "", ""},
		"sync, null":         {sync, `{"cursor":null}`, "", ""},
		"sync, largest":      {sync, `{"cursor":9223372036854775807}`, "", ""},
		"sync, beyond int64": {sync, `{"cursor":9223372036854775808}`, "payload of sync: field cursor is no whole number of 64 bits", iris.CodeUnsupported},
		"sync, negative":     {sync, `{"cursor":-1}`, "cursor is -1, the first one is 0", iris.CodeUnsupported},
		"sync, string":       {sync, `{"cursor":"1042"}`, "payload of sync: field cursor is a string, expected a whole number", iris.CodeUnsupported},

		"history":                 {history, ``, "", ""},
		"history, 1":              {history, `{"limit":1}`, "", ""},
		"history, 200":            {history, `{"limit":200,"before_message_id":"m_1"}`, "", ""},
		"history, 201":            {history, `{"limit":201}`, "limit is 201, it may be 1 to 200", iris.CodeUnsupported},
		"history, negative":       {history, `{"limit":-1}`, "limit is -1, it may be 1 to 200", iris.CodeUnsupported},
		"history, long id":        {history, `{"before_message_id":"` + x("m", 10<<10) + `"}`, "before_message_id has 10240 bytes, the limit is 128", iris.CodeUnsupported},
		"ping, fraction":          {wire.TypePing, `{"ts":1.5}`, "payload of ping: field ts is no whole number of 64 bits", iris.CodeUnsupported},
		"ping, huge":              {wire.TypePing, `{"ts":1e400}`, "payload of ping: field ts is no whole number of 64 bits", iris.CodeUnsupported},
		"ping, smallest of int64": {wire.TypePing, `{"ts":-9223372036854775808}`, "", ""},

		"answer":                 {wire.TypePickerSelect, `{"picker_id":"p","value":""}`, "", ""},
		"answer, free text":      {wire.TypePickerSelect, `{"picker_id":"p","value":null,"text":"x"}`, "", ""},
		"answer, none":           {wire.TypePickerSelect, `{"picker_id":"p"}`, "value is missing: send the value of a choice, or null with a text", iris.CodeUnsupported},
		"answer, both":           {wire.TypePickerSelect, `{"picker_id":"p","value":"a","text":"b"}`, "text goes with value null: an answer is either a choice or free text", iris.CodeUnsupported},
		"answer, to nothing":     {wire.TypePickerSelect, `{"value":"a"}`, "picker_id is missing", iris.CodeUnsupported},
		"answer, long value":     {wire.TypePickerSelect, `{"picker_id":"p","value":"` + x("v", 1025) + `"}`, "value has 1025 bytes, the limit is 1024", iris.CodeUnsupported},
		"answer, long text":      {wire.TypePickerSelect, `{"picker_id":"p","text":"` + x("v", 64<<10+1) + `"}`, "text has 65537 bytes, the limit is 65536 (64 KiB)", iris.CodeUnsupported},
		"create":                 {wire.TypeChannelCreate, `{"name":"x"}`, "", ""},
		"create, 100 characters": {wire.TypeChannelCreate, `{"name":"` + x("🙂", 100) + `","kind":"thread"}`, "", ""},
		"create, 101 characters": {wire.TypeChannelCreate, `{"name":"` + x("a", 101) + `"}`, "name has 101 characters, it may have 1 to 100", iris.CodeUnsupported},
		"create, no name":        {wire.TypeChannelCreate, `{"name":" \u0007 "}`, "name is empty, it may have 1 to 100 characters", iris.CodeUnsupported},
		"create, other kind":     {wire.TypeChannelCreate, `{"name":"x","kind":"default"}`, `kind is neither "channel" nor "thread"`, iris.CodeUnsupported},
		"rename, nothing":        {wire.TypeChannelRename, ``, "name is empty, it may have 1 to 100 characters", iris.CodeUnsupported},
		"steer, spaces":          {wire.TypeAgentSteer, `{"text":" \n"}`, "text is empty: nothing to say", iris.CodeUnsupported},
		"steer, large":           {wire.TypeAgentSteer, `{"text":"` + x("a", 64<<10+1) + `"}`, "text has 65537 bytes, the limit is 65536", iris.CodeUnsupported},
		"read, nothing":          {wire.TypeReadReceipt, ``, "message_id is missing", iris.CodeUnsupported},
		"register, nothing":      {wire.TypeFCMRegister, ``, "neither fcm_token nor ntfy_topic is given", iris.CodeUnsupported},
		"register, removes":      {wire.TypeFCMRegister, `{"fcm_token":""}`, "", ""},
		"register, long token":   {wire.TypeFCMRegister, `{"fcm_token":"` + x("f", 4097) + `"}`, "fcm_token has 4097 bytes, the limit is 4096", iris.CodeUnsupported},
		"register, long topic":   {wire.TypeFCMRegister, `{"ntfy_topic":"` + x("f", 65) + `"}`, "ntfy_topic has 65 bytes, the limit is 64", iris.CodeUnsupported},
		"complete, long prefix":  {wire.TypeCommandsComplete, `{"prefix":"` + x("/", 129) + `"}`, "prefix has 129 bytes, the limit is 128", iris.CodeUnsupported},
		"upload, no ref":         {wire.TypeMediaUploadStart, `{"size":1}`, "media_ref is missing", iris.CodeUnsupported},
		"upload, negative":       {wire.TypeMediaUploadStart, `{"media_ref":"m","size":-1}`, "size is -1 bytes", iris.CodeUnsupported},
		"upload end, no ref":     {wire.TypeMediaUploadEnd, ``, "media_ref is missing", iris.CodeUnsupported},
		"pull, nothing":          {wire.TypeMediaPull, ``, "media_id is missing", iris.CodeUnsupported},
		"pull, negative":         {wire.TypeMediaPull, `{"media_id":"m","offset":-1}`, "offset is -1 and length is 0, neither may be negative", iris.CodeUnsupported},
		"search, nothing":        {wire.TypeSearch, ``, "query is empty", iris.CodeUnsupported},
		"search, elsewhere":      {wire.TypeSearch, `{"query":"x","scope":"web"}`, `scope is neither "all" nor "chat"`, iris.CodeUnsupported},
		"search, long next":      {wire.TypeSearch, `{"query":"x","next":"` + x("n", 129) + `"}`, "next has 129 bytes, the limit is 128", iris.CodeUnsupported},
		"delete, nothing":        {wire.TypeMessageDelete, ``, "message_ids is empty", iris.CodeUnsupported},
		"delete, empty item":     {wire.TypeMessageDelete, `{"message_ids":[""]}`, "message_ids has an empty item", iris.CodeUnsupported},
		"delete, too many":       {wire.TypeMessageDelete, `{"message_ids":[` + x(`"m",`, 200) + `"m"]}`, "payload of message.delete: field message_ids has 201 items, the limit is 200", iris.CodeUnsupported},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := wire.Request{Type: tt.request}
			if tt.payload != "" {
				req.Payload = []byte(tt.payload)
			}
			_, err := requests[tt.request].decode(req)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got error %q", err)
			case tt.want != "" && (err == nil || err.Error() != tt.want || iris.ErrorCode(err) != tt.code):
				t.Errorf("got error %v with code %q, want %q with %q", err, iris.ErrorCode(err), tt.want, tt.code)
			}
		})
	}
}

func TestHistoryDefault(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{`{}`, `{"limit":null}`, `{"limit":0}`} {
		p, err := wire.DecodePayload[wire.HistoryRequest](wire.Request{Payload: []byte(payload)})
		if err != nil || p.Limit != 50 {
			t.Errorf("%s: got limit %d, %v, want 50", payload, p.Limit, err)
		}
	}
}

func TestHelloCleansDeviceName(t *testing.T) {
	t.Parallel()
	payload := `{"token":"t","device_id":"d","device_name":"\u0007` + strings.Repeat("é", 150) + `"}`
	p, err := wire.DecodePayload[wire.Hello](wire.Request{Payload: []byte(payload)})
	if want := strings.Repeat("é", 100); err != nil || p.DeviceName != want {
		t.Errorf("got %q, %v, want %q", p.DeviceName, err, want)
	}
}

func TestCleanName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                           "",
		"Default":                    "Default",
		"a\tb\nc":                    "a\tb\nc",
		"a\x00b\x1bc\rd\x7fe\u0085f": "abcdef",
		"👩‍💻 ÄÖ ":                    "👩‍💻 ÄÖ ",
		"bad \xff\xfe utf8":          "bad \uFFFD utf8",
	} {
		if got := wire.CleanName(in); got != want {
			t.Errorf("CleanName(%q) = %q, want %q", in, got, want)
		}
	}
}
