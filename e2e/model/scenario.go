package model

import "strings"

// A Round is one answer of the model. A scenario is a list of rounds: each tool
// result that comes back leads to the next one.
type Round struct {
	Think  []string // reasoning, piece by piece
	Say    []string // text, piece by piece
	Call   []Tool   // tool calls after the text
	Status int      // when set, the request fails with this HTTP status
}

// Tool is a call that the model asks for; Args is JSON.
type Tool struct{ Name, Args string }

// Text is what the round says, whole.
func (r Round) Text() string { return strings.Join(r.Say, "") }

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
	"http500": {{Status: 500}},
}
