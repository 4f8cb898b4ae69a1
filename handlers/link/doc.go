// Package link is the host link: the JSON frames that a hermes host and the
// gateway exchange over GET /host, and their codec. Events go from the host to
// the gateway, inbound items the other way. Unknown types, kinds and fields
// are ignored on both sides.
package link
