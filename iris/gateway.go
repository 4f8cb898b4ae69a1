package iris

import "time"

// Gateway is one owner's Iris: a host, its devices, and their log.
type Gateway struct {
	ID          string
	Name        string
	DefaultChat string
	HostToken   string // SHA-256 of the host's token
	Host        Host
	Created     time.Time
}

// Host is what the gateway last heard of the machine that runs hermes.
type Host struct {
	Link     Link
	Version  string // of the agent, "" before its first hello
	Model    string
	Commands []byte // JSON array: the command catalogue of the last hello
	Seen     time.Time
}

// Link names one connection of a device or host. The newest link of each wins.
// The zero Link means "not connected".
type Link struct {
	ID       string    // random, made for each connection
	Instance string    // writer id of the gateway instance that holds the socket
	At       time.Time // when it was attached
}

// LinkLifetime bounds how long a link can be alive: the gateway closes each
// socket before it is that old, so an older link is dead without a heartbeat.
const LinkLifetime = time.Hour

// Alive reports whether a connection may exist behind the link at time now.
func (l Link) Alive(now time.Time) bool {
	return l.ID != "" && now.Sub(l.At) < LinkLifetime
}

// Device is a paired phone or browser.
type Device struct {
	ID         string
	Name       string
	Token      string // SHA-256 of its token
	Cursor     int64  // everything up to here was received
	LastPushed int64  // highest cursor that reached the device by push
	Link       Link
	FCMToken   string
	NtfyTopic  string
	Push       PushState
	Seen       time.Time
	Created    time.Time
}

// TokenKind says who may use a token.
type TokenKind string

// The kinds of token.
const (
	TokenHost   TokenKind = "host"
	TokenDevice TokenKind = "device"
	// TokenRemoved was the host's of a gateway that has been removed. Whoever
	// comes with it is told to erase what it has of that gateway, and nothing else.
	TokenRemoved TokenKind = "removed"
)

// Token is what is kept of a bearer token: its hash, never the token.
type Token struct {
	Hash    string // lower-case hex SHA-256
	Kind    TokenKind
	Gateway string
	Device  string    // device id it is bound to; "" until a device used it
	Name    string    // name given when the pairing was made
	Expires time.Time // end of an unused pairing, or of one of a removed gateway; else zero
	Created time.Time
}

// The changes of devices and tokens.
type (
	// SetPush registers a device for push. Nil leaves what there is, "" removes
	// it; a new registration forgets what became of older pushes. The commit is
	// refused if the device is gone.
	SetPush struct {
		Device    string
		FCMToken  *string
		NtfyTopic *string
	}
	// DropDevice removes a device's row. The commit is refused if it is gone.
	DropDevice struct{ Device string }
	// AddToken adds a token; the commit is refused if its hash is taken.
	AddToken struct{ Token Token }
	// DropToken removes a token. The commit is refused if it is gone: of two
	// that replace it at once, one does.
	DropToken struct{ Hash string }
	// SetHostToken says which token the host has.
	SetHostToken struct{ Hash string }
)

func (SetPush) change()      {}
func (DropDevice) change()   {}
func (AddToken) change()     {}
func (DropToken) change()    {}
func (SetHostToken) change() {}
