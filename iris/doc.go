// Package iris holds the nouns of Iris: gateways, hosts, devices, channels,
// messages and the entries of the outbox log. It imports only the standard
// library; everything else may import it, and it imports nobody.
package iris
