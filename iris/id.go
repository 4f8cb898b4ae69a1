package iris

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// NewID returns a fresh random id that begins with prefix, such as "m_".
func NewID(prefix string) string { return prefix + rand.Text() }

// ClientMessageID is the id of a message that a device names by a client id:
// the same pair gives the same id, so that the message lands once.
func ClientMessageID(deviceID, clientID string) string {
	sum := sha256.Sum256([]byte(deviceID + "\x00" + clientID))
	return "m_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// NewToken returns a bearer token: 32 random bytes, base64url.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// HashToken returns what is kept of a bearer token.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
