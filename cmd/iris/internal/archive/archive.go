package archive

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"iris-gateway/cmd/iris/internal/admin"
)

// Progress is told how far an export is.
type Progress interface {
	// Step tells that done of about all things of a kind are written.
	Step(kind string, done, all int)
}

// Result is what an export has written.
type Result struct {
	Folder   string `json:"folder"`
	Messages int    `json:"messages"`
	Media    int    `json:"media"`
}

// writer is an export under way.
type writer struct {
	client *admin.Client
	dir    string
	state  manifest
	told   Progress
}

// Write writes all of a gateway into a folder, or goes on with an export that
// was cut.
func Write(ctx context.Context, c *admin.Client, g admin.Gateway, dir string, told Progress) (Result, error) {
	state, err := load(dir, g, time.Now().UnixMilli())
	if err != nil {
		return Result{}, err
	}
	w := &writer{client: c, dir: dir, state: state, told: told}
	if err := os.MkdirAll(filepath.Join(dir, mediaFolder), 0o700); err != nil {
		return Result{}, err
	}
	if err := w.save(); err != nil {
		return Result{}, err
	}
	summary, err := w.summary(ctx)
	if err == nil {
		err = w.messages(ctx, summary.Messages)
	}
	if err == nil {
		err = w.media(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	w.state.Complete, w.state.Ended = true, time.Now().UnixMilli()
	return Result{dir, w.state.Messages.Lines, w.state.Media.Lines}, w.save()
}

func (w *writer) save() error { return save(w.dir, manifestFile, w.state) }

// summary writes what is small, anew each time.
func (w *writer) summary(ctx context.Context) (admin.Export, error) {
	e, err := w.client.Export(ctx, w.state.GatewayID)
	if err != nil {
		return e, err
	}
	for name, lines := range map[string][]json.RawMessage{channelsFile: e.Channels, devicesFile: e.Devices} {
		if err := new(part).appendLines(w.dir, name, lines); err != nil {
			return e, err
		}
	}
	return e, save(w.dir, gatewayFile, e.Gateway)
}

// messages writes the messages page by page.
func (w *writer) messages(ctx context.Context, all int) error {
	p := &w.state.Messages
	if err := p.appendLines(w.dir, messagesFile, nil); err != nil { // without the half page that a cut one left
		return err
	}
	for !p.Done {
		page, err := w.client.ExportMessages(ctx, w.state.GatewayID, p.Next)
		if err != nil {
			return err
		}
		if err := p.appendLines(w.dir, messagesFile, page.Lines); err != nil {
			return err
		}
		p.Next, p.Done = page.Next, page.Next == ""
		if err := w.save(); err != nil {
			return err
		}
		w.told.Step("messages", p.Lines, max(all, p.Lines))
	}
	return nil
}
