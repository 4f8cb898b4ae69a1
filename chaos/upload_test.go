package chaos

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/wire"
)

// uploadSize is more than one part: the gateway begins another one behind 8 MiB, when
// a second has passed.
const uploadSize = 20 << 20

// upload is a phone that sends a large medium.
type upload struct {
	*phone
	data []byte
}

func newUpload(p *phone) *upload {
	u := &upload{phone: p, data: make([]byte, uploadSize)}
	rand.NewChaCha8([32]byte{1}).Read(u.data)
	return u
}

// begin sends more than a part, and then slowly on until the connection ends.
func (u *upload) begin(ctx context.Context, in *instance) {
	s, v, offset := u.start(ctx, in)
	if s == nil {
		return
	}
	defer u.readers.Wait()
	if offset != 0 {
		u.t.Errorf("%s: a new upload goes on at %d", u.id, offset)
	}
	const fast = uploadSize / 2
	ok := u.binary(s, u.data[:fast])
	for at := fast; ok && at < uploadSize; at += 1 << 10 {
		ok = u.binary(s, u.data[at:at+1<<10]) && wait(ctx.Done(), 10*time.Millisecond)
	}
	u.await(ctx, v, settleTime, func() bool { return false })
}

// finish goes on where the gateway says, sends the medium in a letter, and gets
// the same bytes back.
func (u *upload) finish(ctx context.Context, in *instance) {
	s, v, offset := u.start(ctx, in)
	if s == nil {
		return
	}
	defer u.readers.Wait()
	defer s.Close(websocket.StatusNormalClosure, "")
	if offset == 0 {
		u.t.Errorf("%s: what was stored of the upload is lost", u.id)
	}
	sum := sha256.Sum256(u.data)
	if !u.binary(s, u.data[offset:]) {
		return
	}
	u.ask(ctx, s, v, "end", fmt.Sprintf(`{"v":1,"type":"media.upload.end","id":"end","payload":{"media_ref":"mu","sha256":%q}}`, hex.EncodeToString(sum[:])))
	u.mu.Lock()
	l := u.newLetter(0)
	u.mu.Unlock()
	echo := u.ask(ctx, s, v, l.id, fmt.Sprintf(`{"v":1,"type":"message.send","id":%q,"payload":{"text":%q,"client_id":%q,"media_refs":["mu"]}}`, l.id, l.text, l.id))
	m, err := decode[wire.Message](echo)
	if err != nil || len(m.Media) != 1 {
		u.t.Errorf("%s: the echo has no medium: %s %v", u.id, echo.Payload, err)
		return
	}
	u.ask(ctx, s, v, "pull", fmt.Sprintf(`{"v":1,"type":"media.pull","id":"pull","payload":{"media_id":%q}}`, m.Media[0].MediaID))
	u.await(ctx, v, settleTime, func() bool { return len(v.bytes) >= uploadSize })
	u.mu.Lock()
	defer u.mu.Unlock()
	if !bytes.Equal(v.bytes, u.data) {
		u.t.Errorf("%s: %d bytes came back, not those that were sent", u.id, len(v.bytes))
	}
}

// start connects and begins the upload, or goes on with it.
func (u *upload) start(ctx context.Context, in *instance) (s *socket, v *visit, offset int64) {
	u.instances = []*instance{in}
	if s, v = u.enter(ctx); s == nil {
		u.t.Errorf("%s cannot connect", u.id)
		return nil, nil, 0
	}
	u.await(ctx, v, settleTime, func() bool { return v.acked })
	u.sync(s, v, false)
	f := u.ask(ctx, s, v, "up", fmt.Sprintf(`{"v":1,"type":"media.upload.start","id":"up","payload":{"media_ref":"mu","kind":"document","mime":"application/octet-stream","size":%d,"filename":"a.bin","resume":true}}`, uploadSize))
	ready, err := decode[wire.MediaUploadReady](f)
	if f.Type != ready.FrameType() || err != nil {
		u.t.Errorf("%s: the upload was answered by %s %s", u.id, f.Type, f.Payload)
	}
	return s, v, ready.Offset
}

// ask sends a request and returns its answer.
func (u *upload) ask(ctx context.Context, s *socket, v *visit, id, request string) (answer frame) {
	if err := s.send([]byte(request)); err != nil {
		u.t.Errorf("%s: %v", u.id, err)
	}
	ok := u.await(ctx, v, settleTime, func() bool {
		for _, f := range v.frames {
			if f.ID == id {
				answer = f
				return true
			}
		}
		return false
	})
	if !ok || answer.Type == "error" {
		u.t.Errorf("%s: %s was answered by %s %s", u.id, request, answer.Type, answer.Payload)
	}
	return answer
}

// binary sends bytes, as long as the connection lives.
func (u *upload) binary(s *socket, b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), 200_001)
		ctx, cancel := context.WithTimeout(context.Background(), settleTime)
		err := s.Write(ctx, websocket.MessageBinary, b[:n])
		cancel()
		if err != nil {
			return false
		}
		b = b[n:]
	}
	return true
}
