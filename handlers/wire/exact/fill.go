package exact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decoder fills structs and keeps the first error.
type decoder struct {
	err *Error
}

func (d *decoder) fail(path, format string, args ...any) {
	if d.err == nil {
		d.err = &Error{Field: path, Problem: fmt.Sprintf(format, args...)}
	}
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// value fills v from raw, a valid JSON value; limit is the most items that a
// list may have, 0 for any number.
func (d *decoder) value(v reflect.Value, raw []byte, path string, limit int) {
	want := expected(v.Type())
	switch kind := kindOf(raw); {
	case kind == aNull: // absent
	case v.Type() == rawMessage:
		v.SetBytes(raw)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(v.Elem(), raw, path, limit)
	case want == anything || want == anObject && kind == anObject && v.Kind() == reflect.Map:
		d.free(v, raw, path)
	case want == aWholeNumber && kind == aNumber:
		d.whole(v, raw, path)
	case kind != want:
		d.fail(path, "is %s, expected %s", kind, want)
	case kind == anObject:
		d.object(v, raw, path)
	case kind == aList:
		d.list(v, raw, path, limit)
	case kind == aString:
		v.SetString(text(raw))
	case kind == aNumber:
		d.float(v, raw, path)
	default:
		v.SetBool(raw[0] == 't')
	}
}

func (d *decoder) object(v reflect.Value, raw []byte, path string) {
	fields := fieldsOf(v.Type())
	for name, value := range members(raw) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 || name == "" {
			continue
		}
		inner := name
		if path != "" {
			inner = path + "." + name
		}
		if fields[i].seen {
			d.fail(inner, "appears twice")
			continue
		}
		fields[i].seen = true
		d.value(v.Field(i), value, inner, fields[i].limit)
	}
}

// field is what the tags of a struct's field say.
type field struct {
	name  string // "" for one that is not in JSON
	limit int
	seen  bool
}

func fieldsOf(t reflect.Type) []field {
	fields := make([]field, t.NumField())
	for i := range fields {
		tag := t.Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		if name != "-" {
			fields[i].name = name
		}
		fields[i].limit, _ = strconv.Atoi(tag.Get("max"))
	}
	return fields
}

// list counts before it allocates: an item may be much larger in memory than
// in JSON.
func (d *decoder) list(v reflect.Value, raw []byte, path string, limit int) {
	n := 0
	for range items(raw) {
		n++
	}
	if limit > 0 && n > limit {
		d.fail(path, "has %d items, the limit is %d", n, limit)
		return
	}
	list, i := reflect.MakeSlice(v.Type(), n, n), 0
	for item := range items(raw) {
		inner := path + "[" + strconv.Itoa(i) + "]"
		if kindOf(item) == aNull {
			d.fail(inner, "is null, expected %s", expected(v.Type().Elem()))
		}
		d.value(list.Index(i), item, inner, 0)
		i++
	}
	v.Set(list)
}

func (d *decoder) whole(v reflect.Value, raw []byte, path string) {
	n, err := strconv.ParseInt(string(raw), 10, v.Type().Bits())
	if err != nil {
		d.fail(path, "is no whole number of %d bits", v.Type().Bits())
		return
	}
	v.SetInt(n)
}

func (d *decoder) float(v reflect.Value, raw []byte, path string) {
	f, err := strconv.ParseFloat(string(raw), v.Type().Bits())
	if err != nil {
		d.fail(path, "is a number out of range")
		return
	}
	v.SetFloat(f)
}

// free fills a field that takes any object or value. Its numbers stay as they
// are: as float64 the long ones would change, and the huge ones be errors.
func (d *decoder) free(v reflect.Value, raw []byte, path string) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(v.Addr().Interface()); err != nil {
		d.fail(path, "has the wrong form")
	}
}

// The kinds of value, in words for people.
const (
	aNull        = "null"
	aString      = "a string"
	aNumber      = "a number"
	aWholeNumber = "a whole number"
	aBool        = "true or false"
	aList        = "a list"
	anObject     = "an object"
	anything     = "anything"
)

func kindOf(raw []byte) string {
	switch raw[0] {
	case 'n':
		return aNull
	case '"':
		return aString
	case 't', 'f':
		return aBool
	case '[':
		return aList
	case '{':
		return anObject
	default:
		return aNumber
	}
}

func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return aString
	case reflect.Bool:
		return aBool
	case reflect.Int, reflect.Int64, reflect.Int32:
		return aWholeNumber
	case reflect.Float64:
		return aNumber
	case reflect.Slice:
		return aList
	case reflect.Struct, reflect.Map:
		return anObject
	case reflect.Pointer:
		return expected(t.Elem())
	default:
		return anything
	}
}
