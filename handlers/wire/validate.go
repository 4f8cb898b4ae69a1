package wire

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"iris-gateway/iris"
)

// The Validate methods say whether a request that has the right form makes
// sense, before anybody looks for what it names. They fill in what the protocol
// leaves open. DecodePayload calls them.

// Validate checks a hello (protocol: Opening): a token, and a device_id of
// 1–128 bytes. It cleans the device's name.
func (h *Hello) Validate() error {
	if h.Token == "" {
		return iris.Errorf(iris.CodeAuth, "token is missing: pair the device first")
	}
	if h.DeviceID == "" {
		return iris.Errorf(iris.CodeUnsupported, "device_id is missing")
	}
	h.DeviceName = CleanName(h.DeviceName)
	if r := []rune(h.DeviceName); len(r) > MaxDeviceName {
		h.DeviceName = string(r[:MaxDeviceName]) // a device does not fail to pair for its name
	}
	if err := check("device_id", h.DeviceID, MaxDeviceID); err != nil {
		return err
	}
	return checkPush(h.FCMToken, h.NtfyTopic)
}

// Validate checks what a person wants to say (protocol: One answer per request,
// Rules): some text or media, text of 64 KiB at most, ids in their limits.
func (m *MessageSend) Validate() error {
	switch n := utf8.RuneCountInString(m.ClientID); {
	case len(m.Text) > MaxMessageText:
		return iris.Errorf(iris.CodeUnsupported, "text has %d bytes, the limit is %d (64 KiB)", len(m.Text), MaxMessageText)
	case strings.TrimSpace(m.Text) == "" && len(m.MediaRefs) == 0:
		return iris.Errorf(iris.CodeUnsupported, "text is empty, and there are no media_refs: nothing to send")
	case n > MaxClientID:
		return iris.Errorf(iris.CodeUnsupported, "client_id has %d characters, the limit is %d", n, MaxClientID)
	}
	for _, ref := range m.MediaRefs {
		if ref == "" {
			return iris.Errorf(iris.CodeUnsupported, "media_refs has an empty item")
		}
		if err := CheckID("an item of media_refs", ref); err != nil {
			return err
		}
	}
	if err := check("client_id", m.ClientID, utf8.UTFMax*MaxClientID); err != nil {
		return err
	}
	return CheckID("reply_to", m.ReplyTo)
}

// Validate checks where a replay is to start (protocol: One answer per request).
func (s *Sync) Validate() error {
	if s.Cursor != nil && *s.Cursor < 0 {
		return iris.Errorf(iris.CodeUnsupported, "cursor is %d, the first one is 0", *s.Cursor)
	}
	return nil
}

// Validate checks which page is wanted (protocol: history), and sets the
// default length of a page.
func (h *HistoryRequest) Validate() error {
	if h.Limit == 0 {
		h.Limit = DefaultHistory
	}
	if h.Limit < 1 || h.Limit > MaxHistory {
		return iris.Errorf(iris.CodeUnsupported, "limit is %d, it may be 1 to %d", h.Limit, MaxHistory)
	}
	return CheckID("before_message_id", h.BeforeMessageID)
}

// CleanName returns a name without control characters other than tab and
// newline, as valid UTF-8 (protocol: Rules).
func CleanName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
}

// CheckID checks the form of an id that a device or host names: MaxID bytes at
// most. Ids are opaque, but control characters would let two lanes have one
// [iris.Lane.Key]. An empty id is fine.
func CheckID(field, id string) error { return check(field, id, MaxID) }

func check(field, value string, limit int) error {
	if err := checkLength(field, value, limit); err != nil {
		return err
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return iris.Errorf(iris.CodeUnsupported, "%s contains a control character", field)
	}
	return nil
}

func checkLength(field, value string, limit int) error {
	if len(value) > limit {
		return iris.Errorf(iris.CodeUnsupported, "%s has %d bytes, the limit is %d", field, len(value), limit)
	}
	return nil
}
