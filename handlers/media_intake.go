package handlers

import (
	"context"
	"errors"
	"fmt"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// maxIntake is how many steps may wait: chunks of 64 KiB, mostly. A store that
// hesitates for a moment does not hold the socket's reader up, one that is slow
// does: by one chunk at a time.
const maxIntake = 4

// intake stores what a device uploads. Its steps are done by one goroutine, in
// the order in which they were put.
type intake struct {
	session *deviceSession
	steps   chan intakeStep

	// Of the upload that is under way. They belong to the goroutine.
	upload  iris.Upload // nil: none, or it has failed
	of      *announced
	resumes bool           // it may be cut and goes on later
	asked   wire.RequestID // of its start, unless that was answered
}

// intakeStep is one of: start, chunk, end, void.
type intakeStep struct {
	req   wire.Request // of start and end
	start *wire.MediaUploadStart
	of    *announced // by start
	chunk *chunk
	end   *wire.MediaUploadEnd
	void  bool // the upload under way is given up
}

func newIntake(d *deviceSession) *intake {
	return &intake{session: d, steps: make(chan intakeStep, maxIntake)}
}

// put hands a step over. When ctx ends before, nobody needs it any more.
func (in *intake) put(ctx context.Context, s intakeStep) {
	select {
	case in.steps <- s:
	case <-ctx.Done():
	}
}

// run does the steps until ctx ends. What is under way then is cut: with resume
// it is kept.
func (in *intake) run(ctx context.Context) {
	for {
		select {
		case s := <-in.steps:
			in.do(ctx, s)
		case <-ctx.Done():
			in.cut()
			return
		}
	}
}

func (in *intake) do(ctx context.Context, s intakeStep) {
	switch {
	case s.start != nil:
		in.begin(ctx, s.req, *s.start, s.of)
	case s.chunk != nil:
		in.write(s.chunk)
	case s.end != nil:
		in.finish(ctx, s.req, *s.end)
	case s.void:
		in.abort()
	}
}

// begin begins an upload, or goes on with one.
func (in *intake) begin(ctx context.Context, req wire.Request, start wire.MediaUploadStart, of *announced) {
	in.abort() // one that was refused in its middle
	in.of, in.resumes, in.asked = of, start.Resume, req.ID
	d := in.session
	m := iris.Media{Kind: start.Kind, MIME: start.Mime, Size: start.Size, Filename: start.Filename}
	up, err := d.server.cfg.Media.BeginUpload(ctx, d.gateway.ID, iris.DeviceUpload(d.device.ID, start.MediaRef), m, start.Resume)
	if err != nil {
		in.failed(req.ID, err)
		return
	}
	in.upload = up
	if start.Resume {
		d.answer(req, iris.Lane{}, wire.MediaUploadReady{MediaRef: start.MediaRef, Offset: up.Offset()})
		in.asked = nil
	}
}

// write stores a chunk.
func (in *intake) write(c *chunk) {
	defer c.free()
	if in.upload == nil {
		return
	}
	if _, err := in.upload.Write(c.bytes()); err != nil {
		in.broken(err)
		in.failed(in.asked, err)
	}
}

// failed tells the device that its upload has failed, as the answer to id. It
// may begin another one as soon as it hears of that.
func (in *intake) failed(id wire.RequestID, err error) {
	in.of.failed.Store(true)
	in.session.reply(id, ofUpload(in.of.ref, err))
}

// finish makes a medium of what came, and answers.
func (in *intake) finish(ctx context.Context, req wire.Request, end wire.MediaUploadEnd) {
	if in.upload == nil {
		return // it has failed, and the device was told
	}
	m, err := in.upload.Finish(ctx, end.SHA256)
	if err != nil {
		in.broken(err)
		in.failed(req.ID, err)
		return
	}
	in.upload = nil
	in.session.log.Info("medium stored", "media", m.ID, "mime", m.MIME, "bytes", m.Size)
	in.session.answer(req, iris.Lane{}, wire.MediaUploadAck{OK: true, MediaRef: end.MediaRef})
}

// ofUpload says which upload an error is about.
func ofUpload(ref string, err error) error {
	var e *iris.Error
	if errors.As(err, &e) {
		return iris.Errorf(e.Code, "upload of %q: %s", printable(ref), e.Message)
	}
	return fmt.Errorf("upload of %q: %w", printable(ref), err)
}

// broken ends an upload that failed. What the device is to blame for can never
// become right; else the parts that are stored may be of use.
func (in *intake) broken(err error) {
	var e *iris.Error
	if errors.As(err, &e) {
		in.abort()
		return
	}
	in.cut()
}

// cut ends an upload that may go on later, if it was said so.
func (in *intake) cut() {
	if !in.resumes {
		in.abort()
		return
	}
	in.end(iris.Upload.Suspend)
}

func (in *intake) abort() { in.end(iris.Upload.Abort) }

func (in *intake) end(how func(iris.Upload) error) {
	if in.upload == nil {
		return
	}
	if err := how(in.upload); err != nil {
		in.session.log.Warn("upload could not be put away", "err", err)
	}
	in.upload = nil
}
