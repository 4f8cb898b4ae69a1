// Package wire is the device protocol, version 1: the envelope, one struct per
// frame, the codec with its limits, and the close codes. What each frame means
// is told in docs/protocol.md.
package wire
