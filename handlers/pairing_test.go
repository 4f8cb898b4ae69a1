package handlers_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// pairUntil makes a token that must be used until a time.
func pairUntil(t *testing.T, s *memstore.Store, g string, expires time.Time) string {
	t.Helper()
	token := iris.NewToken()
	err := s.CreateToken(t.Context(), iris.Token{
		Hash: iris.HashToken(token), Kind: iris.TokenDevice, Gateway: g, Name: "kitchen", Expires: expires, Created: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// A code that was photographed pairs nobody later: nor is it listed. Whoever has paired in
// time stays.
func TestPairingExpires(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	in := start(t, s)
	g, _ := in.gateway()
	expires := time.Now().Add(500 * time.Millisecond)
	used, unused := pairUntil(t, s, g, expires), pairUntil(t, s, g, expires)
	in.device(used, "d1").next("status")
	time.Sleep(time.Until(expires))
	late := in.device(unused, "d2")
	if f := late.next("error"); f.text("code") != "auth" || !strings.Contains(f.text("message"), "expired") {
		t.Errorf("error = %v", f)
	}
	if code := late.closeCode(); code != 4401 {
		t.Errorf("close code %d for a pairing that has expired, want 4401", code)
	}
	if _, err := s.Device(t.Context(), g, "d2"); iris.ErrorCode(err) != iris.CodeNotFound {
		t.Errorf("the device is there: %v", err)
	}
	var list struct{ Pairings []any }
	in.admin("GET", "/admin/gateways/"+g+"/pairings", "", http.StatusOK, &list)
	if len(list.Pairings) != 0 {
		t.Errorf("pairings %v, want none", list.Pairings)
	}
	in.device(used, "d1").next("status")
}

// A device that does not say its name is called what the operator called the pairing,
// until it has one.
func TestPairingNamesTheDevice(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	in := start(t, s)
	g, _ := in.gateway()
	token := pairUntil(t, s, g, time.Now().Add(time.Hour))
	for _, c := range []struct{ says, want string }{{``, "kitchen"}, {`,"device_name":"Phone"`, "Phone"}, {``, "Phone"}} {
		p := in.socket("d1")
		p.send(`{"type":"hello","payload":{"token":%q,"device_id":"d1"%s}}`, token, c.says)
		p.next("status")
		if d, err := s.Device(t.Context(), g, "d1"); err != nil || d.Name != c.want {
			t.Errorf("hello with %q: the device is %q, %v, want %q", c.says, d.Name, err, c.want)
		}
		p.drop()
	}
}

// failingStore fails one kind of look-up, named by fails.
type failingStore struct {
	*memstore.Store
	fails atomic.Pointer[string]
}

func (s *failingStore) failing(call string) error {
	if name := s.fails.Load(); name != nil && *name == call {
		return errors.New("the database is away")
	}
	return nil
}

func (s *failingStore) Token(ctx context.Context, hash string) (iris.Token, error) {
	if err := s.failing("Token"); err != nil {
		return iris.Token{}, err
	}
	return s.Store.Token(ctx, hash)
}

func (s *failingStore) Device(ctx context.Context, g, d string) (iris.Device, error) {
	if err := s.failing("Device"); err != nil {
		return iris.Device{}, err
	}
	return s.Store.Device(ctx, g, d)
}

func (s *failingStore) BindToken(ctx context.Context, hash string, d iris.Device) error {
	if err := s.failing("BindToken"); err != nil {
		return err
	}
	return s.Store.BindToken(ctx, hash, d)
}

func (s *failingStore) Gateway(ctx context.Context, g string) (iris.Gateway, error) {
	if err := s.failing("Gateway"); err != nil {
		return iris.Gateway{}, err
	}
	return s.Store.Gateway(ctx, g)
}

// While the database is away nobody is told that a token is wrong: a phone would
// ask to be paired again, a host would give up. They come again.
func TestDatabaseAwayAtHello(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Token", "Device", "BindToken", "Gateway"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			s := &failingStore{Store: memstore.New()}
			in := startWith(t, s)
			g, hostToken := in.gateway()
			paired, fresh := in.pair(g), in.pair(g)
			p := in.device(paired, "d1")
			p.next("status")
			p.drop()
			in.stop()
			in = startWith(t, s)
			s.fails.Store(&call)
			away := map[string]*peer{"fresh": in.device(fresh, "d2")}
			if call != "BindToken" { // which is for the first hello
				away["paired"] = in.device(paired, "d1")
			}
			if call == "Token" || call == "Gateway" {
				away["host"] = dial(t, "host", in.url+"/host", hostToken)
				// It may be closed already: whether its token is known is asked before.
				_ = away["host"].ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"hello","protocol":1,"epoch":"e1","process":"p1"}`))
			}
			for name, p := range away {
				if code := p.closeCode(); code != websocket.StatusTryAgainLater {
					t.Errorf("%s: close code %d, want 1013", name, code)
				}
			}
			none := ""
			s.fails.Store(&none)
			in.device(paired, "d1").next("status")
			in.device(fresh, "d2").next("status")
			in.host(hostToken, "e1", 0, 0, "")
		})
	}
}
