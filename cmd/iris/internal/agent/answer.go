package agent

import (
	"context"
	"fmt"
	"strings"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// answer runs a turn for a message: thoughts, tools with a word before them,
// then the answer, streamed.
func (a *Agent) answer(ctx context.Context, lane iris.Lane, m link.Message, turns int) {
	t := a.begin(lane, link.SourceUser, m.MessageID)
	outcome := link.OutcomeCompleted
	if a.perform(ctx, t, m) != nil {
		outcome = link.OutcomeStopped
	}
	t.end(outcome, min(99, 2.5*float64(turns)))
}

// perform plays the script of a message. It ends early, with ctx's error, when
// the turn is stopped.
func (a *Agent) perform(ctx context.Context, t *turn, m link.Message) error {
	s := scriptFor(m)
	a.spool.add(t, link.KindModelStart, "model "+t.id, link.ModelStart{Text: m.Text, MessageID: m.MessageID}, nil)
	if err := t.wait(ctx, 4*t.pace); err != nil {
		return err
	}
	for _, step := range s.steps {
		id, began, err := t.say(ctx, step.beat, m.MessageID)
		if err != nil {
			return err
		}
		t.modelEnd(step.beat, step.thought, true)
		t.final(id, step.beat, m.MessageID, began)
		for _, tool := range step.tools {
			if err := t.use(ctx, tool); err != nil {
				return err
			}
		}
	}
	if s.ask != nil {
		var err error
		if s.answer, err = a.put(ctx, t, s); err != nil {
			return err
		}
	}
	for _, text := range a.lanes.told(t.lane) {
		s.answer += "\n\nMeanwhile you told me " + quoted(text) + ", and I heard it."
	}
	id, began, err := t.say(ctx, s.answer, m.MessageID)
	if err != nil {
		return err
	}
	t.modelEnd(s.answer, s.thought, false)
	a.spool.add(t, link.KindAnswer, "", link.Answer{Text: s.answer}, nil)
	t.final(id, s.answer, m.MessageID, began)
	if s.picture != "" {
		return a.show(ctx, t, s.picture, m.MessageID)
	}
	return nil
}

// catalogue is what the agent offers in the app's / drawer.
var catalogue = []link.Command{
	{Name: "/help", Description: "What I can show", Category: "Info", Aliases: []string{}},
	{Name: "/status", Description: "What I remember of this lane", Category: "Info", Aliases: []string{}},
	{Name: "/stop", Description: "Stop the running answer", Category: "Session", Aliases: []string{}},
	{Name: "/model", Description: "Choose a (pretended) model", Category: "Configuration", Aliases: []string{}},
	{Name: "/reasoning", Description: "How hard I shall pretend to think", Category: "Configuration", Aliases: []string{}},
	{Name: "/undo", Description: "Forget the last turn, after a question", Category: "Session", Aliases: []string{}},
	{Name: "/new", Description: "Begin anew", Category: "Session", Aliases: []string{"/reset"}},
}

// isCommand reports whether a message is a slash command.
func isCommand(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "/") }

// command answers a slash command, in a short turn of its own.
func (a *Agent) command(lane iris.Lane, m link.Message) {
	t := a.begin(lane, link.SourceCommand, m.MessageID)
	if name := strings.Fields(m.Text)[0]; !a.menu(t, name) {
		a.spool.add(t, link.KindSend, "", link.Send{
			MessageID: iris.NewID("m_"), Text: a.obey(lane, name), ReplyTo: m.MessageID, Notify: true,
		}, nil)
	}
	t.end(link.OutcomeCompleted, 0)
}

// obey does what a command asks and returns the reply.
func (a *Agent) obey(lane iris.Lane, name string) string {
	switch name {
	case "/help":
		return help
	case "/status":
		return fmt.Sprintf("The built-in agent, version %s, no model behind it. Answers in this lane so far: %d.", version, a.lanes.turns(lane))
	case "/stop":
		if a.lanes.halt(lane) {
			return "Stopped."
		}
		return "Nothing is running."
	case "/new", "/reset":
		return fmt.Sprintf("A fresh start: %d answers forgotten.", a.lanes.forget(lane))
	default:
		return fmt.Sprintf("I do not know %s. /help says what I know.", name)
	}
}
