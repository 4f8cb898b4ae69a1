package handlers

import (
	"context"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// attached returns the media that a message names by the media_refs of their
// uploads, which any connection of the device may have made.
func (d *deviceSession) attached(ctx context.Context, refs []string) ([]iris.Media, error) {
	if len(refs) > 0 && d.server.cfg.Media == nil {
		return nil, errNoMedia
	}
	var all []iris.Media
	for _, ref := range refs {
		m, err := d.server.cfg.Media.UploadedMedia(ctx, d.gateway.ID, iris.DeviceUpload(d.device.ID, ref))
		if iris.ErrorCode(err) == iris.CodeNotFound {
			err = iris.Errorf(iris.CodeNotFound, "media_refs: no upload of %q has been acknowledged", printable(ref))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// mediaFrames returns media as devices see them.
func mediaFrames(all []iris.Media) []wire.Media {
	var out []wire.Media
	for _, m := range all {
		out = append(out, wire.Media{MediaID: m.ID, Kind: m.Kind, Mime: m.MIME, Size: m.Size, Filename: m.Filename})
	}
	return out
}

// attachments returns media as the host sees them.
func attachments(all []iris.Media) []link.Attachment {
	var out []link.Attachment
	for _, m := range all {
		out = append(out, link.Attachment{MediaID: m.ID, Kind: m.Kind, Mime: m.MIME, Size: m.Size, Filename: m.Filename, SHA256: m.SHA256})
	}
	return out
}
