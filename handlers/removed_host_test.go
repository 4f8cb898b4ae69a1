package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/push"
	"iris-gateway/iris"
)

// leaves fails unless the host's connection ends with this code.
func (r *removable) leaves(code websocket.StatusCode) {
	r.Helper()
	if got := r.host.closeCode(); got != code {
		r.Errorf("the host's link ends with %d, want %d", got, code)
	}
}

// hostLeaves lets the host be away, and known to be.
func (r *removable) hostLeaves() {
	r.Helper()
	r.host.drop()
	r.phone.until("the host is away", func(f frame) bool { return f.is("status") && f.text("state") == "degraded" })
}

// orderedHost is a host that has been told that its gateway is gone.
type orderedHost struct{ *peer }

// ordered lets the host come, as often as it is asked to, until it is told to
// erase what it has.
func (r *removable) ordered(in *instance) orderedHost {
	r.Helper()
	for {
		p := r.comes(in, r.hostToken)
		for f := range p.frames {
			if f.is("gateway.delete") {
				return orderedHost{p}
			}
			if f.is("inbound") {
				r.Errorf("a host without a gateway gets %v", f)
			}
		}
		if code := p.closeCode(); code != 1001 {
			r.Fatalf("the host is sent away with %d instead of being told to erase", code)
		}
	}
}

// comes connects a host that had a turn running.
func (r *removable) comes(in *instance, token string) *peer {
	r.Helper()
	p := dial(r.T, "host", in.url+"/host", token)
	p.send(`{"type":"hello","protocol":1,"epoch":"e1","process":"p1","last_seq":%d,"received":0,"plugin":"0.1.0","commands":[],
		"agent":{"name":"hermes-agent","version":"0.19.0","model":"m","streaming":true},
		"turns":[{"turn":"tn1","chat_id":%q,"source":"user","messages":[{"message_id":"a1","text":"%s"}]}]}`, r.seq+3, lane, marker)
	return p
}

// erased lets the host confirm, and returns the close code that it gets.
func (h orderedHost) erased() websocket.StatusCode {
	h.t.Helper()
	h.send(`{"type":"gateway.deleted"}`)
	return h.closeCode()
}

// The host is away: all is gone but the hash of its token, which tells nothing. It
// comes days later, to another instance, is told, and told again until it
// confirms; what it still wants to send leaves no trace.
func TestDeleteGatewayHostAway(t *testing.T) {
	t.Parallel()
	open, left := inCloud(t)
	r := newRemovable(t, open(), open())
	r.hostLeaves()
	for range 2 { // an old plugin, and one that is killed while it erases, do not confirm
		if status := remove(r.in, r.g); status != http.StatusOK {
			t.Errorf("status %d, want 200: the host is away", status)
		}
		if found := left(); len(found) != 1 || !strings.Contains(found[0], "tokens/") || strings.Contains(found[0], marker) || strings.Contains(found[0], "home") {
			t.Errorf("left are:\n%s", strings.Join(found, "\n"))
		}
		if gateways, hosts := r.there.removals(); gateways != 0 || hosts != 1 {
			t.Errorf("%d gateways and %d hosts are listed, want only the host", gateways, hosts)
		}
		host := r.ordered(r.there)
		host.event(r.seq+1, "send", "tn1", `{"message_id":"a1","text":"`+marker+`"}`)
		host.drop()
	}
	if status := r.in.hostSend(r.hostToken, `{"message_id":"m","chat_id":"android:default","text":"`+marker+`"}`); status != http.StatusUnauthorized {
		t.Errorf("the token still lets say something: status %d", status)
	}
	host, again := r.ordered(r.there), r.ordered(r.in)
	host.event(r.seq+1, "send", "tn1", `{"message_id":"a1","text":"`+marker+`"}`)
	for _, h := range []orderedHost{host, again} {
		if code := h.erased(); code != 4401 {
			t.Errorf("close code %d for a host that has erased all, want 4401", code)
		}
	}
	r.closed()
	r.in.stop()
	r.there.stop()
	if found := left(); len(found) > 0 {
		t.Errorf("%d documents and objects are left:\n%s", len(found), strings.Join(found, "\n"))
	}
}

// A host that is there and does not know the order, an older plugin, does not hold
// the removal up for ever.
func TestDeleteGatewayOldPlugin(t *testing.T) {
	t.Parallel()
	mem := memstore.New()
	r := newRemovable(t, mem, mem)
	status := removing(r.in, r.g)
	r.leaves(1001)
	host := r.ordered(r.in)
	if status := <-status; status != http.StatusOK {
		t.Errorf("status %d, want 200: the host has confirmed nothing", status)
	}
	host.erased()
	r.closed()
}

// Only the removal leads to the order: a token that was replaced before gets the
// host nothing, and a host that never came is not waited for.
func TestDeleteGatewayTellsItsHostOnly(t *testing.T) {
	t.Parallel()
	mem := memstore.New()
	r := newRemovable(t, mem, mem)
	old := r.hostToken
	refused := func(when string) {
		t.Helper()
		p := dial(t, "host", r.in.url+"/host", old)
		for f := range p.frames {
			if f.is("gateway.delete") {
				t.Errorf("%s: a host whose token was replaced is told to erase", when)
			}
		}
		if code := p.closeCode(); code != 4401 {
			t.Errorf("%s: close code %d, want 4401", when, code)
		}
	}
	var made struct {
		HostToken string `json:"host_token"`
	}
	r.in.admin("POST", "/admin/gateways/"+r.g+"/host-token", "", http.StatusOK, &made)
	r.leaves(4401)
	refused("replaced")
	r.hostToken = made.HostToken
	if status := remove(r.in, r.g); status != http.StatusOK {
		t.Errorf("status %d, want 200", status)
	}
	refused("removed")
	r.ordered(r.in).erased()
	refused("erased")

	g, token := r.in.gateway()
	if status := remove(r.in, g); status != http.StatusNoContent {
		t.Errorf("status %d for a gateway whose host never came, want 204", status)
	}
	if code := dial(t, "host", r.in.url+"/host", token).closeCode(); code != 4401 {
		t.Errorf("close code %d, want 4401", code)
	}
}

// A host whose confirmation is lost comes again, and is told again if that was not
// noted.
func TestDeleteGatewayConfirmationLost(t *testing.T) {
	t.Parallel()
	for step, told := range map[int64]bool{1: true, 2: false} { // dies before the token goes, and after
		dying := &dyingStore{Store: memstore.New()}
		r := newRemovable(t, dying, dying.Store)
		r.hostLeaves()
		if status := remove(r.in, r.g); status != http.StatusOK {
			t.Errorf("status %d, want 200", status)
		}
		host := r.ordered(r.in)
		dying.step.Store(step)
		if code := host.erased(); code != 1013 {
			t.Errorf("close code %d of an instance that cannot note it, want 1013", code)
		}
		if told {
			r.ordered(r.in).erased()
		}
		r.closed()
	}
}

// slowToBegin is a store that holds a removal up when its log has ended already,
// but its row is still there.
type slowToBegin struct {
	*memstore.Store
	met, wake chan struct{}
}

func (s slowToBegin) BeginRemoval(ctx context.Context, r iris.Removal, host string) error {
	close(s.met)
	<-s.wake
	return s.Store.BeginRemoval(ctx, r, host)
}

// A host that comes while its gateway is neither there nor gone is not sent away
// for good: it would be told in five minutes only.
func TestDeleteGatewayHostComesEarly(t *testing.T) {
	t.Parallel()
	slow := slowToBegin{memstore.New(), make(chan struct{}), make(chan struct{})}
	r := newRemovable(t, slow, slow.Store)
	status := removing(r.in, r.g)
	<-slow.met
	r.leaves(1001)
	for _, in := range []*instance{r.in, r.there} {
		if code := r.comes(in, r.hostToken).closeCode(); code != 1001 {
			t.Errorf("close code %d, want 1001", code)
		}
	}
	close(slow.wake)
	r.ordered(r.there).erased()
	if status := <-status; status != http.StatusNoContent {
		t.Errorf("status %d, want 204", status)
	}
	r.closed()
}

// What waits to be pushed when its gateway is deleted is not pushed.
func TestDeleteGatewayBeforePush(t *testing.T) {
	t.Parallel()
	mem := memstore.New()
	e := inMemory(t, mem)
	option, fcm := waking(t, mem, func(c *push.Config) { c.Preview = true })
	w := newWorld(t, mem, e.logged, option)
	w.in.registered(w.g, "pocket", "f1")
	fcm.Answer("f1", "503 1", "200")
	w.event("send", "", `{"message_id":"a1","text":"`+marker+`","notify":true}`)
	if calls := fcm.Wait("f1", 1, patience); !strings.Contains(fmt.Sprint(calls[0].Data), marker) { // and it will be tried again
		t.Errorf("pushed %v, want the text", calls[0].Data)
	}
	r := removable{world: w}
	r.hostLeaves()
	if status := remove(w.in, w.g); status != http.StatusOK { // which takes longer than the push would wait
		t.Errorf("status %d, want 200", status)
	}
	w.in.stop() // with all that is on its way
	if calls := fcm.Calls("f1"); len(calls) != 1 {
		t.Errorf("pushed after the deletion: %v", calls[1].Data)
	}
	e.gone(marker)
}
