// Package push decides who is woken, when, and by what (log.md, "Push";
// protocol.md, "Push registration").
//
//	push.go   what the hub tells: entries written here or elsewhere, gateways opened
//	thing.go  what of an entry pushes, and what the push says
//	queue.go  the pushes that wait for one device: order, pace, the newest wins
//	send.go   one push: looked at right before the call, retried, noted
//	ntfy.go   the service for devices without FCM
//
// Each device with something pending has one queue and one goroutine, which
// ends when nothing is pending. All fields of queues are guarded by Pusher.mu;
// nothing is called, read or written while it is held.
package push
