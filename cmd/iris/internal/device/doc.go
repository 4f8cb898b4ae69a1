// Package device is a client of the device protocol, as a phone has one: it
// dials, says hello, catches up by cursor, and sends messages so that none is
// lost or doubled, whatever happens to the connection.
package device
