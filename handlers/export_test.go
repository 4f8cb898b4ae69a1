package handlers_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// A medium is exported whole, or from where the reader is, and never as something that a
// browser would run; what makes no sense is refused.
func TestExportOfAMedium(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	file := []byte("<script>alert(1)</script>")
	w.phone.upload(sending{Ref: "mu", Kind: "document", Mime: "text/html", Filename: "a.html", Size: len(file)}, file)
	echo := w.answered(w.ask("message.send", iris.Lane{}, `{"text":"look","media_refs":["mu"]}`), "message")
	id := mediaID(mediaOf(echo.payload())[0])
	path := w.in.url + "/admin/gateways/" + w.g + "/export/media/"
	get := func(url, ranged string) (*http.Response, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+adminToken)
		if ranged != "" {
			req.Header.Set("Range", ranged)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, body
	}
	for ranged, offset := range map[string]int{"": 0, "bytes=0-": 0, "bytes=8-": 8} {
		status, content := http.StatusOK, ""
		if ranged != "" {
			status, content = http.StatusPartialContent, fmt.Sprintf("bytes %d-%d/%d", offset, len(file)-1, len(file))
		}
		res, body := get(path+id, ranged)
		if res.StatusCode != status || !bytes.Equal(body, file[offset:]) || res.ContentLength != int64(len(file)-offset) || res.Header.Get("Content-Range") != content {
			t.Errorf("Range %q: %s %q %v", ranged, res.Status, body, res.Header)
		}
		for header, want := range map[string]string{
			"Content-Type": "application/octet-stream", "Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff",
		} {
			if got := res.Header.Get(header); got != want {
				t.Errorf("%s is %q, want %q", header, got, want)
			}
		}
	}
	for _, ranged := range []string{"bytes=-5", "bytes=1-2", "bytes=x-", "bytes=--1-", "8-", "bytes=8", "bytes=99999999999999999999-"} {
		if res, _ := get(path+id, ranged); res.StatusCode != http.StatusBadRequest {
			t.Errorf("Range %q: %s, want 400", ranged, res.Status)
		}
	}
	if res, _ := get(path+"md_none", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown medium: %s, want 404", res.Status)
	}
	for _, after := range []string{"x", "e30x", "eyJ0Ijo5MDAwMDAwMDAwMDAwMDAwMDAwfQ"} { // no base64, no JSON, the year 287,168
		if res, body := get(w.in.url+"/admin/gateways/"+w.g+"/export/messages?after="+after, ""); res.StatusCode != http.StatusBadRequest {
			t.Errorf("after %q: %s %s, want 400", after, res.Status, body)
		}
	}
}

// An export is of one gateway: of another one's media it knows nothing.
func TestExportOfAnotherGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	other, _ := w.in.gateway()
	file := random(10)
	w.phone.upload(sendingOf("mu", file), file)
	echo := w.answered(w.ask("message.send", iris.Lane{}, `{"text":"look","media_refs":["mu"]}`), "message")
	id := mediaID(mediaOf(echo.payload())[0])
	w.in.admin("GET", "/admin/gateways/"+other+"/export/media/"+id, "", http.StatusNotFound, nil)
	var page struct{ Messages, Media []any }
	w.in.admin("GET", "/admin/gateways/"+other+"/export/messages", "", http.StatusOK, &page)
	w.in.admin("GET", "/admin/gateways/"+other+"/export/media", "", http.StatusOK, &page)
	if len(page.Messages)+len(page.Media) != 0 {
		t.Errorf("the other gateway has %v and %v", page.Messages, page.Media)
	}
}

// However much was said, the pages of an export bring each message once, in its order,
// and none is larger than a reader can hold.
func TestExportByPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	flat := iris.Lane{ChatID: lane}
	thread := iris.Lane{ChatID: lane, ThreadID: w.ask("channel.create", flat, `{"name":"t","kind":"thread"}`).text("thread_id")}
	long := strings.Repeat("x", 60<<10)
	n := 0
	add := func(messages int, l iris.Lane, text, reasoning string) {
		var changes []iris.Change
		for range messages {
			changes = append(changes, iris.PutMessage{Message: iris.Message{
				ID: fmt.Sprintf("m%04d", n), Lane: l, Role: iris.RoleAssistant, Text: text, Reasoning: reasoning, At: time.UnixMilli(int64(1000 + n)),
			}})
			n++
		}
		w.append(changes)
	}
	for range 9 { // texts and thoughts of 10 MiB
		add(10, flat, long, long)
	}
	for range 3 {
		add(300, thread, "short", "")
	}
	var sum struct {
		GatewayID   string `json:"gateway_id"`
		Name        string
		DefaultChat string `json:"default_chat"`
		Created     int64
		Host        struct {
			Version, Model string
			Seen           int64
		}
		Messages int
		Channels []struct {
			ThreadID string `json:"thread_id"`
			Kind     string
		}
		Devices []any
	}
	path := "/admin/gateways/" + w.g + "/export"
	w.in.admin("GET", path, "", http.StatusOK, &sum)
	if sum.GatewayID != w.g || sum.Name != "home" || sum.DefaultChat != lane || sum.Created == 0 || sum.Host.Version != "0.19.0" || sum.Host.Model != "m" || sum.Host.Seen == 0 ||
		sum.Messages != n || len(sum.Devices) != 3 || len(sum.Channels) != 2 {
		t.Errorf("summary %+v", sum)
	}
	for _, c := range sum.Channels {
		if want := map[string]string{"": "default", thread.ThreadID: "thread"}[c.ThreadID]; c.Kind != want {
			t.Errorf("channel %+v, want kind %s", c, want)
		}
	}
	got := 0
	for next, more := "", true; more; more = next != "" {
		var page struct {
			Messages []struct {
				MessageID string `json:"message_id"`
				ThreadID  string `json:"thread_id"`
				Text      string
				Reasoning string
			}
			Next string
		}
		w.in.admin("GET", path+"/messages?after="+url.QueryEscape(next), "", http.StatusOK, &page)
		size := 0
		for _, m := range page.Messages {
			if want := fmt.Sprintf("m%04d", got); m.MessageID != want || (m.ThreadID != "") != (m.Text == "short") {
				t.Fatalf("%s in %q where %s comes", m.MessageID, m.ThreadID, want)
			}
			size += len(m.Text) + len(m.Reasoning)
			got++
		}
		if len(page.Messages) > 500 || size > 4<<20+2*len(long) {
			t.Errorf("a page of %d messages, %d bytes of text", len(page.Messages), size)
		}
		next = page.Next
	}
	if got != n {
		t.Errorf("%d messages were exported, there are %d", got, n)
	}
}
