// Package e2e runs Iris as a person does: the real gateway binary on the Firestore
// emulator, a real hermes with the plugin, and phones that know nothing but the
// wire protocol. Nothing here imports the gateway's own packages, so a mistake in
// its codec cannot hide itself.
//
// The helpers are here, the tests in package e2e_test. Every wait is for an event
// and has a deadline; a missed one says what was awaited and what came instead.
// The only model is e2e/model, whose answers the tests let go piece by piece.
package e2e
