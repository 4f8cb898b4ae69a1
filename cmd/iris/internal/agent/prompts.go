package agent

import (
	"context"
	"strings"
	"sync"
	"time"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// prompts are the questions that wait for an answer.
type prompts struct {
	mu   sync.Mutex
	open map[string]*question
}

// question is one that waits.
type question struct {
	lane   iris.Lane
	turn   *turn            // that asks
	text   bool             // a message of the lane answers it, too
	answer func(said reply) // called once
}

// reply is what a person answered.
type reply struct {
	value *string
	text  string
}

// said is the answer in words.
func (r reply) said() string {
	if r.value != nil {
		return *r.value
	}
	return r.text
}

func newPrompts() *prompts { return &prompts{open: map[string]*question{}} }

// take takes a question that was answered, nil if it does not wait any more.
func (p *prompts) take(id string) *question {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.open[id]
	delete(p.open, id)
	return q
}

// takes returns the id of the question that a message in a lane answers, "" for
// none.
func (p *prompts) takes(lane iris.Lane) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, q := range p.open {
		if q.text && q.lane == lane {
			return id
		}
	}
	return ""
}

// ask puts a question, and returns its id.
func (a *Agent) ask(q *question, p link.Prompt) string {
	p.PromptID = iris.NewID("p_")
	a.prompts.mu.Lock()
	a.prompts.open[p.PromptID] = q
	a.prompts.mu.Unlock()
	waits := p.Kind == link.PromptApproval || p.Kind == link.PromptClarify
	a.spool.add(q.turn, link.KindPrompt, "", p, func() {
		if waits { // the others stay open after their turn
			q.turn.prompts = append(q.turn.prompts, p.PromptID)
		}
	})
	return p.PromptID
}

// settle answers a question, and reports whether it still waited.
func (a *Agent) settle(id string, r reply) bool {
	q := a.prompts.take(id)
	if q == nil {
		return false
	}
	a.spool.add(q.turn, link.KindPromptClosed, "", link.PromptClosed{
		PromptID: id, Why: link.ClosedAnswered, Value: r.value, Text: r.text,
	}, func() { q.turn.answered(id) })
	q.answer(r)
	return true
}

// askAndWait puts a question of a turn and waits for its answer, for a while or,
// with 0, for ever; then ok is false. It ends with ctx's error when the turn is
// stopped, which closes the question.
func (a *Agent) askAndWait(ctx context.Context, t *turn, p link.Prompt, limit time.Duration) (r reply, ok bool, err error) {
	answers := make(chan reply, 1)
	q := &question{lane: t.lane, turn: t, text: p.AllowText, answer: func(r reply) { answers <- r }}
	var late <-chan time.Time
	if limit > 0 {
		p.ExpiresAt = time.Now().Add(limit).UnixMilli()
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	id := a.ask(q, p)
	select {
	case r := <-answers:
		return r, true, nil
	case <-late:
		if a.prompts.take(id) == nil { // answered at this very moment
			return <-answers, true, nil
		}
		a.spool.add(t, link.KindPromptClosed, "", link.PromptClosed{PromptID: id, Why: link.ClosedExpired}, func() { t.answered(id) })
		return reply{}, false, nil
	case <-ctx.Done():
		a.prompts.take(id)
		return reply{}, false, ctx.Err()
	}
}

// sayLater answers a question of a command, whose turn is over: with a message
// in the lane.
func (a *Agent) sayLater(lane iris.Lane, text string) {
	a.spool.add(&turn{lane: lane}, link.KindSend, "", link.Send{MessageID: iris.NewID("m_"), Text: text, Immediate: true}, nil)
}

// choice is a question of a step, and what the agent says to its answer.
type choice struct {
	prompt link.Prompt
	reply  func(said string) string
}

// dinner is the question of a turn that waits for it.
func dinner() script {
	return script{
		steps: []step{{thought: "I cannot decide that alone. Ask.", beat: "One question before I begin."}},
		ask: &choice{
			prompt: link.Prompt{Kind: link.PromptClarify, Question: "What shall I pretend to cook?", AllowText: true, Choices: []link.Choice{
				{Value: "Soup", Label: "Soup"}, {Value: "Pasta", Label: "Pasta"}, {Value: "Nothing", Label: "Nothing, I am not hungry"},
			}},
			reply: func(said string) string {
				return "**" + said + "** it is. I waited for your answer and the turn went on with it; every other phone saw the question disappear."
			},
		},
	}
}

// danger is a command that has to be approved.
func danger() script {
	const command = "rm -rf /tmp/pretended"
	return script{
		steps: []step{{thought: "This needs a permission.", beat: "I may not do that on my own."}},
		ask: &choice{
			prompt: link.Prompt{Kind: link.PromptApproval, Command: command, Description: "deletes a folder that does not exist"},
			reply: func(said string) string {
				if said == deny {
					return "Then I leave it. Nothing was deleted."
				}
				return "Allowed (" + said + "). Nothing was deleted all the same: I only pretend."
			},
		},
		then: &toolCall{name: "terminal", preview: command, args: map[string]any{"command": command}, output: "(pretended)"},
	}
}

// deny is hermes' word for a no.
const deny = "deny"

// approvalTime is how long an approval waits.
const approvalTime = 5 * time.Minute

// put asks the question of a script, and returns the answer to it.
func (a *Agent) put(ctx context.Context, t *turn, s script) (string, error) {
	var limit time.Duration
	if s.ask.prompt.Kind == link.PromptApproval {
		limit = approvalTime
	}
	r, ok, err := a.askAndWait(ctx, t, s.ask.prompt, limit)
	said := r.said()
	if !ok { // nobody came: as with hermes, that is a no
		said = deny
	}
	if err == nil && said != deny && s.then != nil {
		err = t.use(ctx, *s.then)
	}
	return s.ask.reply(said), err
}

// menus are the commands that ask something and do not wait for the answer.
var menus = map[string]choice{
	"/model": {
		prompt: link.Prompt{Kind: link.PromptModel, CurrentModel: modelName, CurrentProvider: "iris", Providers: []link.Provider{
			{ID: "iris", Label: "Iris", Models: []link.ModelLabel{{ID: modelName, Label: modelName}, {ID: "parrot", Label: "parrot"}}},
			{ID: "dream", Label: "Dream", Models: []link.ModelLabel{{ID: "very-large", Label: "very-large"}}},
		}},
		reply: func(said string) string { return "From now on I pretend to be " + said + "." },
	},
	"/reasoning": {
		prompt: link.Prompt{Kind: link.PromptChoice, Title: "How hard shall I think?", Choices: []link.Choice{
			{Value: "none", Label: "Not at all", IsCurrent: true}, {Value: "high", Label: "Hard"},
		}},
		reply: func(said string) string {
			return "Thinking: " + said + ". It changes nothing, but it was asked and answered."
		},
	},
	"/undo": {
		prompt: link.Prompt{Kind: link.PromptConfirm, Title: "/undo", Text: "Forget the last turn of this lane?"},
		reply: func(said string) string {
			if said == "cancel" {
				return "Nothing was undone."
			}
			return "Forgotten, or so I pretend (" + said + ")."
		},
	},
}

// menu opens the question of a command, if it has one.
func (a *Agent) menu(t *turn, name string) bool {
	m, ok := menus[name]
	if !ok {
		return false
	}
	a.ask(&question{lane: t.lane, turn: t, answer: func(r reply) { a.sayLater(t.lane, m.reply(r.said())) }}, m.prompt)
	return true
}

// plain reports whether a message is words, and no command.
func plain(text string) bool { return !isCommand(text) && strings.TrimSpace(text) != "" }
