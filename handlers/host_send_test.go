package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/push"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// A job in another process delivers once, whoever repeats it, on any instance.
func TestHostSend(t *testing.T) {
	t.Parallel()
	w, there, a, _ := twoPhones(t, memstore.New())
	post := (*instance).hostSend
	mark := w.head()
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			in := []*instance{w.in, there}[i%2]
			if status := post(in, w.hostToken, `{"message_id":"m_cron","chat_id":"android:default","thread_id":null,"text":"done: 5","job":"daily"}`); status != http.StatusOK {
				t.Errorf("status %d, want 200", status)
			}
		})
	}
	wg.Wait()
	if f := a.next("message"); f.text("role") != "cron" || f.text("text") != "done: 5" {
		t.Errorf("message = %v", f)
	}
	if f := a.next("notification"); f.text("kind") != "cron" {
		t.Errorf("notification = %v", f)
	}
	frames, _ := w.logged(mark)
	sameTypes(t, "the log", frames, []string{"message", "notification"})
	for body, want := range map[string]int{
		`{`: 400, `{}`: 400, `{"message_id":"m","chat_id":"c"}`: 400, `{"message_id":5,"chat_id":"c","text":"x"}`: 400,
		`{"message_id":"m","chat_id":"nope","text":"x"}`:                                                        404,
		`{"message_id":"m","chat_id":"android:default","thread_id":"nope","text":"x"}`:                          404,
		fmt.Sprintf(`{"message_id":"m","chat_id":"android:default","text":%q}`, strings.Repeat("x", 2<<20)):     400,
		fmt.Sprintf(`{"message_id":"big","chat_id":"android:default","text":%q}`, strings.Repeat("x", 900<<10)): 400,
	} {
		if status := post(w.in, w.hostToken, body); status != want {
			t.Errorf("%.80s: status %d, want %d", body, status, want)
		}
	}
	if status := post(w.in, adminToken, `{}`); status != 401 {
		t.Errorf("status %d for another token, want 401", status)
	}
}

// hostSend posts to /host/send and returns the status.
func (in *instance) hostSend(token, body string) int {
	testenv.ConfideFrame([]byte(body))
	req, err := http.NewRequestWithContext(in.t.Context(), http.MethodPost, in.url+"/host/send", strings.NewReader(body))
	if err != nil {
		in.t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		in.t.Error(err)
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

// slowSender takes its time for each push.
type slowSender struct{ push.Sender }

func (s slowSender) Send(ctx context.Context, to string, p iris.Push) error {
	time.Sleep(300 * time.Millisecond)
	return s.Sender.Send(ctx, to, p)
}

// On Cloud Run an instance without request and socket gets no CPU: what a
// delivery makes due is pushed, and noted, before the answer.
func TestHostSendWaitsForPushes(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	option, _ := waking(t, store, func(c *push.Config) { c.FCM = slowSender{c.FCM} })
	in := startWith(t, store, option)
	g, hostToken := in.gateway()
	in.registered(g, "phone", "f1")
	if status := in.hostSend(hostToken, `{"message_id":"m1","chat_id":"android:default","text":"the job is done"}`); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	row, err := store.Device(t.Context(), g, "phone")
	if err != nil || row.Push.Outcome != iris.PushSent || row.LastPushed == 0 {
		t.Errorf("right after the answer the row says %+v, last pushed %d (%v)", row.Push, row.LastPushed, err)
	}
}
