package handlers_test

import (
	"testing"
	"time"

	"iris-gateway/cloudstore"
)

// What a socket costs beside its turns: it is closed before Cloud Run would cut
// it, once an hour, and comes back at once. docs/cost.md counts on these.
func TestOperationsOfASocket(t *testing.T) {
	t.Parallel()
	in, spent := onFirestore(t, firestoreProject(t))
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	token := in.pair(g)
	c := &counted{T: t, host: host, phone: in.device(token, "d1")}
	c.phone.next("status")
	c.fill()
	const late = 1 // a cursor is saved once more on a slow machine
	spent.take()

	c.phone.drop()
	time.Sleep(settle)
	c.phone = in.device(token, "d1")
	c.phone.next("status")
	c.phone.send(`{"type":"sync","id":2}`)
	c.phone.next("sync.done")
	time.Sleep(settle)
	atMost(t, spent, "a device's socket", 5+late, 2, 4)

	c.host.drop()
	c.phone.next("status")
	c.host, _ = in.host(hostToken, "e1", c.seq, 0, "")
	c.phone.next("status")
	time.Sleep(settle)
	atMost(t, spent, "a host's socket", 5+late, 2, 4)
}

func atMost(t *testing.T, spent *spending, what string, writes, deletes, reads int) {
	t.Helper()
	named, sum := spent.take()
	show(t, what, named)
	if sum[cloudstore.Write] > writes || sum[cloudstore.Delete] > deletes || sum[cloudstore.Read] > reads {
		t.Errorf("%s costs %d writes, %d deletes, %d reads; at most %d, %d and %d", what,
			sum[cloudstore.Write], sum[cloudstore.Delete], sum[cloudstore.Read], writes, deletes, reads)
	}
}
