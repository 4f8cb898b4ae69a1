package rows_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// changes are all that a commit can hold.
func changes() []iris.Change {
	return []iris.Change{
		iris.CreateMessage{}, iris.PutMessage{}, iris.PutChannel{}, iris.SetBusy{}, iris.SetDeviceLink{}, iris.SetHost{},
		iris.SetHostLink{}, iris.SetChannelName{}, iris.SetRead{}, iris.SetDefaultChat{}, iris.PutPicker{}, iris.AnswerPicker{},
		iris.SetPush{}, iris.DropDevice{}, iris.AddToken{}, iris.DropToken{}, iris.SetHostToken{}, iris.BeginDeletion{},
		iris.EndDeletion{}, iris.DropChannel{}, iris.PutLive{}, iris.DropLive{},
	}
}

// TestNotUTF8: whichever field holds text that is no UTF-8, the commit is refused.
// Firestore answers it in a way that reads as "repeat", and the log would stand
// still for ever.
func TestNotUTF8(t *testing.T) {
	t.Parallel()
	entry := iris.Entry{}
	for name, leaf := range fill(reflect.ValueOf(&entry).Elem(), "Entry") {
		refused(t, name, leaf, func() iris.Commit {
			entry.Cursor = 1
			return iris.Commit{Entry: entry}
		})
	}
	for _, ch := range changes() {
		v := reflect.New(reflect.TypeOf(ch)).Elem()
		for name, leaf := range fill(v, fmt.Sprintf("%T", ch)) {
			refused(t, name, leaf, func() iris.Commit {
				return iris.Commit{Entry: iris.Entry{Cursor: 1}, Changes: []iris.Change{v.Interface().(iris.Change)}}
			})
		}
	}
}

// refused holds that the commit is refused with the leaf spoilt, and only then.
func refused(t *testing.T, name string, leaf reflect.Value, commit func() iris.Commit) {
	t.Helper()
	if _, err := rows.Commit(commit(), 0); err != nil {
		t.Errorf("%s as it should be: %v", name, err)
	}
	good := leaf.String()
	leaf.SetString("\xff")
	if _, err := rows.Commit(commit(), 0); !errors.Is(err, iris.ErrRejected) {
		t.Errorf("%s is no UTF-8: %v", name, err)
	}
	leaf.SetString(good)
}

// fill gives every list of v one element and every pointer a target, and returns
// all strings within, by name. The terms of a message are not its writer's to say.
func fill(v reflect.Value, name string) map[string]reflect.Value {
	leaves := map[string]reflect.Value{}
	add := func(v reflect.Value, name string) {
		for n, leaf := range fill(v, name) {
			leaves[n] = leaf
		}
	}
	switch v.Kind() {
	case reflect.String:
		leaves[name] = v
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		add(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		add(v.Index(0), name)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Terms" {
				add(v.Field(i), name+"."+f.Name)
			}
		}
	}
	return leaves
}

// TestBind: nothing is to be written only for a device that comes again with the
// token that is its own already.
func TestBind(t *testing.T) {
	t.Parallel()
	later := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		token iris.Token
		old   string // token of the device's row
		done  bool
		gone  string // token that goes
	}{
		{"again", iris.Token{Hash: "a", Device: "d"}, "a", true, ""},
		{"an unused token of a known device", iris.Token{Hash: "b"}, "a", false, "a"},
		{"a bound token that is not the row's", iris.Token{Hash: "b", Device: "d"}, "a", false, "a"},
		{"the row's token, not bound", iris.Token{Hash: "a"}, "a", false, ""},
		{"the row's token, still expiring", iris.Token{Hash: "a", Device: "d", Expires: later}, "a", false, ""},
	} {
		c.token.Kind = iris.TokenDevice
		b, err := rows.Bind(c.token, iris.Device{ID: "d"}, &iris.Device{ID: "d", Token: c.old})
		if err != nil || b.Done != c.done || b.OldToken != c.gone {
			t.Errorf("%s: %+v, %v; want done %v, and %q to go", c.name, b, err, c.done, c.gone)
		}
		if b.Device.Token != c.token.Hash || b.Token.Device != "d" || !b.Token.Expires.IsZero() {
			t.Errorf("%s: the device gets %q, the token is %+v", c.name, b.Device.Token, b.Token)
		}
	}
}
