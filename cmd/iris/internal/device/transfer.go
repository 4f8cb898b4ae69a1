package device

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// transfer is an upload or a download that is under way, one at a time. Its own
// goroutine runs it; the reader of the socket hands it what is for it.
type transfer struct {
	id     string     // of its requests
	frames chan Frame // what answers them, and binary frames, which have no type
	pulls  bool       // binary frames are its
}

// live is a connection whose sync is done.
type live struct {
	*websocket.Conn
	ctx context.Context // ends with the connection
}

// errBroken says that the connection ended under a transfer: it is tried again.
var errBroken = errors.New("the connection broke")

// File is what is sent.
type File struct {
	Name string // its name alone
	Kind string // image, voice, audio, video or document
	Mime string
	Size int64
	io.ReaderAt
}

// Upload brings a file to the gateway and returns the media_ref by which
// [Client.SendMedia] attaches it. It goes on over reconnects, where it was cut,
// until ctx ends or the gateway refuses the file.
func (c *Client) Upload(ctx context.Context, f File) (ref string, err error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(f, 0, f.Size)); err != nil {
		return "", err
	}
	ref = iris.NewID("mu_")
	err = c.transfer(ctx, false, func(ctx context.Context, l live, t *transfer) error {
		return t.upload(ctx, l, ref, f, hex.EncodeToString(hash.Sum(nil)))
	})
	return ref, err
}

// Download writes the bytes of a medium to a file and compares them with the hash
// that the gateway tells. It goes on over reconnects like [Client.Upload].
func (c *Client) Download(ctx context.Context, mediaID string, to io.Writer) error {
	hash := sha256.New()
	var got int64
	return c.transfer(ctx, true, func(ctx context.Context, l live, t *transfer) error {
		return t.download(ctx, l, mediaID, &got, io.MultiWriter(to, hash), func() string { return hex.EncodeToString(hash.Sum(nil)) })
	})
}

// transfer runs one transfer, on as many connections as it takes.
func (c *Client) transfer(ctx context.Context, pulls bool, run func(context.Context, live, *transfer) error) error {
	select {
	case c.transfers <- struct{}{}: // one at a time
		defer func() { <-c.transfers }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		l, err := c.await(ctx)
		if err != nil {
			return err
		}
		on, end := context.WithCancel(ctx)
		stop := context.AfterFunc(l.ctx, end)
		c.mu.Lock()
		t := &transfer{id: c.newID(), frames: make(chan Frame, 16), pulls: pulls}
		c.current = t
		c.mu.Unlock()
		err = run(on, l, t)
		c.mu.Lock()
		c.current = nil
		c.mu.Unlock()
		stop()
		end()
		if err == nil || ctx.Err() != nil || l.ctx.Err() == nil {
			return err
		}
	}
}

// await waits for a connection that is ready.
func (c *Client) await(ctx context.Context) (live, error) {
	for {
		c.mu.Lock()
		l, ready, changed := c.live, c.ready, c.changed
		c.mu.Unlock()
		if ready && l.ctx.Err() == nil {
			return l, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return live{}, ctx.Err()
		}
	}
}

// hand passes on what is for the transfer that runs, and reports whether it was.
func (c *Client) hand(ctx context.Context, f Frame) bool {
	c.mu.Lock()
	t := c.current
	c.mu.Unlock()
	binary := f.Type == ""
	switch {
	case t == nil, binary && !t.pulls, !binary && f.ID != t.id && !(f.ID == "" && f.Type == wire.Error{}.FrameType() && !t.pulls):
		return binary // nobody else wants those
	}
	select {
	case t.frames <- f:
	case <-ctx.Done():
	}
	return true
}

// next waits for a frame of the gateway. An error of the gateway is one here.
func (t *transfer) next(ctx context.Context) (Frame, error) {
	select {
	case f := <-t.frames:
		return f, refusal(f)
	case <-ctx.Done():
		return Frame{}, errBroken
	}
}

// refusal returns what the gateway says in an error frame, nil for another one.
func refusal(f Frame) error {
	if f.Type != (wire.Error{}).FrameType() {
		return nil
	}
	e, err := Payload[wire.Error](f)
	if err != nil {
		return err
	}
	return errors.New(e.Message)
}

func (t *transfer) ask(l live, frameType string, payload any) error {
	frame, err := encode(t.id, frameType, iris.Lane{}, payload)
	if err != nil {
		return err
	}
	return l.send(websocket.MessageText, frame)
}

// fileWriteTimeout is for a slow network.
const fileWriteTimeout = time.Minute

// send writes a frame. When it fails the connection has ended.
func (l live) send(kind websocket.MessageType, frame []byte) error {
	ctx, cancel := context.WithTimeout(l.ctx, fileWriteTimeout)
	defer cancel()
	if err := l.Write(ctx, kind, frame); err != nil {
		_ = l.CloseNow()
		<-l.ctx.Done()
		return errBroken
	}
	return nil
}

// chunkSize is how much is sent in a binary frame.
const chunkSize = 64 << 10

// upload sends a file from where the gateway wants it.
func (t *transfer) upload(ctx context.Context, l live, ref string, f File, sum string) error {
	start := wire.MediaUploadStart{MediaRef: ref, Kind: f.Kind, Mime: f.Mime, Size: f.Size, Filename: f.Name, Resume: true}
	if err := t.ask(l, wire.TypeMediaUploadStart, start); err != nil {
		return err
	}
	answer, err := t.next(ctx)
	if err != nil {
		return err
	}
	ready, err := Payload[wire.MediaUploadReady](answer)
	if err != nil {
		return err
	}
	rest := io.NewSectionReader(f, ready.Offset, f.Size-ready.Offset)
	buf := make([]byte, chunkSize)
	for left := rest.Size(); left > 0; {
		n, err := io.ReadFull(rest, buf[:min(left, chunkSize)])
		if err != nil {
			void := wire.MediaUploadEnd{MediaRef: ref} // or the gateway would wait for the rest, and refuse the next file
			return errors.Join(fmt.Errorf("the file changed meanwhile: %w", err), t.ask(l, wire.TypeMediaUploadEnd, void))
		}
		left -= int64(n)
		if err := l.send(websocket.MessageBinary, buf[:n]); err != nil {
			return err
		}
		select {
		case f := <-t.frames: // it refuses the rest
			return refusal(f)
		case <-ctx.Done():
			return errBroken
		default:
		}
	}
	if err := t.ask(l, wire.TypeMediaUploadEnd, wire.MediaUploadEnd{MediaRef: ref, SHA256: sum}); err != nil {
		return err
	}
	_, err = t.next(ctx)
	return err
}

// download asks for a medium behind the bytes that are there.
func (t *transfer) download(ctx context.Context, l live, id string, got *int64, to io.Writer, sum func() string) error {
	if err := t.ask(l, wire.TypeMediaPull, wire.MediaPullRequest{MediaID: id, Offset: *got}); err != nil {
		return err
	}
	answer, err := t.next(ctx)
	if err != nil {
		return err
	}
	header, err := Payload[wire.MediaPull](answer)
	if err != nil {
		return err
	}
	for {
		f, err := t.next(ctx)
		if err != nil {
			return err
		}
		if f.Type != "" {
			break // the end
		}
		if _, err := to.Write(f.Raw); err != nil {
			return err
		}
		*got += int64(len(f.Raw))
	}
	if *got != header.Size || sum() != header.SHA256 {
		return fmt.Errorf("%d of %d bytes came, or wrong ones", *got, header.Size)
	}
	return nil
}
