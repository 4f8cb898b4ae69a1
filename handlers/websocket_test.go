package handlers

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The gateway closes a connection in the middle of a frame that it reads: what
// the reader returns is the whole frame or an error, never the middle of what
// comes behind it. Found by package chaos. With the library alone that happens
// here a few times in a hundred under the race detector.
func TestFrameWhileClosing(t *testing.T) {
	t.Parallel()
	const frame = "the frame"
	for range 100 {
		began, rest := make(chan *conn), make(chan struct{})
		read := make(chan string, 1)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := accept(w, r, 1<<10)
			if err != nil {
				t.Error(err)
				return
			}
			_, in, err := c.reader(t.Context()) // has the header
			if err != nil {
				t.Error(err)
				return
			}
			began <- c
			<-rest
			data, err := io.ReadAll(in)
			if err != nil {
				data = nil
			}
			read <- string(data)
		}))
		peer := rawPeer(t, srv)
		peer.send(0x81, len(frame), "")
		c := <-began
		closed := make(chan struct{})
		go func() { c.Close(1001, ""); close(closed) }()
		if b, err := peer.in.ReadByte(); err != nil || b != 0x88 {
			t.Fatalf("%x, %v, want a close frame", b, err)
		}
		close(rest)
		time.Sleep(time.Millisecond) // the reader waits for the library by now: it says so to nobody
		_, _ = io.WriteString(peer, frame)
		peer.send(0x89, 0, "") // the library cannot answer it any more
		peer.send(0x81, 100, strings.Repeat("x", 100))
		if got := <-read; got != "" && got != frame {
			t.Errorf("read %q, want %q or nothing", got, frame)
		}
		<-closed
		peer.Close()
		srv.Close()
	}
}

// peer is a client of a WebSocket that writes its frames by hand.
type peer struct {
	net.Conn
	in *bufio.Reader
}

func rawPeer(t *testing.T, srv *httptest.Server) peer {
	t.Helper()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	p := peer{c, bufio.NewReader(c)}
	res, err := http.ReadResponse(p.in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("upgrade: %v, %v", res, err)
	}
	return p
}

// send writes a frame, or the beginning of one, masked with zeros.
func (p peer) send(kind byte, length int, text string) {
	_, _ = p.Write(append([]byte{kind, 0x80 | byte(length), 0, 0, 0, 0}, text...))
}
