package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/iris"
)

// medium is a line of media.jsonl: what the gateway says, and the file.
type medium struct {
	admin.Medium
	File string `json:"file"`
}

// media writes the media page by page, each medium as a file.
func (w *writer) media(ctx context.Context) error {
	p := &w.state.Media
	if err := p.appendLines(w.dir, mediaFile, nil); err != nil {
		return err
	}
	for !p.Done {
		page, err := w.client.ExportMedia(ctx, w.state.GatewayID, p.Next)
		if err != nil {
			return err
		}
		var lines []json.RawMessage
		for i, m := range page.Media {
			line := medium{m, mediaFolder + "/" + fileName(m)}
			switch err := w.fetch(ctx, line); {
			case isGone(err):
				continue
			case err != nil:
				return err
			}
			encoded, err := json.Marshal(line)
			if err != nil {
				return err
			}
			lines = append(lines, encoded)
			w.told.Step("media", p.Lines+i+1, p.Lines+len(page.Media))
		}
		if err := p.appendLines(w.dir, mediaFile, lines); err != nil {
			return err
		}
		p.Next, p.Done = page.Next, page.Next == ""
		if err := w.save(); err != nil {
			return err
		}
	}
	return nil
}

// isGone reports whether a medium has been deleted, or has expired, since it was
// named: then it is no part of the export, and nothing that stops one.
func isGone(err error) bool {
	var answer *admin.Error
	return errors.As(err, &answer) && answer.Code == string(iris.CodeNotFound)
}

// fetch writes the bytes of a medium, unless they are there. What a cut export
// has written of them is not read again.
func (w *writer) fetch(ctx context.Context, m medium) error {
	name := filepath.Join(w.dir, filepath.FromSlash(m.File))
	if size, sum, err := digest(name); err == nil && size == m.Size && sum == m.SHA256 {
		return nil
	}
	half := name + ".part"
	have, _, err := digest(half)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if have > m.Size {
		have = 0
	}
	if have < m.Size || m.Size == 0 {
		if err := w.download(ctx, m, half, have); err != nil {
			if isGone(err) {
				_ = os.Remove(half) // what a cut export has written of it
			}
			return err
		}
	}
	size, sum, err := digest(half)
	if err != nil {
		return err
	}
	if size != m.Size || sum != m.SHA256 {
		return errors.Join(fmt.Errorf("the bytes of medium %s are not what they should be: try again", m.MediaID), os.Remove(half))
	}
	return os.Rename(half, name)
}

// download writes what follows the first have bytes.
func (w *writer) download(ctx context.Context, m medium, to string, have int64) error {
	body, err := w.client.ExportMedium(ctx, w.state.GatewayID, m.MediaID, have)
	if err != nil {
		return err
	}
	defer body.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = f.Truncate(have)
	if err == nil {
		_, err = f.Seek(have, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(f, io.LimitReader(body, m.Size-have+1)) // one more, so that too many are noticed
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// digest returns size and hash of a file.
func digest(name string) (size int64, sum string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// What can be the name of a file everywhere.
var (
	safeID  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	safeExt = regexp.MustCompile(`^\.[A-Za-z0-9]{1,8}$`)
)

// fileName makes the name of a medium's file: its id, or a hash of one that is
// no name, and the ending that its own name has.
func fileName(m admin.Medium) string {
	id := m.MediaID
	if !safeID.MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		id = "h_" + hex.EncodeToString(sum[:])
	}
	if ext := path.Ext(m.Filename); safeExt.MatchString(ext) {
		return id + ext
	}
	return id
}
