package rows

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"iris-gateway/iris"
)

// DefaultChannel is the channel that every gateway starts with.
func DefaultChannel() iris.Channel {
	return iris.Channel{Lane: iris.Lane{ChatID: iris.DefaultChat}, Name: "Default", Kind: iris.KindChannel}
}

// Binding is what is to be written when a device uses a token.
type Binding struct {
	Done     bool // everything is as it should be, nothing is to be written
	Token    iris.Token
	Device   iris.Device
	OldToken string // hash of the token that goes, "" for none
}

// Bind decides what becomes of token t and of device d, whose row is old (nil:
// none), when d says hello with t.
func Bind(t iris.Token, d iris.Device, old *iris.Device) (Binding, error) {
	if t.Kind != iris.TokenDevice {
		return Binding{}, iris.Errorf(iris.CodeAuth, "this token is not a device's")
	}
	if t.Device != "" && t.Device != d.ID {
		return Binding{}, iris.Errorf(iris.CodeAuth, "this token belongs to another device")
	}
	b := Binding{Token: Token(t)}
	b.Token.Device = d.ID
	b.Token.Expires = time.Time{}
	if old == nil {
		b.Device = Device(d)
		b.Device.Token = t.Hash
		return b, nil
	}
	b.Done = old.Token == t.Hash && t.Device == d.ID && t.Expires.IsZero()
	b.Device = *old
	b.Device.Token = t.Hash
	b.Device.Name = cmp.Or(d.Name, old.Name)
	if !d.Seen.IsZero() {
		b.Device.Seen = Time(d.Seen)
	}
	if old.Token != t.Hash {
		b.OldToken = old.Token
	}
	return b, nil
}

// RemovedHost is what becomes of the token of a host whose gateway is removed:
// with it the host comes to hear of that.
func RemovedHost(r iris.Removal, hash string) iris.Token {
	return Token(iris.Token{
		Hash: hash, Kind: iris.TokenRemoved, Gateway: r.Gateway, Created: r.At, Expires: r.At.Add(iris.OrderLifetime),
	})
}

// CompareGateways sorts gateways, oldest first.
func CompareGateways(a, b iris.Gateway) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
}

// CompareRemovals sorts removals, oldest first.
func CompareRemovals(a, b iris.Removal) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Gateway, b.Gateway))
}

// CompareDevices sorts devices, oldest first.
func CompareDevices(a, b iris.Device) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
}

// CompareChannels sorts channels by chat, then thread.
func CompareChannels(a, b iris.Channel) int {
	return cmp.Or(strings.Compare(a.Lane.ChatID, b.Lane.ChatID), strings.Compare(a.Lane.ThreadID, b.Lane.ThreadID))
}

// ComparePickers sorts pickers, oldest first.
func ComparePickers(a, b iris.Picker) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
}

// CompareTokens sorts tokens, oldest first.
func CompareTokens(a, b iris.Token) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Hash, b.Hash))
}

// CompareDeletions sorts deletions, oldest first.
func CompareDeletions(a, b iris.Deletion) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
}

// IsPairing reports whether a token is one of gateway g that no device has used.
func IsPairing(t iris.Token, g string) bool {
	return t.Kind == iris.TokenDevice && t.Gateway == g && t.Device == ""
}

// IsHash reports whether an id from outside can be the hash of a token: it is
// used as a document id as it is.
func IsHash(id string) bool {
	raw, err := hex.DecodeString(id)
	return err == nil && len(raw) == sha256.Size && strings.ToLower(id) == id
}
