// Package handlers decides what each request does.
//
// Where to look:
//
//	GET /ws                          device_socket.go (opening), device_session.go (one switch over the frame types)
//	  message.send                   messages.go
//	  sync                           sync.go
//	  history                        history.go
//	  receipts (pings and pongs)     receipts.go
//	GET /host                        host_socket.go (opening), host_session.go (frames), host_events.go (events → log)
//	/admin/gateways…                 admin.go
//	GET /health, GET /ready          health.go
//	error → frame, status, close     errors.go, websocket.go
//	sockets, limits, going away      server.go
//
// The device protocol itself is in wire, the host link in link, what events
// mean in turn, the log and everything that is shared by sockets in hub.
package handlers
