package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"sync"

	"github.com/coder/websocket"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// outbox holds, in order, the pictures that the gateway does not have yet.
type outbox struct {
	wake chan struct{}         // holds a token when there may be something to bring
	acks chan link.MediaPutAck // what the gateway says of the one under way

	mu    sync.Mutex
	items []*picture
}

// picture is a file on its way to the gateway.
type picture struct {
	turn  *turn
	data  []byte
	event link.Media
	over  chan struct{} // closed once the event that shows it, or says why not, is in the spool
}

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), acks: make(chan link.MediaPutAck, 1)}
}

func (o *outbox) put(p *picture) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.items = append(o.items, p)
	select {
	case o.wake <- struct{}{}:
	default: // the writer will look anyway
	}
}

// first returns the picture to bring next, nil for none.
func (o *outbox) first() *picture {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.items) == 0 {
		return nil
	}
	return o.items[0]
}

func (o *outbox) remove(p *picture) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.items = slices.DeleteFunc(o.items, func(q *picture) bool { return q == p })
}

// show sends a picture: its bytes first, then the event that shows it. It returns
// when that is in the spool, so that the end of the turn comes behind, or with ctx's
// error when the turn is stopped: then the picture may come later.
func (a *Agent) show(ctx context.Context, t *turn, caption, replyTo string) error {
	data := rainbow()
	sum := sha256.Sum256(data)
	p := &picture{turn: t, data: data, over: make(chan struct{}), event: link.Media{
		MessageID: iris.NewID("m_"), MediaID: iris.NewID("md_"), Kind: iris.MediaImage, Mime: "image/png", Size: int64(len(data)),
		SHA256: hex.EncodeToString(sum[:]), Filename: "rainbow.png", Caption: caption, ReplyTo: replyTo,
	}}
	a.outbox.put(p)
	select {
	case <-p.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bring brings the pictures to the gateway until the session ends. One that was
// cut begins anew on the next connection.
func (a *Agent) bring(ctx context.Context, conn *websocket.Conn) {
	select {
	case <-a.outbox.acks: // of the last connection
	default:
	}
	for {
		p := a.outbox.first()
		if p == nil {
			select {
			case <-ctx.Done():
				return
			case <-a.outbox.wake:
			}
			continue
		}
		if err := p.write(ctx, conn); err != nil {
			_ = conn.CloseNow() // the reader notices
			return
		}
		select {
		case <-ctx.Done():
			return
		case ack := <-a.outbox.acks:
			if ack.MediaID == p.event.MediaID {
				a.brought(p, ack)
			}
		}
	}
}

// brought tells of a picture that the gateway has, or why it has not.
func (a *Agent) brought(p *picture, ack link.MediaPutAck) {
	a.outbox.remove(p)
	defer close(p.over)
	if ack.OK {
		a.spool.add(p.turn, link.KindMedia, "", p.event, nil)
		return
	}
	a.spool.add(p.turn, link.KindNotice, "", link.Notice{Key: "attachment", Text: "The picture could not be sent: " + ack.Message}, nil)
}

// mediaChunk is how many bytes a binary frame has.
const mediaChunk = 64 << 10

func (p *picture) write(ctx context.Context, conn *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	m := p.event
	put := link.MediaPut{MediaID: m.MediaID, Kind: m.Kind, Mime: m.Mime, Size: m.Size, Filename: m.Filename, SHA256: m.SHA256}
	if err := conn.Write(ctx, websocket.MessageText, link.Encode(link.TypeMediaPut, put)); err != nil {
		return err
	}
	for chunk := range slices.Chunk(p.data, mediaChunk) {
		if err := conn.Write(ctx, websocket.MessageBinary, chunk); err != nil {
			return err
		}
	}
	return conn.Write(ctx, websocket.MessageText, link.Encode(link.TypeMediaPutEnd, link.MediaPutEnd{MediaID: m.MediaID}))
}

// rainbow paints one, as a PNG.
func rainbow() []byte {
	const width, height, band = 480, 260, 18
	bands := []color.NRGBA{
		{228, 3, 3, 255}, {255, 140, 0, 255}, {255, 237, 0, 255}, {0, 128, 38, 255}, {0, 77, 255, 255}, {117, 7, 135, 255},
	}
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			sky := uint8(200 + 55*y/height)
			img.SetNRGBA(x, y, color.NRGBA{sky - 40, sky - 10, 255, 255})
			inwards := 220 - math.Hypot(float64(x-width/2), float64(height-y))
			if i := int(math.Floor(inwards / band)); i >= 0 && i < len(bands) {
				img.SetNRGBA(x, y, bands[i])
			}
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a buffer takes everything
	return b.Bytes()
}
