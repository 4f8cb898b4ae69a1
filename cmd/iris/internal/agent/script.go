package agent

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"

	"iris-gateway/handlers/link"
)

// script is how a message is answered.
type script struct {
	steps   []step
	ask     *choice   // a question; its answer makes the answer
	then    *toolCall // runs when an approval was given
	thought string    // the reasoning behind the answer
	answer  string
	picture string // caption of a picture that follows; "" for none
}

// step is a beat, and the tools it leads to.
type step struct {
	thought string
	beat    string
	tools   []toolCall
}

// toolCall is a tool that is not called.
type toolCall struct {
	name, preview string
	args          map[string]any
	notes         []string // progress
	output        string
	fails         bool
}

const help = `I am the small agent built into Iris. I have no model, only a few tricks, but every word takes the real way: host link, gateway, device socket.

- "weather in Oslo": I call a (pretended) tool
- "terminal": several tools, one of them fails
- "dinner": I ask you a question, and wait for the answer
- "delete": I ask whether I may
- "picture": I paint one for you
- /model, /reasoning, /undo: menus, which you answer when you like
- "think": I show what I think
- "long": a long answer, to watch it stream, or to send /stop meanwhile
- "hermes": how to put a real agent in my place`

const hermesHowTo = `A real agent takes my place like this:

1. Install hermes-agent: ` + "`python3 -m venv ~/hermes && ~/hermes/bin/pip install hermes-agent`" + `
2. Start Iris with it: ` + "`iris dev --hermes ~/hermes/bin/hermes`" + `

It brings its own model settings; ` + "`iris dev --help`" + ` tells how to point it at one. On a server you run the gateway container, and hermes dials it from wherever it lives: no open port at home.`

const longAnswer = `Here is something long, so that there is something to watch.

## What happens while you read

1. I send the text so far, a few times a second.
2. The gateway passes each state on at once, and keeps only the last one if a phone is slow.
3. When I am done, the whole answer goes into the log, *once*, and whoever was away gets it from there.

` + "```go" + `
for frame := range answer {
	fmt.Print(frame.Text) // the newest state replaces the one before
}
` + "```" + `

| What | Kept | Why |
|---|---|---|
| words on the way | no | the next state has them too |
| the finished answer | yes | you may want to read it again |

Text from everywhere arrives whole: Grüße, Приве́т, 你好, こんにちは, 🌈.

Lose the network in the middle of this, or stop the gateway: the end of the answer arrives all the same, under the same id. That was all. Thank you for watching.`

// scriptFor chooses what to say to a message.
func scriptFor(m link.Message) script {
	words := strings.FieldsFunc(strings.ToLower(m.Text), func(r rune) bool { return !unicode.IsLetter(r) })
	// Short words must be whole: "hi" is not in "this".
	has := func(wanted ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool {
			return slices.ContainsFunc(wanted, func(w string) bool {
				return word == w || len(w) > 3 && strings.HasPrefix(word, w)
			})
		})
	}
	switch {
	case has("weather"):
		return weather(m.Text)
	case has("terminal", "tool", "shell"):
		return terminal()
	case has("dinner", "question", "ask", "cook"):
		return dinner()
	case has("delete", "danger"):
		return danger()
	case has("picture", "photo", "image", "paint", "rainbow"):
		return script{
			thought: "A picture is a file: its bytes go to the gateway, and then the message that shows it.",
			answer:  "Here is what I can paint.",
			picture: "A rainbow, all by myself.",
		}
	case len(m.Media) > 0:
		return received(m)
	case has("hermes", "connect"):
		return script{thought: "Somebody wants to replace me. That is what I am for.", answer: hermesHowTo}
	case has("long", "markdown", "story"):
		return script{thought: "It should be long enough to press /stop, and have a bit of everything in it.", answer: longAnswer}
	case has("think", "reason", "why"):
		return script{
			thought: "The question asks how I think.\nI look for words that I know: " + quoted(m.Text) + ".\nI find \"think\", so I show this.",
			answer:  "I look for words that I know, and say what belongs to them. What I thought on the way is what you see as reasoning: it travels beside the answer, never inside it.",
		}
	case has("help"):
		return script{answer: help}
	case has("hello", "hi", "hey", "hallo"):
		return script{thought: "A greeting: greet back, and say what I am.", answer: "Hello! I am the small agent built into Iris. There is no model behind me, but everything between us is real. Ask for the weather, or say \"help\"."}
	case has("thank"):
		return script{answer: "With pleasure. 🌈"}
	}
	return script{
		thought: "I know none of these words, so I say what I understood.",
		answer:  fmt.Sprintf("You wrote %s. That is %d words, and they came here through the gateway. I know only a few tricks: say \"help\" to see them.", quoted(m.Text), len(strings.Fields(m.Text))),
	}
}

// received says which files came with a message.
func received(m link.Message) script {
	var files []string
	for _, f := range m.Media {
		files = append(files, fmt.Sprintf("- `%s`, %s, %d bytes", f.Filename, f.Mime, f.Size))
	}
	return script{
		thought: "Somebody sent something. I have no eyes, but I can count.",
		answer:  "Thank you, I have got:\n\n" + strings.Join(files, "\n"),
	}
}

// weather pretends to ask a weather service. The same place always has the same weather.
func weather(text string) script {
	place := placeIn(text)
	h := fnv.New32a()
	h.Write([]byte(strings.ToLower(place)))
	n := h.Sum32()
	sky := []string{"sunny ☀️", "cloudy ☁️", "rainy 🌧️", "windy 🌬️", "snowy ❄️"}[n%5]
	degrees := int(n/5%30) - 2
	return script{
		steps: []step{{
			thought: "I cannot know the weather. A tool could.",
			beat:    "Let me look out of the window.",
			tools: []toolCall{{
				name: "weather", preview: place, args: map[string]any{"place": place, "unit": "celsius"},
				notes: []string{"opening the window"}, output: fmt.Sprintf("%s: %s, %d °C", place, sky, degrees),
			}},
		}},
		thought: "The tool has answered; I only have to say it nicely.",
		answer:  fmt.Sprintf("In **%s** it is %s at %d °C. At least that is what my pretended tool says: better look for yourself.", place, sky, degrees),
	}
}

// placeIn finds what follows "in" or "for" in a question about the weather.
func placeIn(text string) string {
	words := strings.Fields(text)
	for i, w := range words[:max(0, len(words)-1)] {
		if l := strings.ToLower(w); l == "in" || l == "for" || l == "at" {
			return strings.TrimFunc(strings.Join(words[i+1:], " "), unicode.IsPunct)
		}
	}
	return "your town"
}

// terminal pretends to work in a shell.
func terminal() script {
	return script{
		steps: []step{
			{
				thought: "First see what is there.",
				beat:    "I look around first.",
				tools: []toolCall{
					{name: "terminal", preview: "ls -la", args: map[string]any{"command": "ls -la"}, output: "README.md\ncmd\nhandlers\niris"},
					{name: "read_file", preview: "README.md", args: map[string]any{"path": "README.md"}, output: "# Iris"},
				},
			},
			{
				thought: "One that goes wrong is worth seeing too.",
				beat:    "And now something that does not exist.",
				tools: []toolCall{{
					name: "terminal", preview: "make coffee", args: map[string]any{"command": "make coffee"}, notes: []string{"looking for beans"},
					output: "make: *** No rule to make target 'coffee'.  Stop.", fails: true,
				}},
			},
		},
		thought: "Two worked, one did not. Say so.",
		answer:  "Three tools, all pretended: two went well, and there is no coffee.",
	}
}

// quoted is the beginning of a text in quotes, on one line.
func quoted(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > 60 {
		return "“" + string(runes[:60]) + "…”"
	}
	return "“" + string(runes) + "”"
}
