package testenv

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
)

// Confiding confides all that passes a server in a test: bearer tokens, the bodies of
// requests and answers, and the frames of WebSockets in both directions.
func Confiding(h http.Handler) http.Handler {
	if os.Getenv(EnvLogs) == "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			Confide(bearer)
		}
		asked, answered := &overheard{}, &overheard{}
		defer func() {
			ConfideFrame(asked.text.Bytes())
			ConfideFrame(answered.text.Bytes())
		}()
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &overheardBody{r.Body, asked}
		}
		h.ServeHTTP(&overheardWriter{w, answered}, r)
	})
}

// overheard is the begin of a body; media are long, and no JSON.
type overheard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const mostOverheard = 1 << 20

func (o *overheard) add(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b[:min(len(b), mostOverheard-o.text.Len())])
}

type overheardBody struct {
	io.ReadCloser
	heard *overheard
}

// Read implements [io.Reader].
func (b *overheardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.heard.add(p[:n])
	return n, err
}

type overheardWriter struct {
	http.ResponseWriter
	heard *overheard
}

// Unwrap is for [http.ResponseController].
func (w *overheardWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements [io.Writer].
func (w *overheardWriter) Write(b []byte) (int, error) {
	w.heard.add(b)
	return w.ResponseWriter.Write(b)
}

// Hijack implements [http.Hijacker]: the connection becomes a WebSocket.
func (w *overheardWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := rw.Reader.Peek(rw.Reader.Buffered()) // what the client did not wait to say
	c := &overheardConn{Conn: raw, early: bytes.Clone(early)}
	return c, bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), nil
}

// overheardConn is a WebSocket on the server's side.
type overheardConn struct {
	net.Conn
	early []byte
	in    frames // one reads at a time, and one writes
	out   frames
}

// Read implements [io.Reader].
func (c *overheardConn) Read(p []byte) (n int, err error) {
	if len(c.early) > 0 {
		n = copy(p, c.early)
		c.early = c.early[n:]
	} else {
		n, err = c.Conn.Read(p)
	}
	c.in.hear(p[:n])
	return n, err
}

// Write implements [io.Writer].
func (c *overheardConn) Write(p []byte) (int, error) {
	c.out.hear(p)
	return c.Conn.Write(p)
}

// frames takes the text messages out of one direction of a WebSocket (RFC 6455, 5.2).
type frames struct {
	left    []byte // not yet a whole frame
	message []byte
	deaf    bool // after something that it does not understand
}

const (
	opContinue, opText = 0, 1
	opControl          = 8 // and above: may come between the frames of a message
	final, masked      = 0x80, 0x80
	mostFrame          = 64 << 20
)

func (f *frames) hear(p []byte) {
	if f.deaf {
		return
	}
	f.left = append(f.left, p...)
	for {
		payload, whole := f.next()
		if !whole {
			return
		}
		switch op := f.left[0] & 0x0f; {
		case op >= opControl:
		case op == opText, op == opContinue && f.message != nil:
			f.message = append(f.message, payload...)
			if f.message == nil {
				f.message = []byte{}
			}
			if f.left[0]&final != 0 {
				ConfideFrame(f.message)
				f.message = nil
			}
		}
		f.left = f.left[f.size():]
	}
}

// header is the length of the newest frame's header and of its payload, ok if
// enough of it is there.
func (f *frames) header() (header, payload int, ok bool) {
	if len(f.left) < 2 {
		return 0, 0, false
	}
	header, payload = 2, int(f.left[1]&^masked)
	switch payload {
	case 126:
		if header = 4; len(f.left) < header {
			return 0, 0, false
		}
		payload = int(binary.BigEndian.Uint16(f.left[2:]))
	case 127:
		if header = 10; len(f.left) < header {
			return 0, 0, false
		}
		length := binary.BigEndian.Uint64(f.left[2:])
		if f.deaf = length > mostFrame; f.deaf {
			return 0, 0, false
		}
		payload = int(length)
	}
	if f.left[1]&masked != 0 {
		header += 4
	}
	return header, payload, len(f.left) >= header
}

func (f *frames) size() int {
	header, payload, _ := f.header()
	return header + payload
}

// next is the newest frame's payload, if it is there as a whole.
func (f *frames) next() ([]byte, bool) {
	header, length, ok := f.header()
	if !ok || len(f.left) < header+length {
		return nil, false
	}
	payload := bytes.Clone(f.left[header : header+length])
	if f.left[1]&masked != 0 {
		for i := range payload {
			payload[i] ^= f.left[header-4+i%4]
		}
	}
	return payload, true
}
