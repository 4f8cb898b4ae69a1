package link

import (
	"cmp"
	"encoding/hex"
	"fmt"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Types of the frames that move media (host-link.md, "Media"). Binary frames belong
// to the put or the get that is under way in their direction.
const (
	TypeMediaPut      = "media.put"
	TypeMediaPutReady = "media.put.ready"
	TypeMediaPutEnd   = "media.put.end"
	TypeMediaPutAck   = "media.put.ack"
	TypeMediaGet      = "media.get"
	TypeMediaGetStart = "media.get.start"
	TypeMediaGetEnd   = "media.get.end"
)

// Frames from the host.
type (
	// MediaPut announces the bytes of a medium of the agent: binary frames, then
	// MediaPutEnd. With Resume the host waits for MediaPutReady, to go on where an
	// earlier put of the same medium was cut; without it begins with the first byte.
	MediaPut struct {
		MediaID  string `json:"media_id"`
		Kind     string `json:"kind"`
		Mime     string `json:"mime"`
		Size     int64  `json:"size"` // bytes
		Filename string `json:"filename"`
		SHA256   string `json:"sha256"` // hexadecimal
		Resume   bool   `json:"resume,omitempty"`
	}

	// MediaPutEnd ends the bytes of a put.
	MediaPutEnd struct {
		MediaID string `json:"media_id"`
	}

	// MediaGet asks for the bytes of a medium from Offset on.
	MediaGet struct {
		MediaID string `json:"media_id"`
		Offset  int64  `json:"offset"`
	}
)

// Frames from the gateway.
type (
	// MediaPutReady says with which byte a put goes on.
	MediaPutReady struct {
		MediaID string `json:"media_id"`
		Offset  int64  `json:"offset"`
	}

	// MediaPutAck ends a put, maybe before its last byte: the gateway has the
	// medium, or will not take it. The host sends no more of it.
	MediaPutAck struct {
		MediaID string    `json:"media_id"`
		OK      bool      `json:"ok"`
		Code    iris.Code `json:"code,omitempty"`
		Message string    `json:"message,omitempty"`
	}

	// MediaGetStart announces the bytes of a get.
	MediaGetStart struct {
		MediaID string `json:"media_id"`
		Size    int64  `json:"size"` // bytes of the whole medium
		Mime    string `json:"mime"`
		SHA256  string `json:"sha256"` // hexadecimal, of the whole medium
	}

	// MediaGetEnd ends a get; one that is not ok may lack its MediaGetStart.
	MediaGetEnd struct {
		MediaID string    `json:"media_id"`
		OK      bool      `json:"ok"`
		Code    iris.Code `json:"code,omitempty"`
		Message string    `json:"message,omitempty"`
	}
)

// Validate checks the announcement of a medium. Whether the size is allowed is
// the gateway's setting.
func (m *MediaPut) Validate() error {
	return cmp.Or(
		need("media_id", m.MediaID), wire.CheckID("kind", m.Kind), wire.CheckID("mime", m.Mime),
		notNegative("size", m.Size), checkFilename(m.Filename), checkHash(m.SHA256),
	)
}

// Validate checks which put has ended.
func (m *MediaPutEnd) Validate() error { return need("media_id", m.MediaID) }

// Validate checks which bytes are wanted.
func (m *MediaGet) Validate() error {
	return cmp.Or(need("media_id", m.MediaID), notNegative("offset", m.Offset))
}

func (b *Media) validate() (bool, error) {
	return true, cmp.Or(
		need("message_id", b.MessageID), need("media_id", b.MediaID), wire.CheckID("reply_to", b.ReplyTo),
		wire.CheckID("kind", b.Kind), wire.CheckID("mime", b.Mime), notNegative("size", b.Size),
		checkFilename(b.Filename), checkHash(b.SHA256),
	)
}

func checkFilename(name string) error {
	if len(name) > wire.MaxFilename {
		return fmt.Errorf("filename has %d bytes, the limit is %d", len(name), wire.MaxFilename)
	}
	return nil
}

// checkHash checks a SHA-256 in hexadecimal.
func checkHash(hash string) error {
	if b, err := hex.DecodeString(hash); err != nil || len(b) != 32 {
		return fmt.Errorf("sha256 is not 64 hexadecimal digits")
	}
	return nil
}
