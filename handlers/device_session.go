package handlers

import (
	"context"
	"errors"
	"io"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// maxMalformed is how many malformed frames a device may send.
const maxMalformed = 20

// readFrames reads requests until the connection ends.
func (d *deviceSession) readFrames(ctx context.Context) error {
	for {
		binary, r, err := d.ws.reader(ctx)
		if err != nil {
			return err
		}
		if binary {
			if err := d.readBinary(ctx, r); err != nil {
				return err
			}
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		over := d.limits.frame()
		req, err := wire.Decode(data)
		if (over != nil || err != nil) && req.Type == wire.TypeMediaUploadStart {
			d.uploads.fail()
		}
		switch {
		case errors.Is(err, wire.ErrMalformed):
			if d.malformed++; d.malformed >= maxMalformed {
				return &wire.CloseError{Code: wire.CloseMalformed, Err: iris.Errorf(iris.CodeUnsupported, "%d malformed frames", d.malformed)}
			}
			d.reply(nil, err)
		case over != nil:
			d.reply(req.ID, over)
		case err != nil:
			d.reply(req.ID, err)
		case req.Version != wire.Version:
			err := otherVersion(req)
			d.reply(req.ID, err) // its one answer also says why the connection ends
			d.socket.Close(wire.CloseProtocol, err.Error())
			return err
		default:
			if err := d.handle(ctx, req); err != nil {
				d.reply(req.ID, err)
			}
		}
	}
}

// handle does what a request asks for. The error is the request's answer.
func (d *deviceSession) handle(ctx context.Context, req wire.Request) error {
	switch req.Type {
	case wire.TypeMessageSend:
		return d.handleMessageSend(ctx, req)
	case wire.TypeSync:
		return d.handleSync(req)
	case wire.TypeHistory:
		return d.handleHistory(ctx, req)
	case wire.TypeSearch:
		return d.handleSearch(ctx, req)
	case wire.TypeChannelCreate:
		return d.handleChannelCreate(ctx, req)
	case wire.TypeChannelRename:
		return d.handleChannelRename(ctx, req)
	case wire.TypeChannelSetDefault:
		return d.handleChannelSetDefault(ctx, req)
	case wire.TypePickerSelect:
		return d.handlePickerSelect(ctx, req)
	case wire.TypeAgentStop:
		return d.handleAgentStop(ctx, req)
	case wire.TypeAgentSteer:
		return d.handleAgentSteer(ctx, req)
	case wire.TypeReadReceipt:
		return d.handleReadReceipt(ctx, req)
	case wire.TypeCommandsCatalog:
		return d.handleCommandsCatalog(ctx, req)
	case wire.TypeCommandsComplete:
		return d.handleCommandsComplete(ctx, req)
	case wire.TypeFCMRegister:
		return d.handleFCMRegister(ctx, req)
	case wire.TypePing:
		return d.handlePing(req)
	case wire.TypeHello:
		return iris.Errorf(iris.CodeUnsupported, "hello was said already")
	default:
		return d.handleMore(ctx, req)
	}
}

// handleMore does the rest of the switch: what deletes, media, and what is not
// known.
func (d *deviceSession) handleMore(ctx context.Context, req wire.Request) error {
	switch req.Type {
	case wire.TypeMessageDelete:
		return d.handleMessageDelete(ctx, req)
	case wire.TypeChannelDelete:
		return d.handleChannelDelete(ctx, req)
	case wire.TypeMediaUploadStart:
		return d.handleMediaUploadStart(ctx, req)
	case wire.TypeMediaUploadEnd:
		return d.handleMediaUploadEnd(ctx, req)
	case wire.TypeMediaPull:
		return d.handleMediaPull(ctx, req)
	}
	if req.ID == nil {
		return nil // unknown frames are ignored
	}
	return iris.Errorf(iris.CodeUnsupported, "type %q is not supported", printable(req.Type))
}

// handlePing answers ping.
func (d *deviceSession) handlePing(req wire.Request) error {
	ping, err := wire.DecodePayload[wire.Ping](req)
	if err != nil {
		return err
	}
	d.answer(req, iris.Lane{}, wire.Pong(ping))
	return nil
}

// answer sends the one answer to a request.
func (d *deviceSession) answer(req wire.Request, lane iris.Lane, p wire.Payload) {
	d.socket.Send(wire.WithID(wire.Encode(lane, p), req.ID))
}

// reply sends an error frame.
func (d *deviceSession) reply(id wire.RequestID, err error) {
	f := frameError(err)
	if f.Code == iris.CodeInternal {
		d.log.Error("request failed", "err", err)
	}
	d.socket.Send(wire.WithID(wire.Encode(iris.Lane{}, f), id))
}

// printable shortens what a device sent for an error text.
func printable(s string) string {
	const limit = 64
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
