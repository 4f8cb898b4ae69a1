package handlers_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

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
