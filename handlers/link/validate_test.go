package link_test

import (
	"fmt"
	"strings"
	"testing"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

func TestHelloValidate(t *testing.T) {
	t.Parallel()
	hello := func(fields string) string { return `{"protocol":1,"epoch":"e_1","process":"p_1"` + fields + `}` }
	turn := func(fields string) string { return hello(`,"turns":[{"turn":"tn_1","chat_id":"c"},{` + fields + `}]`) }
	list := func(item string, n int) string { return "[" + item + strings.Repeat(","+item, n-1) + "]" }
	for data, want := range map[string]string{
		hello(``): "",
		hello(`,"last_seq":0,"received":0,"turns":null,"commands":[],"thread_id":7`):    "",
		turn(`"turn":"tn_2","chat_id":"c","thread_id":null,"messages":[],"tools":null`): "",
		hello(`,"commands":` + list("{}", 2000)):                                        "",
		`{}`:                                                                            "protocol is 0, this gateway speaks 1",
		`{"protocol":2}`:                                                                "protocol is 2, this gateway speaks 1",
		`{"protocol":"1"}`:                                                              "field protocol is a string, expected a whole number",
		`{"protocol":1,"process":"p"}`:                                                  "epoch is missing",
		`{"protocol":1,"epoch":"e"}`:                                                    "process is missing",
		`{"protocol":1,"epoch":"e\u0000"}`:                                              "epoch contains a control character",
		hello(`,"last_seq":-1`):                                                         "last_seq is -1, less than 0",
		hello(`,"received":-2`):                                                         "received is -2, less than 0",
		hello(`,"received":1e3`):                                                        "field received is no whole number of 64 bits",
		hello(`,"turns":{}`):                                                            "field turns is an object, expected a list",
		hello(`,"turns":[7]`):                                                           "field turns[0] is a number, expected an object",
		hello(`,"turns":` + list("{}", 1001)):                                           "field turns has 1001 items, the limit is 1000",
		hello(`,"commands":` + list("0", 2e3+1)):                                        "field commands has 2001 items, the limit is 2000",
		turn(`"chat_id":"c"`):                                                           "turns[1]: turn is missing",
		turn(`"turn":"tn_2"`):                                                           "turns[1]: chat_id is missing",
		turn(`"turn":"tn_2","chat_id":"` + strings.Repeat("secret", 22) + `"`): "turns[1]: chat_id has 132 bytes, the limit is 128",
		turn(`"messages":[{"text":"secret"}]`):                                 "turns[1]: messages[0]: message_id is missing",
		turn(`"tools":[{"call":"c"},{}]`):                                      "turns[1]: tools[1]: call is missing",
		turn(`"tools":[{"args":"secret"}]`):                                    "field turns[1].tools[0].args is a string, expected an object",
		turn(`"turn":"tn_2","chat_id":"c","messages":[{"message_id":"m","reply_to":"u","streamed":null}],"prompts":["p"]`): "",
		turn(`"messages":[{"message_id":"m","reply_to":"\n"}]`):                                                            "turns[1]: messages[0]: reply_to contains a control character",
		turn(`"messages":[{"message_id":"m","streamed":"no"}]`):                                                            "field turns[1].messages[0].streamed is a string, expected true or false",
		turn(`"prompts":["p",""]`):             "turns[1]: prompts[1]: prompt_id is missing",
		turn(`"prompts":` + list(`"p"`, 1001)): "field turns[1].prompts has 1001 items, the limit is 1000",
	} {
		_, err := link.Decode[link.Hello]([]byte(data))
		checkError(t, data, err, want)
	}
}

func TestEventValidate(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"kind":"send","seq":1,"body":{"message_id":"m"}}`:                         "",
		`{"kind":"send","body":{"message_id":"m","streaming":true}}`:                "",
		`{"kind":"edit","body":{"message_id":"m"}}`:                                 "",
		`{"kind":"tool.start","body":{"call":"` + strings.Repeat("c", 5000) + `"}}`: "",
		`{"kind":"tool.start","seq":7,"body":{"call":"c"}}`:                         "",
		`{"kind":"turn.start","seq":1,"body":{"trigger":null,"source":"cron"}}`:     "",
		`{"kind":"turn.end","seq":1,"body":null}`:                                   "",
		`{"kind":"turn.end","seq":1}`:                                               "",
		`{"kind":"model.start","seq":7,"body":{"text":"hi"}}`:                       "",
		`{"kind":"prompt","seq":7,"body":{"prompt_id":"p","kind":"later","x":[]}}`:  "",
		`{"kind":"prompt.closed","seq":7,"body":{"prompt_id":"p","value":null}}`:    "",
		`{"kind":"some.later","body":[]}`:                                           "",
		`{"kind":"Send"}`:                                                           "",

		`{}`: "event (seq 0): kind has 0 bytes, it may be 1 to 64",
		`{"seq":3,"kind":"` + strings.Repeat("k", 65) + `"}`:     "event (seq 3): kind has 65 bytes, it may be 1 to 64",
		`{"kind":"send","body":{"message_id":"m"}}`:              "event send (seq 0): seq is missing, though the event is durable",
		`{"kind":"edit","body":{"message_id":"m","final":true}}`: "event edit (seq 0): seq is missing, though the event is durable",
		`{"kind":"answer"}`:                                                             "event answer (seq 0): seq is missing, though the event is durable",
		`{"kind":"answer","seq":-1}`:                                                    "event answer (seq -1): seq is -1, less than 0",
		`{"kind":"tool.progress","seq":-1,"body":{"call":"c"}}`:                         "event tool.progress (seq -1): seq is -1, less than 0",
		`{"kind":"some.later","seq":-1}`:                                                "event some.later (seq -1): seq is -1, less than 0",
		`{"kind":"answer","seq":1.5}`:                                                   "field seq is no whole number of 64 bits",
		`{"kind":"answer","seq":"1"}`:                                                   "field seq is a string, expected a whole number",
		`{"kind":"answer","seq":1,"seq":2}`:                                             "field seq appears twice",
		`{"kind":"answer","seq":1,"at":-5}`:                                             "event answer (seq 1): at is -5, less than 0",
		`{"kind":"answer","seq":1,"chat_id":"a\u0000b"}`:                                "event answer (seq 1): chat_id contains a control character",
		`{"kind":"answer","seq":1,"thread_id":false}`:                                   "field thread_id is true or false, expected a string",
		`{"kind":"answer","seq":1,"body":"secret"}`:                                     "event answer (seq 1): body: not a JSON object in UTF-8",
		`{"kind":"answer","seq":1,"body":{"text":["secret"]}}`:                          "event answer (seq 1): field body.text is a list, expected a string",
		`{"kind":"send","seq":1,"body":{"text":"secret"}}`:                              "event send (seq 1): message_id is missing",
		`{"kind":"send","seq":1,"body":{"message_id":"m","reply_to":"\n"}}`:             "event send (seq 1): reply_to contains a control character",
		`{"kind":"edit","body":{"message_id":"m","began":-1}}`:                          "event edit (seq 0): began is -1, less than 0",
		`{"kind":"delete","seq":1,"body":{"message_ids":["m",""]}}`:                     "event delete (seq 1): an item of message_ids is missing",
		`{"kind":"model.start","body":{"message_id":"\u0001"}}`:                         "event model.start (seq 0): message_id contains a control character",
		`{"kind":"model.end","seq":1,"body":{"usage":{"input":1.5}}}`:                   "event model.end (seq 1): field body.usage.input is no whole number of 64 bits",
		`{"kind":"tool.start","body":{"args":{}}}`:                                      "event tool.start (seq 0): call is missing",
		`{"kind":"tool.progress","body":{}}`:                                            "event tool.progress (seq 0): call is missing",
		`{"kind":"tool.end","seq":1,"body":{"call":"c","index":-1}}`:                    "event tool.end (seq 1): index is -1, less than 0",
		`{"kind":"prompt","seq":1,"body":{"kind":"approval"}}`:                          "event prompt (seq 1): prompt_id is missing",
		`{"kind":"prompt","seq":1,"body":{"prompt_id":"p"}}`:                            "event prompt (seq 1): kind is missing",
		`{"kind":"prompt","seq":1,"body":{"prompt_id":"p","kind":"k","expires_at":-1}}`: "event prompt (seq 1): expires_at is -1, less than 0",
		`{"kind":"prompt.closed","seq":1,"body":{"value":"secret"}}`:                    "event prompt.closed (seq 1): prompt_id is missing",
		`{"kind":"cron","seq":1,"body":{"text":"secret"}}`:                              "event cron (seq 1): message_id is missing",
		`{"kind":"done","seq":1,"body":{"cursor":-1}}`:                                  "event done (seq 1): cursor is -1, less than 0",
		`{"kind":"turn.start","seq":1,"body":{"trigger":7}}`:                            "event turn.start (seq 1): field body.trigger is a number, expected a string",
	} {
		_, err := link.Decode[link.Event]([]byte(data))
		checkError(t, data, err, want)
	}
}

// Every durable kind wants a seq, and no live one does.
func TestDurableKinds(t *testing.T) {
	t.Parallel()
	live := map[string]bool{link.KindModelStart: true, link.KindToolStart: true, link.KindToolProgress: true}
	for kind := range events {
		body := decode[link.Event](t, golden(t, link.TypeEvent, link.TypeEvent+"."+kind)).Body
		for seq, fails := range []bool{!live[kind], false} {
			ev := fmt.Sprintf(`{"kind":%q,"seq":%d,"body":%s}`, kind, seq, body)
			if _, err := link.Decode[link.Event]([]byte(ev)); (err != nil) != fails {
				t.Errorf("%s with seq %d: got error %v", kind, seq, err)
			}
		}
	}
}

// An event that can never be taken is acked and dropped: for that its number
// must be known.
func TestSeqOfRefusedEvent(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 500) + "{}" + strings.Repeat("}", 500)
	for _, data := range []string{
		`{"kind":7,"seq":42}`, `{"chat_id":[],"seq":42}`, `{"kind":"send","body":{},"seq":42}`, `{"kind":"tool.end","seq":42,"body":{"call":"c","args":` + deep + `}}`,
		`{"kind":"answer","seq":42,"body":{"text":7}}`, `{"kind":"answer","kind":"send","seq":42}`,
	} {
		ev, err := link.Decode[link.Event]([]byte(data))
		if err == nil || ev.Seq != 42 {
			t.Errorf("%.60s: got seq %d, %v", data, ev.Seq, err)
		}
	}
}

func TestReceivedValidate(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"type":"received","cursor":0}`:  "",
		`{"type":"received","cursor":-1}`: "cursor is -1, less than 0",
		`{"cursor":9223372036854775808}`:  "field cursor is no whole number of 64 bits",
	} {
		_, err := link.Decode[link.Received]([]byte(data))
		checkError(t, data, err, want)
	}
}

func checkError(t *testing.T, data string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%.100s: got error %v", data, err)
	case want != "" && (err == nil || err.Error() != "host link: "+want || iris.ErrorCode(err) != iris.CodeUnsupported):
		t.Errorf("%.100s: got  %v\nwant host link: %s", data, err, want)
	}
}

func TestMediaValidate(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0f", 32)
	put := func(fields string) string {
		return `{"media_id":"md_1","kind":"image","mime":"image/png","sha256":"` + hash + `"` + fields + `}`
	}
	for data, want := range map[string]string{
		put(``): "",
		put(`,"size":0,"filename":"","resume":true`):          "",
		put(`,"filename":"` + strings.Repeat("n", 255) + `"`): "",
		put(`,"filename":"` + strings.Repeat("n", 256) + `"`): "filename has 256 bytes, the limit is 255",
		put(`,"size":-1`):                                                   "size is -1, less than 0",
		put(`,"size":1.5`):                                                  "field size is no whole number of 64 bits",
		`{"sha256":"` + hash + `"}`:                                         "media_id is missing",
		`{"media_id":"md_1"}`:                                               "sha256 is not 64 hexadecimal digits",
		`{"media_id":"md_1","sha256":"` + hash[2:] + `"}`:                   "sha256 is not 64 hexadecimal digits",
		`{"media_id":"md_1","sha256":"zz` + hash[2:] + `"}`:                 "sha256 is not 64 hexadecimal digits",
		`{"media_id":"md_1","mime":"a\nb","sha256":"` + hash + `"}`:         "mime contains a control character",
		`{"media_id":"` + strings.Repeat("m", 129) + `"}`:                   "media_id has 129 bytes, the limit is 128",
		`{"media_id":"md_1","kind":"` + strings.Repeat("secret", 22) + `"}`: "kind has 132 bytes, the limit is 128",
	} {
		_, err := link.Decode[link.MediaPut]([]byte(data))
		checkError(t, data, err, want)
	}
	for data, want := range map[string]string{
		`{"media_id":"md_1"}`:                "",
		`{"media_id":"md_1","offset":7}`:     "",
		`{"offset":7}`:                       "media_id is missing",
		`{"media_id":"md_1","offset":-7}`:    "offset is -7, less than 0",
		`{"media_id":"md_1","offset":"7"}`:   "field offset is a string, expected a whole number",
		`{"media_id":["md_1"],"offset":"7"}`: "field media_id is a list, expected a string",
	} {
		_, err := link.Decode[link.MediaGet]([]byte(data))
		checkError(t, data, err, want)
	}
	event := func(fields string) string {
		return `{"kind":"media","seq":1,"body":{"media_id":"md_1","sha256":"` + hash + `"` + fields + `}}`
	}
	for data, want := range map[string]string{
		event(`,"message_id":"m_1"`):                 "",
		event(``):                                    "event media (seq 1): message_id is missing",
		event(`,"message_id":"m_1","size":-1`):       "event media (seq 1): size is -1, less than 0",
		event(`,"message_id":"m_1","reply_to":"\n"`): "event media (seq 1): reply_to contains a control character",
	} {
		_, err := link.Decode[link.Event]([]byte(data))
		checkError(t, data, err, want)
	}
}
