package handlers_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"iris-gateway/cloudstore"
	"iris-gateway/handlers"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// removable is a gateway with all that a gateway may have, on two instances.
type removable struct {
	*world
	there *instance
	far   *peer // a device there; the others are here
}

const marker = "xyzzy"

func newRemovable(t *testing.T, here, there store) *removable {
	t.Helper()
	w := newWorld(t, here)
	r := &removable{world: w, there: startWith(t, there)}
	r.far = r.there.device(w.in.pair(w.g), "far")
	r.far.next("status")
	w.phone.send(`{"type":"channel.create","id":1,"payload":{"name":"%s"}}`, marker)
	w.phone.next("channel.created")
	for range 3 {
		w.phone.say("", marker+" said")
	}
	w.phone.send(`{"type":"fcm.register","id":2,"payload":{"fcm_token":"%s"}}`, marker)
	w.phone.next("ack")
	w.event("turn.start", "tn1", `{"source":"user"}`)
	w.host.event(0, "send", "tn1", `{"message_id":"a1","text":"`+marker+`","streaming":true}`)
	w.event("prompt", "tn1", `{"prompt_id":"pr1","kind":"clarify","question":"`+marker+`?","choices":[]}`)
	w.in.pair(w.g) // nobody uses it
	store := w.store.(interface{ handlers.MediaStore })
	for i := range 2 { // one is complete, one is not
		data := []byte(fmt.Sprint(marker, i))
		u, err := store.BeginUpload(t.Context(), w.g, fmt.Sprint("key", i), iris.Media{Kind: iris.MediaDocument, Filename: marker, Size: int64(len(data) + i)}, false)
		if err == nil {
			_, err = u.Write(data)
		}
		sum := sha256.Sum256(data)
		if err == nil && i == 0 {
			_, err = u.Finish(t.Context(), hex.EncodeToString(sum[:]))
		} else if err == nil {
			err = u.Suspend()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// remove calls DELETE on an instance and returns the status.
func remove(in *instance, g string) int {
	in.t.Helper()
	req, err := http.NewRequestWithContext(in.t.Context(), http.MethodDelete, in.url+"/admin/gateways/"+g, nil)
	if err != nil {
		in.t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		in.t.Error(err)
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// removing does so beside the test.
func removing(in *instance, g string) (status <-chan int) {
	done := make(chan int, 1)
	go func() { done <- remove(in, g) }()
	return done
}

// disconnected fails unless all sockets of the gateway were closed, on both
// instances, and no device gets in any more.
func (r *removable) disconnected() {
	r.Helper()
	for _, p := range []*peer{r.phone, r.other} {
		if code := p.closeCode(); code != 4401 {
			r.Errorf("%s: close code %d, want 4401", p.name, code)
		}
	}
	// An instance that was told too late has lost track: its peers come again at
	// once, and hear it then.
	if code := r.far.closeCode(); code != 4401 && code != 1001 {
		r.Errorf("far: close code %d, want 4401, or 1001 from an instance that lost track", code)
	}
	for _, in := range []*instance{r.in, r.there} {
		if code := in.device(r.away, "away").closeCode(); code != 4401 {
			r.Errorf("a device gets in: close code %d", code)
		}
		in.admin("POST", "/admin/gateways/"+r.g+"/devices", `{}`, http.StatusNotFound, nil)
	}
}

// closed fails unless all sockets of the gateway were closed, on both instances,
// and nobody gets in any more, its host neither.
func (r *removable) closed() {
	r.Helper()
	r.disconnected()
	for _, in := range []*instance{r.in, r.there} {
		if code := dial(r.T, "host", in.url+"/host", r.hostToken).closeCode(); code != 4401 {
			r.Errorf("the host gets in: close code %d", code)
		}
		in.admin("DELETE", "/admin/gateways/"+r.g, "", http.StatusNotFound, nil)
		if gateways, hosts := in.removals(); gateways+hosts != 0 {
			r.Errorf("%d gateways and %d hosts are listed", gateways, hosts)
		}
	}
}

// removals says how many gateways there are, and how many hosts of removed ones that
// have still to erase their copies.
func (in *instance) removals() (gateways, hosts int) {
	in.t.Helper()
	var list struct {
		Gateways []any
		Hosts    []any `json:"removed_hosts"`
	}
	in.admin("GET", "/admin/gateways", "", http.StatusOK, &list)
	return len(list.Gateways), len(list.Hosts)
}

// inCloud opens stores over one project and bucket, which the test reads whole.
func inCloud(t *testing.T) (open func() *cloudstore.Store, left func() []string) {
	t.Helper()
	emu, bucket := testenv.Firestore(t), testenv.Bucket(t)
	open = func() *cloudstore.Store {
		s, err := cloudstore.Open(t.Context(), cloudstore.Config{
			Project: emu.Project, MaxSockets: 10, Bucket: bucket, Media: iris.MediaLimits{MaxBytes: 1 << 20, Quota: 1 << 30},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	return open, func() []string { return append(testenv.Documents(t, emu), testenv.Objects(t, bucket)...) }
}

// "Removes every document and object of the gateway": the whole database and
// bucket are read afterwards. Phones go on sending, one instance has a commit
// under way that it makes when all is over.
func TestDeleteGateway(t *testing.T) {
	t.Parallel()
	open, left := inCloud(t)
	slow := &sleeper{Store: open(), wake: make(chan struct{})}
	r := newRemovable(t, open(), slow)
	if found := strings.Join(left(), "\n"); strings.Count(found, marker) < 8 || !strings.Contains(found, "media/") {
		t.Fatalf("the gateway has not what is to be removed:\n%s", found)
	}
	slow.asleep.Store(true)
	slow.met = make(chan struct{}, 100)
	r.far.send(`{"type":"message.send","id":9,"payload":{"text":"from a ghost"}}`)
	<-slow.met // its commit is under way
	for i := range 20 {
		r.phone.send(`{"type":"message.send","id":%d,"payload":{"text":"%s again"}}`, 100+i, marker)
	}
	status := removing(r.in, r.g)
	r.leaves(1001)
	if code := r.ordered(r.in).erased(); code != 4401 {
		t.Errorf("close code %d for a host that has erased all, want 4401", code)
	}
	if status := <-status; status != http.StatusNoContent {
		t.Fatalf("status %d, want 204", status)
	}
	slow.asleep.Store(false)
	close(slow.wake)
	r.closed()
	r.in.stop()
	r.there.stop()
	if found := left(); len(found) > 0 {
		t.Errorf("%d documents and objects are left:\n%s", len(found), strings.Join(found, "\n"))
	}
}

// sleeper is a store whose commits sleep.
type sleeper struct {
	*cloudstore.Store
	asleep atomic.Bool
	met    chan struct{}
	wake   chan struct{}
}

func (s *sleeper) Append(ctx context.Context, g string, c iris.Commit) error {
	if s.asleep.Load() {
		s.met <- struct{}{}
		<-s.wake
		ctx = context.WithoutCancel(ctx) // its deadline is long over
	}
	return s.Store.Append(ctx, g, c)
}
