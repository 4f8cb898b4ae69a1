package handlers

import (
	"context"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// handleFCMRegister keeps how the device is woken (protocol: fcm.register).
func (d *deviceSession) handleFCMRegister(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.FCMRegister](req)
	if err != nil {
		return err
	}
	return d.submit(ctx, req, hub.Proposal{
		Decide: func(s *hub.State) (hub.Draft, error) { return register(s, d.device.ID, p.FCMToken, p.NtfyTopic) },
		Done:   func(*hub.Actor, hub.Result) { d.answerIfAsked(req, wire.Ack{OK: true}) },
	}, nil)
}

// register decides about a registration. Of two devices with one registration
// token the newest keeps it: a phone that was set up anew has another id.
func register(s *hub.State, device string, fcmToken, ntfyTopic *string) (hub.Draft, error) {
	if !s.Device(device) {
		return hub.Draft{}, iris.Errorf(iris.CodeAuth, "the device has been revoked: pair again")
	}
	draft := hub.Draft{Changes: []iris.Change{iris.SetPush{Device: device, FCMToken: fcmToken, NtfyTopic: ntfyTopic}}}
	if ntfyTopic != nil {
		draft.Control = append(draft.Control, iris.Control{Kind: iris.PushTopic, Device: device, Push: registrationHash(*ntfyTopic)})
	}
	if fcmToken == nil {
		return draft, nil
	}
	hash, none := registrationHash(*fcmToken), ""
	for _, other := range s.Registered(hash) {
		if other != device {
			draft.Changes = append(draft.Changes, iris.SetPush{Device: other, FCMToken: &none})
		}
	}
	draft.Control = append(draft.Control, iris.Control{Kind: iris.PushRegistered, Device: device, Push: hash})
	return draft, nil
}

// registrationHash is what the log tells of a registration token or topic.
func registrationHash(value string) string {
	if value == "" {
		return ""
	}
	return iris.HashToken(value)
}

// registerAtHello keeps what a hello says of push, if it is news. It goes into
// the log together with the attachment.
func (d *deviceSession) registerAtHello(a *hub.Actor, hello wire.Hello) {
	var fcmToken, ntfyTopic *string
	if hello.FCMToken != "" && hello.FCMToken != d.device.FCMToken {
		fcmToken = &hello.FCMToken
	}
	if hello.NtfyTopic != "" && hello.NtfyTopic != d.device.NtfyTopic {
		ntfyTopic = &hello.NtfyTopic
	}
	if fcmToken == nil && ntfyTopic == nil {
		return
	}
	a.Propose(hub.Proposal{
		Decide: func(s *hub.State) (hub.Draft, error) { return register(s, d.device.ID, fcmToken, ntfyTopic) },
		Done: func(_ *hub.Actor, r hub.Result) {
			if r.Err != nil {
				d.log.Warn("push registration of hello", "err", r.Err)
			}
		},
	})
}

// pushKind says how a device is woken, as operators see it.
func pushKind(dev iris.Device) string {
	switch {
	case dev.FCMToken != "":
		return "fcm"
	case dev.NtfyTopic != "":
		return "ntfy"
	default:
		return "none"
	}
}
