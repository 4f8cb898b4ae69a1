package chaos

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/testenv"
	"iris-gateway/testenv/fakefcm"
)

// TestDeploy is a new revision that takes over from an old one, as Cloud Run does
// it: for some time both serve, then the old one gets SIGTERM, in the middle of
// streams, commits, an upload and a push. It ends with 0 within 8 s, its devices
// hear "restarting" and 1001, everybody moves over, and nothing is lost or comes
// twice.
func TestDeploy(t *testing.T) {
	fcm := fakefcm.Start()
	t.Cleanup(fcm.Close)
	bucket := testenv.Bucket(t)
	w := build(t, scenario{instances: 1, phones: 5, logEntries: 256, env: []string{
		"IRIS_PUSH=fcm", "IRIS_FCM_ENDPOINT=" + fcm.URL, "IRIS_BUCKET=" + bucket, testenv.EnvStorage + "=" + os.Getenv(testenv.EnvStorage),
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 3*settleTime)
	defer cancel()
	calm := make(chan struct{})
	close(calm) // nobody leaves by himself
	var clients, visits sync.WaitGroup
	defer func() { cancel(); clients.Wait(); visits.Wait() }()
	clients.Go(func() { w.observer.run(ctx) })

	old := w.instances[0]
	pocket := newPocket(w, fcm)
	pocket.register(ctx, old)
	staying, moving, up := w.phones[:3], w.phones[3], newUpload(w.phones[4])
	visits.Go(func() { up.begin(ctx, old) })
	hostMoves := w.attach(ctx, &clients, old, calm)
	for _, p := range staying {
		p.instances = []*instance{old}
		visits.Go(func() { p.chatter(ctx) })
	}
	w.await(ctx, "traffic on the old revision", func() bool { return w.observer.head() > 20 && len(testenv.Objects(t, bucket)) > 0 })

	fresh := w.launch()
	moving.instances = []*instance{fresh} // who connects now gets the new one
	moving.newLetter(0)
	visits.Go(func() { moving.run(ctx, calm) }) // until it is answered
	w.await(ctx, "a device on the new revision", func() bool { return len(moving.waiting()) == 0 })
	pocket.hang(ctx) // and the old one is in the middle of a push
	before := w.observer.head()
	old.terminate(true)
	visits.Wait()
	t.Logf("%d entries before, %d after the end of the old revision", before, w.observer.head())
	up.checkDrained()
	for _, p := range staying {
		p.checkDrained()
		p.instances = []*instance{fresh}
		visits.Go(func() { p.run(ctx, calm) })
	}
	hostMoves(fresh)
	visits.Go(func() { up.finish(ctx, fresh) })
	visits.Wait()
	w.settle(ctx)
	pocket.checkWoken(ctx)
	for _, p := range w.phones {
		if err := p.finish(ctx, w.observer.head()); err != nil {
			t.Error(err)
		}
	}
	cancel()
	clients.Wait()
	fresh.terminate(true)
	w.judge(0)
}

// attach lets the host work on one instance; the returned function sends it to
// another one once its connection has ended.
func (w *world) attach(ctx context.Context, clients *sync.WaitGroup, in *instance, calm <-chan struct{}) (move func(*instance)) {
	w.host.instances = []*instance{in}
	next := make(chan *instance, 1)
	clients.Go(func() { w.host.work(ctx, calm) })
	clients.Go(func() {
		w.host.connect(ctx, calm)
		select {
		case in := <-next:
			w.host.instances = []*instance{in}
			w.host.run(ctx, calm)
		case <-ctx.Done():
		}
	})
	return func(in *instance) { next <- in }
}

// await waits for something that is only seen by looking.
func (w *world) await(ctx context.Context, what string, ok func() bool) {
	w.t.Helper()
	for !ok() {
		if !wait(ctx.Done(), 10*time.Millisecond) {
			w.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// pocket is a device that is away and can be woken.
type pocket struct {
	w   *world
	fcm *fakefcm.Server
	id  string
}

const pocketToken = "registration-token-of-the-pocket"

func newPocket(w *world, fcm *fakefcm.Server) *pocket { return &pocket{w: w, fcm: fcm, id: "pocket"} }

// register pairs it, and waits until it is away.
func (p *pocket) register(ctx context.Context, in *instance) {
	t := p.w.t
	var pair struct{ Token string }
	in.admin("POST", "/admin/gateways/"+p.w.gateway+"/devices", `{"name":"pocket"}`, &pair)
	s, err := dial(ctx, in, "/ws", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.CloseNow()
	hello := fmt.Sprintf(`{"v":1,"type":"hello","payload":{"token":%q,"device_id":%q,"fcm_token":%q}}`, pair.Token, p.id, pocketToken)
	if err := s.send([]byte(hello)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Read(ctx); err != nil { // hello.ack
		t.Fatal(err)
	}
	_ = s.Close(websocket.StatusNormalClosure, "")
	p.w.await(ctx, "a device in a pocket", func() bool {
		row, err := p.w.store.Device(ctx, p.w.gateway, p.id)
		return err == nil && row.FCMToken != "" && !row.Link.Alive(time.Now())
	})
}

// hang returns in the middle of a push.
func (p *pocket) hang(ctx context.Context) {
	p.fcm.Answer(pocketToken, "hang", "200")
	p.w.await(ctx, "a push under way", func() bool {
		calls := p.fcm.Calls(pocketToken)
		return len(calls) > 0 && calls[len(calls)-1].Answer == "hang"
	})
}

// checkWoken waits until the newest of what deserves a push has been pushed;
// nothing was pushed twice.
func (p *pocket) checkWoken(ctx context.Context) {
	var last int64
	for _, e := range p.w.observer.log() {
		if e.Notify {
			last = e.Cursor
		}
	}
	p.w.await(ctx, "the last push", func() bool {
		row, err := p.w.store.Device(ctx, p.w.gateway, p.id)
		return err == nil && row.LastPushed >= last
	})
	sent := map[string]int{}
	for _, c := range p.fcm.Calls(pocketToken) {
		if c.Answer == "200" {
			sent[c.Data["cursor"]+" "+c.Data["type"]]++
		}
	}
	for what, n := range sent {
		if n > 1 {
			p.w.t.Errorf("%s was pushed %d times", what, n)
		}
	}
	p.w.t.Logf("%d pushes", len(sent))
}
