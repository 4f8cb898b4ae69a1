package model

import "strings"

// A Round is one answer of the model. A scenario is a list of rounds: each tool
// result that comes back leads to the next one.
type Round struct {
	Think  []string // reasoning, piece by piece
	Say    []string // text, piece by piece
	Call   []Tool   // tool calls after the text
	Status int      // when set, the request fails with this HTTP status
	Cut    bool     // the connection breaks after the text
}

// Tool is a call that the model asks for; Args is JSON. In it, and in what is
// said, {key} stands for the word after "key=" in the user's message.
type Tool struct{ Name, Args string }

// Text is what the round says, whole, as the model says it.
func (r Round) Text() string { return strings.Join(r.Say, "") }

// Rounds are the rounds of a scenario.
func Rounds(name string) []Round { return scenarios[name] }

// Text is the answer that ends a scenario: the text of its last round.
func Text(name string) string {
	rounds := scenarios[name]
	return rounds[len(rounds)-1].Text()
}

// Pieces is the same, piece by piece as it is streamed.
func Pieces(name string) []string {
	rounds := scenarios[name]
	return rounds[len(rounds)-1].Say
}

// Beat is what a scenario's first round says before its tools run.
func Beat(name string) string { return scenarios[name][0].Text() }

// The scenarios, picked by "#name" in the user's message; without one: plain.
var scenarios = map[string][]Round{
	"plain": {{Say: []string{
		"Hello to you as well. ", "This answer comes in pieces, ", "one after the other, ",
		"so that it is seen growing. ", "That is all there is.",
	}}},
	"slow": {{Say: append(pieces("Part %d of a long and slow answer. ", 40), "The end.")}},
	"long": {{Say: []string{
		"# Report\n\nA **bold** word, *italics*, `code`.\n\n", "1. first\n2. second\n   - nested\n\n",
		"```go\nfunc main() { println(\"héllo, 世界\") }\n```\n\n", "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
		"日本語のテキスト。한국어도. Emoji 👩‍👩‍👧‍👦 🇩🇪 and a combining e\u0301.\n\n", "The end.",
	}}},
	"reason": {{
		Think: []string{"First I weigh the question. ", "Then I pick the answer, with care."},
		Say:   []string{"The answer is 42, ", "and that is the whole of it."},
	}},
	"tool": {
		{Call: []Tool{{"terminal", `{"command":"echo hi"}`}}},
		{Say: []string{"The command printed hi. ", "Nothing else to report."}},
	},
	"commentary": {
		{Say: []string{"Let me look at the files first, ", "before I answer."}, Call: []Tool{{"terminal", `{"command":"echo hi"}`}}},
		{Say: []string{"Everything is in order here, ", "nothing is left to do."}},
	},
	"secret": {
		{Think: []string{"They want {key}. "}, Say: []string{"Let me look for {key} first, ", "before I answer."},
			Call: []Tool{{"terminal", `{"command":"echo hi"}`}}},
		{Think: []string{"It is {key}. "}, Say: []string{"The secret is {key}, ", "and nobody else knows."}},
	},
	"one": {{Say: []string{"OK"}}},
	"several": {
		{Call: []Tool{{"terminal", `{"command":"echo one"}`}, {"terminal", `{"command":"echo two"}`}, {"read_file", `{"path":"notes-{key}.txt"}`}}},
		{Call: []Tool{{"terminal", `{"command":"echo four"}`}}},
		{Say: []string{"Four calls were made, ", "and this is the answer."}},
	},
	"toolfail": {
		{Call: []Tool{{"terminal", `{"command":"echo no good; exit 3"}`}}},
		{Call: []Tool{{"read_file", `{"path":"/nonexistent.txt"}`}}},
		{Say: []string{"Both of them failed, ", "as was to be expected."}},
	},
	"beats": {
		{Say: []string{"Let me look at the files first, ", "before I answer."}, Call: []Tool{{"terminal", `{"command":"echo first"}`}}},
		{Say: []string{"Now a second look, ", "to be quite sure."}, Call: []Tool{{"terminal", `{"command":"echo second"}`}}},
		{Say: []string{"Final answer: ", "everything is in order here."}},
	},
	"gate": { // a command that runs until the test makes a file
		{Say: []string{"This takes a while, ", "please be patient."},
			Call: []Tool{{"terminal", `{"command":"until [ -e {key}.go ]; do sleep 0.05; done; echo through"}`}}},
		{Say: []string{"The gate was opened, ", "and this is the answer."}},
	},
	"danger": {
		{Say: []string{"I will clean up the folder now, ", "if allowed."}, Call: []Tool{{"terminal", `{"command":"rm -rf ./{key}-scratch"}`}}},
		{Say: []string{"The cleaning step is over, ", "and this is the answer to it."}},
	},
	"clarify": {
		{Call: []Tool{{"clarify", `{"question":"Which colour?","choices":["red","green","blue"]}`}}},
		{Say: []string{"Thank you, ", "the colour has been noted down."}},
	},
	"cronjob": {
		{Call: []Tool{{"cronjob", `{"action":"create","schedule":"every 24h","prompt":"#one cron","name":"job-{key}","deliver":"origin"}`}}},
		{Say: []string{"The job has been made, ", "it runs once a day."}},
	},
	"share":   {{Say: []string{"Here is what you asked for, ", "with my best wishes.\n\n", "{media}"}}}, // sends the files path=…
	"http500": {{Status: 500}},
	"http401": {{Status: 401}},
	"cut": { // hermes asks to go on
		{Say: []string{"This answer will be cut off ", "in the mid"}, Cut: true},
		{Say: []string{"dle, and goes on after that."}},
	},
	// No blank at its end: hermes 0.20.0 takes it away when it puts the attempts together.
	"cutoff": {{Say: []string{"This answer never comes ", "to an end."}, Cut: true}},
	"empty":  {{}},
	"huge":   {{Say: append(pieces("Paragraph %d: the quick brown fox jumps over the lazy dog, again and again.\n\n", 780), "The end.")}},
}
