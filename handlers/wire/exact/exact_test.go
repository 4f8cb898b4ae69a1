package exact_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"iris-gateway/handlers/wire/exact"
)

type inner struct {
	Name string   `json:"name"`
	Nums []int64  `json:"nums" max:"3"`
	Ptr  *float64 `json:"ptr"`
}

type outer struct {
	S     string          `json:"s,omitempty"`
	B     bool            `json:"b"`
	I     int             `json:"i"`
	I32   int32           `json:"i32"`
	F     float64         `json:"f"`
	Raw   json.RawMessage `json:"raw"`
	Args  map[string]any  `json:"args"`
	Any   any             `json:"any"`
	In    inner           `json:"in"`
	List  []inner         `json:"list"`
	Not   string          `json:"-"`
	NoTag string
}

func TestDecode(t *testing.T) {
	t.Parallel()
	f := 1.5
	tests := map[string]struct {
		data string
		want outer
	}{
		"nothing":       {`{}`, outer{}},
		"scalars":       {`{"s":"a","b":true,"i":-7,"i32":7,"f":-1.5e3}`, outer{S: "a", B: true, I: -7, I32: 7, F: -1500}},
		"nested":        {`{"in":{"name":"n","nums":[1,2,3],"ptr":1.5}}`, outer{In: inner{Name: "n", Nums: []int64{1, 2, 3}, Ptr: &f}}},
		"lists":         {`{"list":[ {"name":"a"} , {} ,{"nums":[]}]}`, outer{List: []inner{{Name: "a"}, {}, {Nums: []int64{}}}}},
		"empty list":    {`{"list":[]}`, outer{List: []inner{}}},
		"raw":           {`{"raw": [1, "]", {"a":"\""}] }`, outer{Raw: json.RawMessage(`[1, "]", {"a":"\""}]`)}},
		"free object":   {`{"args":{"n":12345678901234567890,"x":1e400,"l":[1]}}`, outer{Args: map[string]any{"n": json.Number("12345678901234567890"), "x": json.Number("1e400"), "l": []any{json.Number("1")}}}},
		"free value":    {`{"any":"x"}`, outer{Any: "x"}},
		"nulls":         {`{"s":null,"b":null,"i":null,"f":null,"raw":null,"args":null,"any":null,"in":null,"list":null}`, outer{}},
		"other case":    {`{"S":"a","In":{"name":"n"},"in":{"NAME":"m"}}`, outer{}},
		"without tags":  {`{"-":"a","NoTag":"b","Not":"c","":"d"}`, outer{}},
		"unknown twice": {`{"x":1,"x":[{}],"s":"a"}`, outer{S: "a"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := exact.Decode[outer]([]byte(tt.data))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %#v, %v\nwant %#v", got, err, tt.want)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"s":1}`:                        "field s is a number, expected a string",
		`{"b":"secret"}`:                 "field b is a string, expected true or false",
		`{"i":true}`:                     "field i is true or false, expected a whole number",
		`{"i":1.0}`:                      "field i is no whole number of 64 bits",
		`{"i32":2147483648}`:             "field i32 is no whole number of 32 bits",
		`{"f":1e400}`:                    "field f is a number out of range",
		`{"f":"1"}`:                      "field f is a string, expected a number",
		`{"args":[]}`:                    "field args is a list, expected an object",
		`{"in":[]}`:                      "field in is a list, expected an object",
		`{"in":{"ptr":{}}}`:              "field in.ptr is an object, expected a number",
		`{"list":{}}`:                    "field list is an object, expected a list",
		`{"list":[{},{"nums":[1,"x"]}]}`: "field list[1].nums[1] is a string, expected a whole number",
		`{"list":[null]}`:                "field list[0] is null, expected an object",
		`{"in":{"nums":[1,2,3,4]}}`:      "field in.nums has 4 items, the limit is 3",
		`{"in":{"name":"a","name":"b"}}`: "field in.name appears twice",
		`{"s":null,"s":null}`:            "field s appears twice",
		`{"b":1,"s":2}`:                  "field b is a number, expected true or false",
	} {
		_, err := exact.Decode[outer]([]byte(data))
		var e *exact.Error
		if !errors.As(err, &e) || e.Error() != want {
			t.Errorf("%s: got %v, want %q", data, err, want)
		}
	}
}

func TestNoObject(t *testing.T) {
	t.Parallel()
	for _, data := range []string{``, ` `, `null`, `7`, `[]`, `"{}"`, `{`, `{}}`, `{"s":}`, "{\"s\":\"\xff\"}", "{\"s\":\"\n\"}"} {
		if _, err := exact.Decode[outer]([]byte(data)); err != exact.ErrNoObject {
			t.Errorf("%q: got %v", data, err)
		}
	}
}

// Whoever gets an error still wants to know the number of the event, or the id
// of the request.
func TestDecodeGoesOn(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for _, data := range []string{`{"s":1,"b":7,"i":42}`, `{"raw":` + deep + `,"i":42}`, `{"i":42,"i":43}`} {
		got, err := exact.Decode[outer]([]byte(data))
		if err == nil || got.I != 42 {
			t.Errorf("%.40s: got i = %d, %v", data, got.I, err)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	list := func(n int) []byte {
		return []byte(`{"raw":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}")
	}
	if _, err := exact.Decode[outer](list(exact.MaxDepth)); err != nil {
		t.Errorf("%d levels: %v", exact.MaxDepth, err)
	}
	for _, n := range []int{exact.MaxDepth + 1, 10000, 10001, 1 << 19} {
		if _, err := exact.Decode[outer](list(n)); err != exact.ErrDepth {
			t.Errorf("%d levels: got %v", n, err)
		}
	}
	brackets := []byte(`{"s":"` + strings.Repeat(`[{\"`, 1000) + `"}`)
	if _, err := exact.Decode[outer](brackets); err != nil {
		t.Errorf("brackets in a string: %v", err)
	}
}

// FuzzDecode compares with encoding/json: what is accepted here means the same
// there, once fields that differ in case only are out of the way.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"s":"\\\"","b":true,"i":1,"f":1.5,"raw":[{}],"args":{"a":1},"in":{"name":"n","nums":[1],"ptr":0},"list":[{},{"name":"\ud800"}]}`,
		` { "s" : null , "list" : [ ] } `, `{"s":"a","s":"b"}`, `{"list":[null]}`, `{"any":[1,{"a":null}]}`, `[]`, `{`, "{\"s\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := exact.Decode[outer](data)
		if err != nil {
			if !json.Valid(data) && err != exact.ErrNoObject && err != exact.ErrDepth {
				t.Errorf("got %v of what is no JSON", err)
			}
			return
		}
		dec := json.NewDecoder(strings.NewReader(string(data)))
		dec.UseNumber()
		var want outer
		if err := dec.Decode(&want); err != nil || !reflect.DeepEqual(got, normal(want)) {
			if !sameNames(data) {
				return
			}
			t.Errorf("got  %#v\nwant %#v, %v", got, want, err)
		}
	})
}

// normal removes what encoding/json keeps of a null.
func normal(o outer) outer {
	if string(o.Raw) == "null" {
		o.Raw = nil
	}
	return o
}

// sameNames reports whether no member's name is one of ours in another case,
// or one that only encoding/json knows.
func sameNames(data []byte) bool {
	ours := []string{"s", "b", "i", "i32", "f", "raw", "args", "any", "in", "list", "name", "nums", "ptr", "NoTag"}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return true
		}
		s, ok := token.(string)
		for _, name := range ours {
			if ok && strings.EqualFold(s, name) && (s != name || name == "NoTag") {
				return false
			}
		}
	}
}
