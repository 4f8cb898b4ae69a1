package wire_test

import (
	"encoding/json"
	"testing"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Fields that the host adds to a picker are copied through; they never take the
// place of the picker's own.
func TestPickerExtra(t *testing.T) {
	t.Parallel()
	extra := map[string]any{"tool": "terminal", "a<b": []any{1.5, nil}, "picker_id": "forged", "choices": 7}
	for _, tt := range []struct {
		picker wire.Payload
		want   string
	}{
		{wire.PickerModel{PickerID: "p", Extra: extra}, `{"picker_id":"p","current_model":"","current_provider":"","providers":[],"a<b":[1.5,null],"choices":7,"tool":"terminal"}`},
		{wire.PickerChoice{PickerID: "p", Extra: extra}, `{"picker_id":"p","title":"","choices":[],"a<b":[1.5,null],"tool":"terminal"}`},
		{wire.PickerClarify{PickerID: "p", Extra: extra}, `{"picker_id":"p","question":"","choices":[],"allow_text":false,"a<b":[1.5,null],"tool":"terminal"}`},
		{wire.PickerApproval{PickerID: "p", Command: "a && b", Extra: extra}, `{"picker_id":"p","command":"a && b","description":"","choices":[],"a<b":[1.5,null],"tool":"terminal"}`},
		{wire.PickerConfirm{PickerID: "p", Extra: extra}, `{"picker_id":"p","title":"","text":"","choices":[],"a<b":[1.5,null],"tool":"terminal"}`},
	} {
		want := `{"v":1,"type":"` + tt.picker.FrameType() + `","payload":` + tt.want + `}`
		if got := wire.Encode(iris.Lane{}, tt.picker); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A picker that the host gave up has the value null, not none.
func TestPickerClosedWithoutAnswer(t *testing.T) {
	t.Parallel()
	got := wire.Encode(iris.Lane{}, wire.PickerClosed{PickerID: "p"})
	if want := `{"v":1,"type":"picker.closed","payload":{"picker_id":"p","value":null}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !json.Valid([]byte(got)) {
		t.Error("not JSON")
	}
}
