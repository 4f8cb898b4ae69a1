package iris

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"time"
)

// Media is a medium: a picture, voice note, video or file, from a device or
// from the agent. Its bytes never change.
type Media struct {
	ID       string // "md_…", unique in the gateway
	Kind     string // one of the kinds below
	MIME     string // never one that a browser would run
	Size     int64  // bytes
	SHA256   string // lower-case hex
	Filename string // without a path, 255 bytes at most
	Created  time.Time
}

// The kinds of [Media].
const (
	MediaImage     = "image"
	MediaAnimation = "animation"
	MediaVoice     = "voice" // a voice note, other than MediaAudio
	MediaAudio     = "audio"
	MediaVideo     = "video"
	MediaDocument  = "document"
)

// MediaLimits bound what a store takes.
type MediaLimits struct {
	MaxBytes int64 // of one medium
	Quota    int64 // bytes of all media of a gateway together
}

// UploadLifetime is how long a cut upload can be resumed.
const UploadLifetime = 24 * time.Hour

// Upload takes the bytes of a medium that is not complete yet. A store's
// BeginUpload makes it. One goroutine uses it, and ends it with exactly one of
// Finish (without an error), Suspend and Abort. An [Error] of Write or Finish
// says that what comes is not what was announced: Abort then.
type Upload interface {
	// Offset returns how many bytes the store has: a resumed upload goes on there.
	Offset() int64
	// Write takes the next bytes. They are streamed: none is kept in memory.
	io.Writer
	// Finish makes the medium of what has come, once size and hash (hexadecimal)
	// are right, and returns its row: kind, type and name as they are kept.
	Finish(ctx context.Context, sha256 string) (Media, error)
	// Suspend keeps what has come, so that the upload can be resumed by anybody
	// for [UploadLifetime].
	Suspend() error
	// Abort removes what has come. After Finish it does nothing.
	Abort() error
}

// DeviceUpload is the key of an upload that a device names by a media_ref.
func DeviceUpload(deviceID, ref string) string { return uploadKey("device", deviceID, ref) }

// HostUpload is the key of an upload of the host.
func HostUpload(mediaID string) string { return uploadKey("host", mediaID) }

func uploadKey(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p + "\x00"))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
