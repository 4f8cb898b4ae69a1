// Package wire is the device protocol, version 1: the envelope, one struct per
// frame, the codec with its limits, and the close codes. What each frame means
// is told in docs/protocol.md; "protocol: X" names its section, or frame, X.
//
// What comes in is read strictly, see package exact: names of fields are exact,
// a known field appears once, errors name a field and never what it held. What
// goes out is compact, and always begins with "v" and "type".
package wire
