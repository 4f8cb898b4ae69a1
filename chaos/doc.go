// Package chaos proves what log.md promises over real processes: two and three
// gateways on one Firestore emulator, killed, frozen and cut off at random,
// with proxies in front of and behind each that cut, delay, hold back and
// swallow what passes. A simulated hermes host and devices keep records of what
// they sent, what was acknowledged and what they received; in the end an oracle
// compares them with the log, which it has followed without a proxy.
//
// All of it is tests. A seed draws every random number, but processes and
// sockets take the time they take: a replay (-chaos.seed) does the same things
// in about the same order, not the same run.
//
//	proxy_test.go     the network that fails
//	instance_test.go  gateway processes
//	socket_test.go    dialling through a proxy
//	phone_test.go     a device; visit_test.go is one connection of it
//	host_test.go      a host with its spool; turn_test.go is what its agent does
//	torment_test.go   who does what to an instance, and when
//	observer_test.go  the log as it was written, entries that the ring dropped too
//	oracle_*_test.go  what must be true of it
//	numbers_test.go   what the processes counted of themselves
//	chaos_test.go     the runs
//	frozen_test.go    a hello that comes while the instance gets no turn
//	stale_test.go     a commit that comes late
//	drain_test.go     the end of an instance in traffic; deploy_test.go a new revision that
//	                  takes over, with upload_test.go and a push in the middle
package chaos
