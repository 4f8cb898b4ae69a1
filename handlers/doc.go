// Package handlers decides what each request does.
//
// Where to look:
//
//	GET /ws                          device_socket.go (opening), device_session.go (one switch over the frame types)
//	  message.send                   messages.go
//	  sync                           sync.go
//	  history                        history.go
//	  search                         search.go; which words find what: package search
//	  message.delete, channel.delete messages_delete.go, channels_delete.go; what must go, and how: package erase
//	  channel.*                      channels.go
//	  picker.select                  pickers.go
//	  agent.stop, agent.steer        agent.go
//	  read.receipt                   reads.go
//	  commands.*                     commands.go
//	  fcm.register                   registrations.go
//	  media.upload.*, binary frames  media_upload.go (what the reader does), media_intake.go (what is stored)
//	  media.pull                     media_pull.go; media_window.go (its pace), media_chunk.go (its frames)
//	  media_refs                     media.go
//	  receipts (pings and pongs)     receipts.go
//	GET /host                        host_socket.go (opening), host_session.go (frames), host_events.go (events → log)
//	  titles, threads, done          host_directory.go
//	  messages that have ended       host_rows.go
//	  host of a removed gateway      host_removed.go
//	  what was deleted meanwhile     host_erased.go
//	  media.put, media.get           host_media.go
//	POST /host/send                  host_send.go
//	/admin/gateways…, /host/devices… admin.go; revoke.go (pairings, revocation, host token)
//	GET /admin/status                status.go
//	DELETE /admin/gateways/{g}       removal.go
//	/admin/gateways/{g}/export…      export.go
//	GET /health, GET /ready          health.go
//	pushes                           push.go; who, when and what: package push
//	traces, of logs and spans        trace.go
//	error → frame, status, close     errors.go, websocket.go
//	sockets, going away              server.go
//	limits of rate                   limits.go
//
// The device protocol itself is in wire, the host link in link, what events
// mean in turn, the log and everything that is shared by sockets in hub.
package handlers
