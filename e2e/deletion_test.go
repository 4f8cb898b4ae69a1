package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"iris-gateway/e2e"
	"iris-gateway/e2e/model"
)

// secret makes a word that is said in a lane and nowhere else.
func secret(name string) string { return unique("xyzzy-" + name) }

// tellSecret lets the agent say the word in a beat and in its answer, and returns
// the ids of the messages that hold it: question, beat, answer.
func (l *lane) tellSecret(word string) []string {
	l.Helper()
	question := l.send("please #secret key=" + word)
	beat := l.await("the beat", e2e.Is("message.stop"))
	answer := l.await("the answer", e2e.Is("message.stop"))
	l.idle()
	for _, f := range []e2e.Frame{beat, answer} {
		if !strings.Contains(f.Body.FinalText, word) {
			l.Fatalf("%s does not hold %s", f, word)
		}
	}
	return []string{question.Body.MessageID, beat.Body.MessageID, answer.Body.MessageID}
}

// kept fails unless a word is found with both, gateway and hermes: else the search
// for what was deleted would prove nothing.
func (l *lane) kept(word string) {
	l.Helper()
	if len(l.stack.gate.Holding(l, word)) == 0 {
		l.Fatalf("%s is nowhere in the gateway's store", word)
	}
	l.inHermes(word)
}

func (l *lane) inHermes(word string) {
	l.Helper()
	if !slices.ContainsFunc(l.stack.hermes.Holding(l, word), func(f string) bool { return strings.HasPrefix(f, "/state.db") }) {
		l.Fatalf("%s is not in hermes' state.db", word)
	}
}

// gone fails if a word is found anywhere with the gateway.
func (l *lane) gone(word string) {
	l.Helper()
	for _, where := range l.stack.gate.Holding(l, word) {
		l.Errorf("%s is still there: %.1500s", word, where)
	}
}

// forgotten waits until no file of hermes' home holds a word.
func (l *lane) forgotten(word string) {
	l.Helper()
	var found []string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if found = l.stack.hermes.Holding(l, word); len(found) == 0 {
			return
		}
	}
	l.Errorf("%s is still in %v of hermes' home", word, found)
}

// delete asks for a deletion and fails unless it is granted.
func (l *lane) delete(kind string, payload map[string]any) {
	l.Helper()
	want := strings.Replace(kind, ".delete", ".deleted", 1)
	if f := l.phone.RequestIn(l, kind, l.chat, l.thread, payload); f.Type != want {
		l.Fatalf("%s was answered by %s", kind, f)
	}
	l.await(want, e2e.Is(want))
}

// TestDeletedMessages: messages are gone everywhere, in hermes' store and its
// agent's memory too, and the conversation goes on.
func TestDeletedMessages(t *testing.T) {
	l := newLane(t, start(t), "deleted")
	word, stays := secret("messages"), secret("stays")
	l.tellSecret(stays)
	ids := l.tellSecret(word)
	l.kept(word)
	l.delete("message.delete", map[string]any{"message_ids": ids})
	l.gone(word)
	l.forgotten(word)
	l.inHermes(stays)

	l.send("#one and now?")
	l.await("the answer", e2e.Is("message.stop"))
	l.idle()
	requests := l.stack.model.Requests()
	i := slices.IndexFunc(requests, func(r model.Request) bool { return strings.Contains(r.User, "and now?") })
	if i < 0 || strings.Contains(requests[i].Context, word) || !strings.Contains(requests[i].Context, stays) {
		t.Errorf("the model is asked with %+v; want all but what was deleted", requests[i:])
	}
}

// exchange sends a file that holds a word, and lets the agent send one.
func (l *lane) exchange(word string) {
	l.Helper()
	sent := e2e.File{Kind: "document", Mime: "text/plain", Name: word + "-in.txt", Data: []byte("it says " + word)}
	made := e2e.File{Kind: "document", Mime: "application/pdf", Name: word + "-out.pdf", Data: []byte("%PDF-1.7\n" + word)}
	l.attach(l.ask("one"), sent)
	l.idle()
	l.sameFiles(sent)
	pos := l.pos
	l.share(made)
	l.got(made)
	l.pos = pos // the turn's end may have come before the file
	l.idle()
}

// TestDeletedFiles: files go with their messages, one that a person sent and one
// that the agent made: bytes, rows and names, and what hermes kept of them.
func TestDeletedFiles(t *testing.T) {
	l := newLane(t, start(t), "deleted-files")
	word := secret("file")
	l.exchange(word)
	objects := 0
	for _, where := range l.stack.gate.Holding(t, word) {
		if strings.HasPrefix(where, "object ") {
			objects++
		}
	}
	if objects != 2 {
		t.Fatalf("%s is in %d objects, want one for each file", word, objects)
	}
	l.kept(word)
	var ids []string
	for _, m := range l.phone.RequestIn(l, "history", l.chat, l.thread, map[string]any{"limit": 200}).Body.Messages {
		ids = append(ids, m.MessageID)
	}
	l.delete("message.delete", map[string]any{"message_ids": ids})
	l.gone(word)
	l.forgotten(word)
}

// TestDeletedWhileHermesIsAway: hermes comes back, days later, and hears of it. Its
// new process has only the spool's map of rows; or not even that, and finds them by
// their hashes.
func TestDeletedWhileHermesIsAway(t *testing.T) {
	l := newLane(t, start(t), "deleted-away")
	for name, lose := range map[string]func(){
		"mapped": func() {},
		"hashed": func() { l.stack.hermes.LoseSpool(t) },
	} {
		word := secret(name)
		ids := l.tellSecret(word)
		l.kept(word)
		l.stack.hermes.Terminate(t)
		lose()
		l.delete("message.delete", map[string]any{"message_ids": ids})
		l.gone(word)
		l.inHermes(word)
		l.stack.hermes.Start(t)
		l.forgotten(word)
	}
}

// TestDeletedChannel: a channel goes with its thread, in which a turn runs.
func TestDeletedChannel(t *testing.T) {
	l := newLane(t, start(t), "deleted-channel")
	word := secret("channel")
	l.tellSecret(word)
	flat := *l
	made := l.phone.Request(t, "channel.create", l.chat, map[string]any{"name": "thread", "kind": "thread"})
	l.thread = made.Body.ThreadID
	l.begin()
	l.tellSecret(word)
	l.send("please #gate key=" + word)
	l.await("the tool", e2e.Is("tool.start"))
	l.kept(word)
	l.thread = "" // the channel is what goes
	l.delete("channel.delete", map[string]any{})
	l.gone(word)
	flat.forgotten(word)
	l.gone(word) // what the turn still said was dropped
}
