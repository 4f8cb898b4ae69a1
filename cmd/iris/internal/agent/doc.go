// Package agent is the small agent that `iris dev` brings along. It has no
// model: it knows a few tricks by heart. What is real is its side of the host
// link, which is the one of the hermes plugin: it dials, spools what must not
// be lost, repeats it after a reconnect, and takes every message once. So all
// that a phone can show can be seen without an account anywhere.
package agent
