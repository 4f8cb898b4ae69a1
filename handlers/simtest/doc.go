// Package simtest proves what the log promises (log.md, "What must be
// provable"): it runs whole histories of gateways, devices and hosts in one
// bubble with fake time, and checks what each of them saw against the log.
//
// It holds tests only:
//
//	net_test.go        connections in memory: latency, cuts, silence, slow readers
//	store_test.go      memstore with the faults of a real database, and what it wrote
//	instance_test.go   gateway instances: start, crash, freeze, drain
//	logged_test.go     what the instances log, which may show no token and no text
//	device_test.go     a device and its connections; device_check_test.go: what they may see
//	host_test.go       a host: spool, disk, turns; host_script_test.go: what it does
//	log_test.go        the log as it was written, and its invariants
//	plan_test.go       what happens in a history, drawn by rapid
//	sim_test.go        runs a plan: TestSimulation, and the replay of a failed one
//	found_test.go      histories that failed once
//	mutants_test.go    each rule of log.md taken out of the source: a test must fail, one
//	                   of these histories or a directed one (handlers/held_test.go, stale_test.go)
//
// A history is a plan of steps. Its faults are thrown by dice whose seed is
// part of the plan; what stays open is how the scheduler orders goroutines that
// are ready at the same instant. So a failing plan is printed, and replayed as
// often as -sim.repeat says.
package simtest
