package chat

import (
	"bytes"
	"testing"

	"iris-gateway/iris"
)

const clarify = `{"picker_id":"p1","question":"Which\u001b[2J branch?","choices":[{"value":"main","label":"Main"},{"value":"dev","label":"dev"}],"allow_text":true}`

func TestPickers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		frames []fr
		want   string
	}{
		{
			"a question, asked twice, is shown once",
			[]fr{{"picker.clarify", clarify}, {"picker.clarify", clarify}, {"picker.closed", `{"picker_id":"p1","value":"main","device_id":"me"}`}, {"picker.clarify", clarify}},
			"? Which branch?\n   1  Main\n   2  dev\n  type a number, or an answer of your own\n  ✓ Main\n",
		},
		{
			"an open question, answered by somebody else",
			[]fr{{"picker.clarify", `{"picker_id":"p1","question":"Who?","choices":[],"allow_text":true}`}, {"picker.closed", `{"picker_id":"p1","value":null,"text":"I","device_id":"d2"}`}},
			"? Who?\n  type your answer\n  ✓ I (answered elsewhere)\n",
		},
		{
			"an approval that nobody gives",
			[]fr{
				{"picker.approval", `{"picker_id":"p1","command":"rm -rf x &&\nmake","description":"deletes","choices":[{"value":"once","label":"Allow once"},{"value":"deny","label":"Deny"}]}`},
				{"picker.closed", `{"picker_id":"p1","value":null}`},
			},
			"? May this run?\n  rm -rf x &&\n  make\n  (deletes)\n   1  Allow once\n   2  Deny\n  type a number\n  closed without an answer\n",
		},
		{
			"models of several providers",
			[]fr{{"picker.model", `{"picker_id":"p1","current_model":"b","current_provider":"y","providers":[{"id":"x","label":"X","models":[{"id":"a","label":"A"}]},{"id":"y","label":"Y","models":[{"id":"b","label":"B"}]}]}`}},
			"? Which model?\n   1  A  X\n   2  B  Y, current\n  type a number\n",
		},
		{
			"a menu and a confirmation",
			[]fr{
				{"picker.choice", `{"picker_id":"p1","title":"Effort","choices":[{"value":"low","label":"Low","is_current":true}]}`},
				{"picker.confirm", `{"picker_id":"p2","title":"/undo","text":"Really?","choices":[{"value":"cancel","label":"Cancel"}]}`},
			},
			"? Effort\n   1  Low  current\n  type a number\n? /undo\n  Really?\n   1  Cancel\n  type a number\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			v := newView(screen{out: &out, width: func() int { return 0 }})
			v.lane, v.own = iris.Lane{ChatID: "main"}, "me"
			for _, s := range tt.frames {
				if err := v.frame(f(t, s.typ, s.payload)); err != nil {
					t.Fatal(err)
				}
			}
			if got := out.String(); got != tt.want {
				t.Errorf("wrote\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	p, ok, err := pickerOf(f(t, "picker.clarify", clarify))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	strict := p
	strict.allowText = false
	tests := []struct {
		p         picker
		in, value string
		text      string
		ok        bool
	}{
		{p, "2", "dev", "", true},
		{p, " main ", "main", "", true},
		{p, "MAIN", "main", "", true},
		{p, "3", "", "3", true},
		{p, "feature/x", "", "feature/x", true},
		{p, " ", "", "", false},
		{strict, "1", "main", "", true},
		{strict, "3", "", "3", false},
		{strict, "what?", "", "what?", false},
	}
	for _, tt := range tests {
		got, ok := tt.p.choose(tt.in)
		value := ""
		if got.Value != nil {
			value = *got.Value
		}
		if ok != tt.ok || value != tt.value || got.Text != tt.text || got.PickerID != "p1" {
			t.Errorf("choose(%q) = %q, %q, %v", tt.in, value, got.Text, ok)
		}
	}
}

// Lanes have names that change, and a question in another one does not get the
// answer that is typed here.
func TestLanes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newView(screen{out: &out, width: func() int { return 0 }})
	v.lane = iris.Lane{ChatID: "main"}
	v.names[v.lane] = "Default"
	for _, s := range []fr{
		{"channel.created", `{"chat_id":"main","thread_id":"t1","name":"wea","kind":"thread"}`},
		{"channel.renamed", `{"chat_id":"main","thread_id":"t1","name":"Weather"}`},
		{"channel.created", `{"chat_id":"work","name":"Work","kind":"channel"}`},
		{"channel.created", `{"chat_id":"work","thread_id":"t2","name":"Weather","kind":"thread"}`},
	} {
		if err := v.frame(f(t, s.typ, s.payload)); err != nil {
			t.Fatal(err)
		}
	}
	question := f(t, "picker.clarify", clarify)
	question.Lane = iris.Lane{ChatID: "work", ThreadID: "t2"}
	if err := v.frame(question); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "[Work › Weather] asks: Which branch? (/go there to answer)\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	if _, open := v.question(); open {
		t.Error("a question of another lane waits here")
	}
	for name, want := range map[string]iris.Lane{
		"work": {ChatID: "work"}, "Default › Weather": {ChatID: "main", ThreadID: "t1"}, "Weather": {}, "nowhere": {},
	} {
		if got, err := v.find(name); got != want || (err == nil) != (want != iris.Lane{}) {
			t.Errorf("find(%q) = %v, %v", name, got, err)
		}
	}
	v.enter(question.Lane)
	if _, open := v.question(); !open {
		t.Error("the question does not wait in its own lane")
	}
	if err := v.frame(f(t, "channel.deleted", `{"chat_id":"work","thread_ids":["t2"]}`)); err != nil {
		t.Fatal(err)
	}
	if len(v.names) != 2 {
		t.Errorf("names %v", v.names)
	}
}
