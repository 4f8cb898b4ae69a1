package handlers_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// silentStore does not answer: to look-ups of tokens, or to commits.
type silentStore struct {
	*memstore.Store
	tokens, commits bool
}

func (s silentStore) Token(ctx context.Context, hash string) (iris.Token, error) {
	if s.tokens {
		<-ctx.Done()
		return iris.Token{}, ctx.Err()
	}
	return s.Store.Token(ctx, hash)
}

func (s silentStore) Append(ctx context.Context, g string, c iris.Commit) error {
	if s.commits {
		<-ctx.Done()
		return iris.ErrNoAnswer
	}
	return s.Store.Append(ctx, g, c)
}

// Nobody reads from a connection that is not attached yet, and so nobody sees
// its peer leave. While the store does not answer the peers come again and
// again: what they have left must not stay.
func TestOpeningEnds(t *testing.T) {
	t.Parallel()
	const hello = `{"v":1,"type":"hello","payload":{"token":"d","device_id":"d1","device_name":"phone","caps":{"min_protocol":1}}}`
	const hostHello = `{"type":"hello","protocol":1,"epoch":"e_1","process":"p_1"}`
	for name, tt := range map[string]struct {
		path, hello string
		store       silentStore
	}{
		"device, token":  {"/ws", hello, silentStore{tokens: true}},
		"device, attach": {"/ws", hello, silentStore{commits: true}},
		"host, token":    {"/host", hostHello, silentStore{tokens: true}},
		"host, attach":   {"/host", hostHello, silentStore{commits: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testOpeningEnds(t, tt.path, tt.hello, tt.store) })
		})
	}
}

func testOpeningEnds(t *testing.T, path, hello string, store silentStore) {
	store.Store = memstore.New()
	gw := iris.Gateway{ID: "g", DefaultChat: iris.DefaultChat}
	if err := store.CreateGateway(t.Context(), gw, iris.Token{Hash: iris.HashToken("h"), Kind: iris.TokenHost, Gateway: "g"}); err != nil {
		t.Fatal(err)
	}
	pairing := iris.Token{Hash: iris.HashToken("d"), Kind: iris.TokenDevice, Gateway: "g", Expires: time.Now().Add(time.Hour)}
	if err := store.CreateToken(t.Context(), pairing); err != nil {
		t.Fatal(err)
	}
	log := testenv.Logger(t, testenv.Gateways)
	server := handlers.New(handlers.Config{
		Store: store, Hub: hub.New(hub.Config{Store: store, LogEntries: 64, Log: log}), AdminToken: "admin", MaxSockets: 1, Log: log,
	})
	ln, dial := testenv.Pipes()
	hs := &http.Server{Handler: server}
	go func() { _ = hs.Serve(ln) }()
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Drain(over)
		transport.CloseIdleConnections()
		_ = hs.Close()
	})
	connect := func() (*http.Response, error) {
		c, res, err := websocket.Dial(t.Context(), "ws://gateway.example"+path, &websocket.DialOptions{
			HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer h"}},
		})
		if err == nil {
			go func() { _ = c.Write(t.Context(), websocket.MessageText, []byte(hello)) }() // the pipe waits for a reader
			synctest.Wait()
			_ = c.CloseNow()
		}
		return res, err
	}
	switch res, err := connect(); {
	case err != nil:
		t.Fatal(res, err)
	case res.Header.Get("Date") == "":
		t.Error("no Date: the plugin sees by it that its clock is wrong")
	}
	time.Sleep(time.Minute)
	if _, err := connect(); err != nil {
		t.Error("the connection that was left is still there:", err)
	}
}
