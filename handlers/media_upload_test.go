package handlers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/iris"
)

type mediaDeleter interface {
	DeleteMedia(ctx context.Context, g, id string) error
}

func withoutMedia(cfg *handlers.Config) { cfg.Media = nil }

// The connection is cut at random, with and without the death of its instance:
// the upload goes on, at any instance, and nothing of it is lost or left.
func TestMediaUploadResumes(t *testing.T) {
	onStores(t, func(t *testing.T, s store) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		inParts(s)
		in := startWith(t, s)
		g, _ := in.gateway()
		token := in.pair(g)
		b := random(3*8<<20 + dice.IntN(8<<20))
		up := sendingOf("mu", b)
		var cuts, kills int
		for {
			m := killable(s)
			here := startWith(t, s, m.with)
			p := here.device(token, "phone")
			p.next("status")
			from := p.startAt(up)
			if cuts+kills == 8 {
				if err := p.write(b[from:]); err != nil {
					t.Fatal(err)
				}
				if f := p.end("mu", hashOf(b)); !f.is("media.upload.ack") {
					t.Fatalf("end: %v", f)
				}
				break
			}
			offset := from + dice.IntN(len(b)-from+1)
			if err := p.write(b[from:offset]); err != nil {
				t.Fatal(err)
			}
			if dice.IntN(2) == 0 {
				m.kill()
				kills++
			} else {
				cuts++
			}
			p.drop()
			if dice.IntN(2) == 0 {
				here.stop()
			}
		}
		p := in.device(token, "phone")
		p.next("status")
		p.holds(mediaID(p.sendMedia("mu")[0]), b)
		if mem, ok := s.(*memstore.Store); ok {
			if left := mem.Lasting(); len(left) != 1 {
				t.Errorf("objects that are left: %v", left)
			}
		}
	})
}

// What has come when the connection is cut is kept, although it fills no part.
func TestMediaUploadCut(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	in := startWith(t, s)
	g, _ := in.gateway()
	token := in.pair(g)
	b := random(3 << 20)
	p := in.device(token, "phone")
	p.startAt(sendingOf("mu", b))
	if err := p.write(b[:2<<20]); err != nil {
		t.Fatal(err)
	}
	p.works() // it has read them
	p.drop()
	waitFor(t, "a part is kept", func() bool { return len(s.Objects()) == 1 })
	again := in.device(token, "phone")
	from := again.startAt(sendingOf("mu", b))
	if from < 1<<20 || from > 2<<20 {
		t.Errorf("goes on at %d of %d", from, 2<<20)
	}
	if err := again.write(b[from:]); err != nil {
		t.Fatal(err)
	}
	if f := again.end("mu", hashOf(b)); !f.is("media.upload.ack") {
		t.Fatalf("end: %v", f)
	}
	again.holds(mediaID(again.sendMedia("mu")[0]), b)
}

// The ack was lost with the connection: the upload is complete already.
func TestMediaAckLost(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	in, there := startWith(t, s), startWith(t, s)
	g, _ := in.gateway()
	token := in.pair(g)
	b := random(100_000)
	in.device(token, "phone").upload(sendingOf("mu", b), b)
	again := there.device(token, "phone")
	if offset := again.startAt(sendingOf("mu", b)); offset != len(b) {
		t.Errorf("goes on at %d, want %d", offset, len(b))
	}
	if f := again.end("mu", hashOf(b)); !f.is("media.upload.ack") {
		t.Errorf("end: %v", f)
	}
	again.holds(mediaID(again.sendMedia("mu")[0]), b)
}

// What is not as announced, or out of place, is told, and nothing else breaks.
func TestMediaUploadRefused(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	s.Limits = iris.MediaLimits{MaxBytes: 1 << 20, Quota: 3 << 20}
	in := startWith(t, s)
	g, _ := in.gateway()
	p := in.device(in.pair(g), "phone")
	b := random(300_000)
	write := func(b []byte) {
		t.Helper()
		if err := p.write(b); err != nil {
			t.Fatal(err)
		}
	}
	unanswered := func() { // the end of an upload that failed
		t.Helper()
		p.send(`{"type":"media.upload.end","id":"end","payload":{"media_ref":"mu","sha256":""}}`)
		p.send(`{"type":"ping","id":"then"}`)
		if f := p.until("pong", func(f frame) bool { return f["id"] != nil }); f["id"] != "then" {
			t.Errorf("end of an upload that failed: %v", f)
		}
	}

	up := sendingOf("mu", b)
	up.Size = 1<<20 + 1
	p.start("big", up)
	p.refused("big", "media_too_large", "1048577", "1048576", `"mu"`)
	write(b)
	unanswered()

	up.Size = len(b) - 1 // too many come
	p.start("many", up)
	write(b)
	p.refused("many", "media_too_large", "299999")
	write(b)
	unanswered()

	up.Size = len(b) + 1 // too few come
	p.start("few", up)
	write(b)
	if f := p.end("mu", hashOf(b)); !f.is("error") || f.text("code") != "unsupported" {
		t.Errorf("too few: %v", f)
	}
	p.works()

	p.start("wrong", sendingOf("mu", b))
	write(b)
	if f := p.end("mu", hashOf(b[1:])); !f.is("error") || f.text("code") != "unsupported" {
		t.Errorf("wrong hash: %v", f)
	}
	p.works()

	p.start("first", sendingOf("mu", b)) // a second one voids both
	write(b[:1000])
	p.start("second", sendingOf("mu2", b))
	p.refused("second", "unsupported", `"mu"`)
	write(b)
	unanswered()
	p.send(`{"type":"message.send","id":"m","payload":{"text":"","media_refs":["mu"]}}`)
	p.refused("m", "not_found", `"mu"`)

	write(b) // out of place: told once
	p.refused(nil, "unsupported", "media.upload.start")
	write(b)
	unanswered()
	if f := p.end("mu", hashOf(b)); !f.is("error") || f.text("code") != "unsupported" {
		t.Errorf("end without start: %v", f)
	}

	p.start("mixed", sendingOf("mu", b))
	write(b)
	p.send(`{"type":"media.upload.end","id":"other","payload":{"media_ref":"mu2","sha256":"x"}}`)
	p.refused("other", "unsupported", `"mu"`, `"mu2"`)

	p.send(`{"type":"media.upload.start","id":"form","payload":{"media_ref":"mu","size":"big"}}`)
	p.refused("form", "unsupported", "size")
	write(b)
	unanswered()

	for _, name := range s.Objects() {
		t.Errorf("object %s is left", name)
	}
	for i := range 3 {
		ref := fmt.Sprint("q", i)
		big := random(1 << 20)
		p.upload(sendingOf(ref, big), big)
	}
	p.start("full", sendingOf("mu", b))
	p.refused("full", "media_too_large", "3145728", "delete something")
	unanswered()
}

// A device that was told that an upload has failed begins another one: it need
// not send the end of the first.
func TestMediaUploadBehindOneThatFailed(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	s.Limits = iris.MediaLimits{MaxBytes: 1 << 20, Quota: 2 << 20}
	in := startWith(t, s)
	g, _ := in.gateway()
	p := in.device(in.pair(g), "phone")
	b := random(300_000)

	big := sendingOf("big", b)
	big.Size = 1<<20 + 1
	p.start("big", big)
	p.refused("big", "media_too_large", `"big"`)
	p.upload(sendingOf("behind big", b), b)

	many := sendingOf("many", b)
	many.Size = len(b) - 1
	p.start("many", many)
	if err := p.write(b); err != nil {
		t.Fatal(err)
	}
	p.refused("many", "media_too_large", `"many"`)
	if offset := p.startAt(sendingOf("behind many", b)); offset != 0 {
		t.Errorf("goes on at %d", offset)
	}
	if err := p.write(b); err != nil {
		t.Fatal(err)
	}
	if f := p.end("behind many", hashOf(b)); !f.is("media.upload.ack") {
		t.Errorf("end: %v", f)
	}
	if media := p.sendMedia("behind big", "behind many"); len(media) != 2 {
		t.Errorf("media %v", media)
	}
}

// An upload that runs leaves room for everything else on the connection.
func TestMediaUploadAmongOthers(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New())
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	p := in.device(in.pair(g), "phone")
	p.next("status")
	b := random(1_000_000)
	p.start("s", sendingOf("mu", b))
	for i := 0; i < len(b); i += 100_000 {
		if err := p.write(b[i : i+100_000]); err != nil {
			t.Fatal(err)
		}
		p.send(`{"type":"message.send","id":%d,"payload":{"text":"meanwhile"}}`, i)
		p.until("echo", func(f frame) bool { return f["id"] == float64(i) })
		host.next("inbound")
	}
	if f := p.end("mu", hashOf(b)); !f.is("media.upload.ack") {
		t.Fatalf("end: %v", f)
	}
	p.holds(mediaID(p.sendMedia("mu")[0]), b)
}

// A frame above the limit ends the connection, as the protocol says.
func TestMediaFrameTooLarge(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New())
	g, _ := in.gateway()
	for _, upload := range []bool{true, false} {
		p := in.device(in.pair(g), "phone")
		p.next("status")
		if upload {
			p.startAt(sendingOf("mu", random(1<<20)))
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_ = p.ws.Write(ctx, 2, make([]byte, 256<<10+1))
		cancel()
		if code := p.closeCode(); code != 1009 {
			t.Errorf("close code %d, want 1009", code)
		}
	}
}

// A device that is revoked while it uploads: what it has sent goes.
func TestMediaUploadRevoked(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	inParts(s)
	in := startWith(t, s)
	g, _ := in.gateway()
	p := in.device(in.pair(g), "phone")
	p.next("status")
	b := random(9 << 20)
	p.start("s", sendingOf("mu", b))
	if err := p.write(b); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a part is stored", func() bool { return len(s.Objects()) == 1 })
	in.admin("DELETE", "/admin/gateways/"+g+"/devices/phone", "", http.StatusNoContent, nil)
	if f := p.next("error"); f.text("code") != "auth" {
		t.Errorf("error = %v, want auth", f)
	}
	if code := p.closeCode(); code != 4401 {
		t.Errorf("close code %d, want 4401", code)
	}
	waitFor(t, "nothing is left", func() bool { return len(s.Objects()) == 0 })
}
