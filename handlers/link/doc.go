// Package link is the host link: the JSON frames that a hermes host and the
// gateway exchange over GET /host, and their codec. Events go from the host to
// the gateway, inbound items the other way. Unknown types, kinds and fields
// are ignored on both sides; what is known is read strictly, see package
// wire/exact. What each frame means is told in
// docs/design/host-link.md.
package link
