package handlers

import (
	"context"
	"io"
	"sync/atomic"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// uploads is what the reader of a device's socket knows of its uploads, one at a
// time. The [intake] stores their bytes.
type uploads struct {
	running *announced // the upload whose binary frames come now, nil for none
	swallow bool       // binary frames of an upload that failed may come, until its end
	intake  *intake    // nil before the first upload
}

// announced is an upload that a device has begun. The [intake] is behind the
// reader, and tells it here what has become of it.
type announced struct {
	ref    string
	failed atomic.Bool // and the device knows: it need not send the end
}

// handleMediaUploadStart begins an upload. It is answered if it fails, or with
// resume. A second one while the first runs ends both; one that has failed runs
// no more.
func (d *deviceSession) handleMediaUploadStart(ctx context.Context, req wire.Request) error {
	u := &d.uploads
	running := u.running
	u.fail()
	p, err := wire.DecodePayload[wire.MediaUploadStart](req)
	switch {
	case d.server.cfg.Media == nil:
		return errNoMedia
	case running != nil && !running.failed.Load():
		u.intake.put(ctx, intakeStep{void: true})
		return iris.Errorf(iris.CodeUnsupported, "the upload of %q has not ended: neither it nor this one will be done, begin anew", printable(running.ref))
	case err != nil:
		return err
	}
	if u.intake == nil {
		u.intake = newIntake(d)
		d.wait.Go(func() { u.intake.run(ctx) })
	}
	u.running, u.swallow = &announced{ref: p.MediaRef}, false
	u.intake.put(ctx, intakeStep{req: req, start: &p, of: u.running})
	return nil
}

// handleMediaUploadEnd ends an upload: the answer is media.upload.ack. The end of
// one that has failed before stays unanswered.
func (d *deviceSession) handleMediaUploadEnd(ctx context.Context, req wire.Request) error {
	u := &d.uploads
	running, swallow := u.running, u.swallow
	u.running, u.swallow = nil, false
	p, err := wire.DecodePayload[wire.MediaUploadEnd](req)
	switch {
	case running == nil && swallow:
		return nil
	case err == nil && running == nil:
		return iris.Errorf(iris.CodeUnsupported, "no upload is running: media.upload.start comes first")
	case err == nil && running.ref != p.MediaRef:
		err = iris.Errorf(iris.CodeUnsupported, "media_ref is %q, but the upload that runs is that of %q: it will not be done", printable(p.MediaRef), printable(running.ref))
	}
	if err != nil && running != nil {
		u.intake.put(ctx, intakeStep{void: true})
	}
	if err == nil {
		u.intake.put(ctx, intakeStep{req: req, end: &p})
	}
	return err
}

// fail notes that what comes from now on belongs to no upload, although it may
// look so to the device.
func (u *uploads) fail() { u.running, u.swallow = nil, true }

// readBinary takes a binary frame, chunk by chunk.
func (d *deviceSession) readBinary(ctx context.Context, r io.Reader) error {
	u := &d.uploads
	if u.running == nil {
		if !u.swallow {
			u.fail() // one error is enough
			d.reply(nil, iris.Errorf(iris.CodeUnsupported, "binary frame without media.upload.start"))
		}
		_, err := io.Copy(io.Discard, r)
		return err
	}
	for {
		c := newChunk()
		more, err := c.fill(r)
		if err != nil || c.n == 0 {
			c.free()
			return err
		}
		u.intake.put(ctx, intakeStep{chunk: c})
		if !more {
			return nil
		}
	}
}
