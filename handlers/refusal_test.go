package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
)

// Whatever a peer does wrong before it is known ends its connection with the
// documented error and close code, and nobody else's.
func TestRefusedHello(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, hostToken := in.gateway()
	token, taken := in.pair(g), in.pair(g)
	in.device(taken, "d1").next("hello.ack")
	bystander := in.device(in.pair(g), "d9")
	bystander.next("status")

	hello := func(token, id string) string {
		return fmt.Sprintf(`{"v":1,"type":"hello","payload":{"token":%q,"device_id":%q}}`, token, id)
	}
	for name, c := range map[string]struct {
		send string
		code string
		want websocket.StatusCode
	}{
		"unknown token":          {hello("nonsense", "d2"), "auth", 4401},
		"another device's token": {hello(taken, "d2"), "auth", 4401},
		"host token":             {hello(hostToken, "d2"), "auth", 4401},
		"empty token":            {hello("", "d2"), "auth", 4401},
		"no device id":           {hello(token, ""), "unsupported", 4400},
		"long device id":         {hello(token, strings.Repeat("d", 129)), "unsupported", 4400},
		"other version":          {`{"v":2,"type":"hello","payload":{}}`, "unsupported", 4400},
		"no hello":               {`{"v":1,"type":"ping","id":1}`, "unsupported", 4400},
		"garbage":                {`garbage`, "unsupported", 4400},
		"too large":              {hello(token, "d2") + strings.Repeat(" ", 17<<10), "", 1009},
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, name, in.url+"/ws", "")
			p.send("%s", c.send)
			if c.code != "" {
				if f := p.next("error"); f.text("code") != c.code || f.text("message") == "" {
					t.Errorf("error = %v, want code %s", f, c.code)
				}
			}
			if code := p.closeCode(); code != c.want {
				t.Errorf("close code %d, want %d", code, c.want)
			}
		})
	}
	for name, bearer := range map[string]string{"unknown": "nonsense", "none": "", "device's": taken} {
		p := dial(t, name, in.url+"/host", bearer)
		if f := p.next("error"); f["code"] != "auth" {
			t.Errorf("%s host token: error = %v", name, f)
		}
		if code := p.closeCode(); code != 4401 {
			t.Errorf("%s host token: close code %d, want 4401", name, code)
		}
	}
	bystander.send(`{"type":"ping","id":1,"payload":{"ts":1}}`)
	bystander.next("pong")
}

// Once a device is known, what it does wrong is answered and the connection
// goes on, up to the documented limits.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, _ := in.gateway()
	phone := in.device(in.pair(g), "d1")
	phone.next("status")
	for name, c := range map[string]struct{ send, code string }{
		"unknown type":      {`{"type":"no.such","id":1}`, "unsupported"},
		"second hello":      {`{"type":"hello","id":1,"payload":{"token":"t","device_id":"d"}}`, "unsupported"},
		"wrong field type":  {`{"type":"message.send","id":1,"payload":{"text":5}}`, "unsupported"},
		"no text":           {`{"type":"message.send","id":1,"payload":{}}`, "unsupported"},
		"unknown channel":   {`{"type":"message.send","id":1,"chat_id":"nope","payload":{"text":"x"}}`, "not_found"},
		"unknown thread":    {`{"type":"message.send","id":1,"thread_id":"nope","payload":{"text":"x"}}`, "not_found"},
		"text too long":     {`{"type":"message.send","id":1,"payload":{"text":"` + strings.Repeat("x", 64<<10+1) + `"}}`, "unsupported"},
		"long client id":    {`{"type":"message.send","id":1,"payload":{"text":"x","client_id":"` + strings.Repeat("c", 65) + `"}}`, "unsupported"},
		"history nowhere":   {`{"type":"history","id":1,"chat_id":"nope"}`, "not_found"},
		"history before":    {`{"type":"history","id":1,"payload":{"before_message_id":"m_none"}}`, "not_found"},
		"history too much":  {`{"type":"history","id":1,"payload":{"limit":201}}`, "unsupported"},
		"negative cursor":   {`{"type":"sync","id":1,"payload":{"cursor":-1}}`, "unsupported"},
		"payload no object": {`{"type":"ping","id":1,"payload":[]}`, "unsupported"},
	} {
		phone.send("%s", c.send)
		if f := phone.next("error"); f["id"] != 1.0 || f.text("code") != c.code || f.text("message") == "" {
			t.Errorf("%s: error = %v, want id 1 and code %s", name, f, c.code)
		}
	}
	phone.send(`{"type":"no.such"}`) // without id: ignored
	phone.send(`{"type":"ping","id":[],"payload":{"ts":1}}`)
	if f := phone.next("error"); f["id"] != nil {
		t.Errorf("error for a bad id = %v, want none", f)
	}
	if err := phone.ws.Write(context.Background(), websocket.MessageBinary, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	phone.next("error")
	for range 20 {
		phone.send("garbage")
	}
	if code := phone.closeCode(); code != 4408 {
		t.Errorf("close code %d after 20 malformed frames, want 4408", code)
	}
}

// A frame of another version ends the connection, also behind a hello of this
// one: what it asks for may mean something else there, and is not done.
func TestOtherVersionLater(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, _ := in.gateway()
	token := in.pair(g)
	other := in.device(in.pair(g), "d2")
	other.next("status")
	for _, id := range []any{7.0, nil} {
		phone := in.device(token, "d1")
		phone.next("status")
		field := ""
		if id != nil {
			field = fmt.Sprintf(`"id":%v,`, id)
		}
		phone.send(`{"v":2,%s"type":"message.send","payload":{"text":"x"}}`, field)
		f := phone.next("error")
		if f["id"] != id || f.text("code") != "unsupported" || !strings.Contains(f.text("message"), "version 2") {
			t.Errorf("error = %v", f)
		}
		if f, ok := <-phone.frames; ok {
			t.Errorf("behind it %v", f)
		}
		if code := phone.closeCode(); code != 4400 {
			t.Errorf("close code %d, want 4400", code)
		}
	}
	other.send(`{"type":"message.send","payload":{"text":"of this version"}}`)
	if f := other.next("message"); f.text("text") != "of this version" {
		t.Errorf("message = %v", f)
	}
}

func TestFrameTooLarge(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, _ := in.gateway()
	token := in.pair(g)
	for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
		phone := in.device(token, "d1")
		phone.next("status")
		// The gateway may close before all of it is written.
		_ = phone.ws.Write(t.Context(), kind, make([]byte, 2<<20))
		if code := phone.closeCode(); code != 1009 {
			t.Errorf("close code %d after a %v of 2 MiB, want 1009", code, kind)
		}
	}
	in.device(token, "d1").next("status")
}

// A newer connection of a device takes over from the older one.
func TestNewestConnectionWins(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, hostToken := in.gateway()
	token := in.pair(g)
	old := in.device(token, "d1")
	old.next("status")
	phone := in.device(token, "d1")
	phone.next("status")
	if code := old.closeCode(); code != 4409 {
		t.Errorf("older device connection closed with %d, want 4409", code)
	}
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	newer, _ := in.host(hostToken, "e1", 0, 0, "")
	if code := host.closeCode(); code != 4409 {
		t.Errorf("older host connection closed with %d, want 4409", code)
	}
	phone.send(`{"type":"message.send","id":1,"payload":{"text":"x"}}`)
	phone.next("message")
	newer.next("inbound")
}

func TestAdminNeedsToken(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	for _, bearer := range []string{"", "wrong", adminToken + "x"} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", in.url+"/admin/gateways", nil)
		req.Header.Set("Authorization", "Bearer "+bearer)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("token %q: status %d, want 401", bearer, res.StatusCode)
		}
	}
	in.admin("POST", "/admin/gateways/g_none/devices", `{}`, http.StatusNotFound, nil)
	in.admin("POST", "/admin/gateways", `{}`, http.StatusBadRequest, nil)
	in.admin("POST", "/admin/gateways", `{"name":`, http.StatusBadRequest, nil)
	in.admin("GET", "/health", "", http.StatusOK, nil)
	in.admin("GET", "/ready", "", http.StatusOK, nil)
}
