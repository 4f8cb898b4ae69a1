package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"iris-gateway/e2e"
)

// everywhere lets a person and the agent say a word and send files that hold it, in
// a channel that is called so, and leaves a turn running in its thread.
func (l *lane) everywhere(word string) {
	l.Helper()
	l.tellSecret(word)
	l.exchange(word)
	flat := l.thread
	l.thread = l.phone.Request(l, "channel.create", l.chat, map[string]any{"name": word, "kind": "thread"}).Body.ThreadID
	l.begin()
	l.tellSecret(word)
	l.send("please #gate key=" + word)
	l.await("the tool", e2e.Is("tool.start"))
	l.thread = flat
	l.kept(word)
}

// notInHermes fails if a file of hermes' home holds a word.
func (l *lane) notInHermes(word string) {
	l.Helper()
	if found := l.stack.hermes.Holding(l, word); len(found) > 0 {
		l.Errorf("%s is in %v of hermes' home", word, found)
	}
}

// nothing fails if the gateway's store has any document or object of a host, or if
// a word is found with the gateway.
func (l *lane) nothing(word string) {
	l.Helper()
	l.gone(word)
	for _, where := range l.stack.gate.Holding(l, l.stack.host.GatewayID) {
		if !strings.HasPrefix(where, "log line ") {
			l.Errorf("of the gateway is left: %.500s", where)
		}
	}
}

// TestDeletedGateway: a gateway goes while its host is attached, and a turn runs
// there. When the call has answered nothing is left, in hermes' store neither.
func TestDeletedGateway(t *testing.T) {
	l := newLane(t, start(t).second(t), "deleted-gateway")
	word := secret("gateway")
	l.everywhere(word)
	if status := l.stack.gate.Delete(t, l.stack.host); status != http.StatusNoContent {
		t.Errorf("DELETE answered %d, want 204: its host is attached", status)
	}
	l.nothing(word)
	l.notInHermes(word)
	l.stack.hermes.Terminate(t) // it writes some more then
	l.notInHermes(word)
	l.nothing(word)
}

// TestDeletedGatewayWhileHermesIsAway: hermes comes back, days later, hears of it,
// and is killed while it erases. It is told again.
func TestDeletedGatewayWhileHermesIsAway(t *testing.T) {
	l := newLane(t, start(t).second(t), "gateway-away")
	word := secret("gateway-away")
	l.everywhere(word)
	l.stack.hermes.Kill()
	l.open(word) // its command has a session of its own, and would wait for ever
	l.stack.gate.AwaitHostGone(t, l.stack.host)
	if status := l.stack.gate.Delete(t, l.stack.host); status != http.StatusOK {
		t.Errorf("DELETE answered %d, want 200: its host is away", status)
	}
	l.gone(word)
	l.inHermes(word)

	mark := l.stack.hermes.LogMark()
	l.stack.hermes.Start(t)
	l.stack.hermes.AwaitLog(t, mark, "the gateway was deleted")
	l.stack.hermes.Kill()
	l.stack.hermes.Start(t)
	l.forgotten(word)
	l.stack.hermes.Terminate(t)
	l.notInHermes(word)
	l.nothing(word)
}
