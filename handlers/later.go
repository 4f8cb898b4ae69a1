package handlers

import (
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// What the gateway does not do yet is refused in so many words, once the
// request is known to have the right form.

// handleMediaUploadStart will take a medium.
func (d *deviceSession) handleMediaUploadStart(req wire.Request) error {
	return notYet[wire.MediaUploadStart](req, "take media")
}

// handleMediaUploadEnd will end the taking of a medium.
func (d *deviceSession) handleMediaUploadEnd(req wire.Request) error {
	return notYet[wire.MediaUploadEnd](req, "take media")
}

// handleMediaPull will give a medium.
func (d *deviceSession) handleMediaPull(req wire.Request) error {
	return notYet[wire.MediaPullRequest](req, "give media")
}

func notYet[P any](req wire.Request, what string) error {
	if _, err := wire.DecodePayload[P](req); err != nil {
		return err
	}
	return iris.Errorf(iris.CodeUnsupported, "%s: this gateway does not %s yet", req.Type, what)
}
