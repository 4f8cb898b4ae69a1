package wire

import (
	"cmp"

	"iris-gateway/iris"
)

// Requests that move media (protocol: Media).
const (
	TypeMediaUploadStart = "media.upload.start"
	TypeMediaUploadEnd   = "media.upload.end"
	TypeMediaPull        = "media.pull"
)

// Payloads of the requests that move media.
type (
	// MediaUploadStart announces binary frames.
	MediaUploadStart struct {
		MediaRef string `json:"media_ref" jsonschema:"required"` // chosen by the device
		Kind     string `json:"kind"`
		Mime     string `json:"mime"`
		Size     int64  `json:"size"` // bytes
		Filename string `json:"filename"`
		Resume   bool   `json:"resume,omitempty"` // go on where a cut upload stopped
	}

	// MediaUploadEnd ends the binary frames.
	MediaUploadEnd struct {
		MediaRef string `json:"media_ref" jsonschema:"required"`
		SHA256   string `json:"sha256"` // hexadecimal
	}

	// MediaPullRequest asks for the bytes of a medium, or a part of them.
	MediaPullRequest struct {
		MediaID string `json:"media_id" jsonschema:"required"`
		Offset  int64  `json:"offset,omitempty"`
		Length  int64  `json:"length,omitempty"` // 0 = to the end
	}
)

// Frames that move media.
type (
	// MediaOffer tells of a medium of the agent.
	MediaOffer struct {
		MediaID  string `json:"media_id"`
		Kind     string `json:"kind"`
		Mime     string `json:"mime"`
		Size     int64  `json:"size"` // bytes
		Filename string `json:"filename"`
	}

	// MediaUploadReady says where an upload with resume goes on.
	MediaUploadReady struct {
		MediaRef string `json:"media_ref"`
		Offset   int64  `json:"offset"`
	}

	// MediaUploadAck says that an upload can be used in message.send.
	MediaUploadAck struct {
		OK       bool   `json:"ok"`
		MediaRef string `json:"media_ref"`
	}

	// MediaPull announces binary frames.
	MediaPull struct {
		MediaID  string `json:"media_id"`
		Kind     string `json:"kind"`
		Mime     string `json:"mime"`
		Size     int64  `json:"size"` // of the whole medium
		Filename string `json:"filename"`
		SHA256   string `json:"sha256"`
		Offset   int64  `json:"offset"`
	}

	// MediaPullEnd ends the binary frames.
	MediaPullEnd struct {
		OK bool `json:"ok"`
	}
)

// FrameType implements [Payload].
func (MediaOffer) FrameType() string       { return "media.offer" }
func (MediaUploadReady) FrameType() string { return "media.upload.ready" }
func (MediaUploadAck) FrameType() string   { return "media.upload.ack" }
func (MediaPull) FrameType() string        { return "media.pull" }
func (MediaPullEnd) FrameType() string     { return "media.pull.end" }

// Validate checks an announcement. Whether the size is allowed is the gateway's
// setting.
func (m *MediaUploadStart) Validate() error {
	if m.MediaRef == "" {
		return iris.Errorf(iris.CodeUnsupported, "media_ref is missing")
	}
	if m.Size < 0 {
		return iris.Errorf(iris.CodeUnsupported, "size is %d bytes", m.Size)
	}
	m.Filename = CleanName(m.Filename)
	return cmp.Or(
		CheckID("media_ref", m.MediaRef), CheckID("kind", m.Kind), CheckID("mime", m.Mime),
		checkLength("filename", m.Filename, MaxUploadName),
	)
}

// Validate checks the end of an upload.
func (m *MediaUploadEnd) Validate() error {
	if m.MediaRef == "" {
		return iris.Errorf(iris.CodeUnsupported, "media_ref is missing")
	}
	if err := CheckID("sha256", m.SHA256); err != nil {
		return err
	}
	return CheckID("media_ref", m.MediaRef)
}

// Validate checks which bytes are wanted.
func (m *MediaPullRequest) Validate() error {
	switch {
	case m.MediaID == "":
		return iris.Errorf(iris.CodeUnsupported, "media_id is missing")
	case m.Offset < 0 || m.Length < 0:
		return iris.Errorf(iris.CodeUnsupported, "offset is %d and length is %d, neither may be negative", m.Offset, m.Length)
	}
	return CheckID("media_id", m.MediaID)
}
