// Package media keeps media: their bytes as objects of a bucket, what they are
// as rows. Both stores are made of it, each with its own rows and bucket, so
// that what holds in memory holds in the cloud.
//
// An upload is a row that is not ready, and parts. The first part lies below "media/"
// of the bucket: most media have no other, and then it is the medium. Those behind it
// lie below "uploads/", and when the upload is complete all are composed to another
// object below media/. Then the row is ready, and names the object. Lifecycle rules
// remove what cut uploads leave: what is below uploads/ at any time after
// [iris.UploadLifetime], and below media/ what has expired, as a part does that no
// medium came of.
package media

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// Row is what is kept of a medium, or of one that is to be.
type Row struct {
	iris.Media
	Key     string    // of its upload
	Ready   bool      // complete, and never changed again
	Attempt string    // of the upload that writes it, a part of its objects' names; once ready, of its one object's; see nextAttempt
	Expires time.Time // when it goes by itself, zero for never
	Review  time.Time // when to look whether any message has it, zero for never
	Version any       // which state of the row this is; only [Rows] looks into it
}

// Rows keeps the rows of media.
type Rows interface {
	// MediaRow returns a row, and whether there is one.
	MediaRow(ctx context.Context, g, id string) (Row, bool, error)
	// UploadRows returns the rows of an upload's key.
	UploadRows(ctx context.Context, g, key string) ([]Row, error)
	// UnfinishedRows returns rows that are not ready.
	UnfinishedRows(ctx context.Context, g string) ([]Row, error)
	// ExpiredRows returns rows that have expired by now, not all of very many.
	ExpiredRows(ctx context.Context, g string, now time.Time) ([]Row, error)
	// ReviewRows returns rows that are to be looked at by now, not all of very many.
	ReviewRows(ctx context.Context, g string, now time.Time) ([]Row, error)
	// MediaMessages returns the messages that have a medium, limit at most.
	MediaMessages(ctx context.Context, g, id string, limit int) ([]string, error)
	// MediaPage returns the first rows behind the one of an id, "" for the
	// beginning, always in the same order.
	MediaPage(ctx context.Context, g, after string, limit int) ([]Row, error)
	// CreateMediaRow adds a row, and returns its version; CodeConflict when
	// its id is taken.
	CreateMediaRow(ctx context.Context, g string, r Row) (version any, err error)
	// ReplaceMediaRow replaces the version of the row that r names, and returns
	// the new one; CodeConflict when somebody else has done so.
	ReplaceMediaRow(ctx context.Context, g string, r Row) (version any, err error)
	// DeleteMediaRow removes the version of the row that r names; one that is
	// gone, or that somebody else has replaced, is left as it is.
	DeleteMediaRow(ctx context.Context, g string, r Row) error
	// MediaBytes returns the sizes of all rows of a gateway, added up.
	MediaBytes(ctx context.Context, g string) (int64, error)
}

// Object is an object of a bucket.
type Object struct {
	Name  string
	Size  int64
	State string // see [Bucket.Create]
}

// Bucket keeps the objects.
type Bucket interface {
	// Create writes an object that carries a short text. It is there once Close
	// has returned nil. When ctx ends before, it may be there with what was
	// written so far. It may be gone a day after it has expired.
	Create(ctx context.Context, name, state string, expires time.Time) io.WriteCloser
	// Keep makes an object expire later than it was said; zero: never.
	Keep(ctx context.Context, name string, expires time.Time) error
	// Read reads length bytes from the offset, which both lie in the object;
	// CodeNotFound when there is none.
	Read(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	// List returns the objects below a prefix, sorted by name.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Compose joins up to MaxParts objects to one. It may be gone a day after it
	// has expired; zero: never.
	Compose(ctx context.Context, name string, parts []string, expires time.Time) error
	// Delete removes an object if there is one.
	Delete(ctx context.Context, name string) error
}

// Library keeps the media of all gateways. Its fields are set before the first
// use. Its methods may be called from any goroutine.
type Library struct {
	Rows   Rows
	Bucket Bucket
	Limits iris.MediaLimits
	Now    func() time.Time

	// Retention is how long a medium is kept, 0 for ever. What has expired is
	// gone for everybody; its bytes and row are removed with the next upload.
	// In the cloud a TTL policy may be quicker with the row, and nobody knows of
	// the bytes any more: a lifecycle rule of the bucket removes them a day later.
	Retention time.Duration
}

// Media returns the row of a medium; CodeNotFound when there is none that is
// complete.
func (l *Library) Media(ctx context.Context, g, id string) (iris.Media, error) {
	row, err := l.ready(ctx, g, id)
	return row.Media, err
}

// UploadedMedia returns the newest medium of an upload's key; CodeNotFound when
// none is complete.
func (l *Library) UploadedMedia(ctx context.Context, g, key string) (iris.Media, error) {
	all, err := l.Rows.UploadRows(ctx, g, key)
	if err != nil {
		return iris.Media{}, err
	}
	row, found := newest(all, func(r Row) bool { return r.Ready && !l.expired(r) })
	if !found {
		return iris.Media{}, iris.Errorf(iris.CodeNotFound, "no such upload has been completed")
	}
	return row.Media, nil
}

// ExportMedia returns media of a gateway behind the one of an id, "" for the
// beginning, always in the same order, and where to go on; "" at the end.
func (l *Library) ExportMedia(ctx context.Context, g, after string, limit int) (all []iris.Media, next string, err error) {
	page, err := l.Rows.MediaPage(ctx, g, after, limit)
	if err != nil {
		return nil, "", err
	}
	for _, row := range page {
		if row.Ready && !l.expired(row) {
			all = append(all, row.Media)
		}
	}
	if len(page) == limit {
		next = page[len(page)-1].ID
	}
	return all, next, nil
}

// OpenMedia returns a medium and length of its bytes from the offset on, fewer
// if it ends before; a negative length stands for all. CodeNotFound when there
// is no such medium, CodeUnsupported when the offset lies behind its end.
func (l *Library) OpenMedia(ctx context.Context, g, id string, offset, length int64) (iris.Media, io.ReadCloser, error) {
	row, err := l.ready(ctx, g, id)
	if err != nil {
		return iris.Media{}, nil, err
	}
	left := row.Size - offset
	if offset < 0 || left < 0 {
		return iris.Media{}, nil, iris.Errorf(iris.CodeUnsupported, "offset %d is not in the medium, which has %d bytes", offset, row.Size)
	}
	if length < 0 || length > left {
		length = left
	}
	if length == 0 {
		return row.Media, io.NopCloser(eof{}), nil
	}
	r, err := l.Bucket.Read(ctx, row.object(g), offset, length)
	if iris.ErrorCode(err) == iris.CodeNotFound {
		err = rows.NoMedia(id) // it was deleted just now
	}
	return row.Media, r, err
}

// DeleteMedia removes a medium, its bytes first: nothing is left that nobody
// knows of. One that is not there is removed already.
func (l *Library) DeleteMedia(ctx context.Context, g, id string) error {
	for {
		row, found, err := l.Rows.MediaRow(ctx, g, id)
		if err != nil || !found {
			return err
		}
		if err := l.remove(ctx, g, row); iris.ErrorCode(err) != iris.CodeConflict {
			return err
		}
	}
}

// DeleteMediaObjects removes all bytes of all media of a gateway, and what
// uploads have left. The rows stay: they go with the gateway's other rows.
func (l *Library) DeleteMediaObjects(ctx context.Context, g string) error {
	for _, prefix := range []string{uploadsOf(g), mediaOf(g)} {
		if err := l.removeBelow(ctx, prefix); err != nil {
			return err
		}
	}
	return nil
}

// ready returns the row of a medium that is complete.
func (l *Library) ready(ctx context.Context, g, id string) (Row, error) {
	row, found, err := l.Rows.MediaRow(ctx, g, id)
	if err == nil && !(found && row.Ready && !l.expired(row)) {
		err = rows.NoMedia(id)
	}
	return row, err
}

func (l *Library) expired(row Row) bool { return rows.Expired(row.Expires, l.Now()) }

// removing is how long it may take to remove a medium. Then somebody else may.
const removing = time.Minute

// remove removes all of a row, the row last. First it takes the row over, so that
// nobody finishes or goes on with what is being removed, and nobody begins anew
// under its id before all is gone; CodeConflict when somebody else was quicker. If it
// dies, or the bucket fails, a later upload removes the rest.
func (l *Library) remove(ctx context.Context, g string, row Row) (err error) {
	row.Key, row.Ready, row.Attempt, row.Review = "", false, row.nextAttempt(), l.Now().Add(removing)
	if row.Version, err = l.Rows.ReplaceMediaRow(ctx, g, row); err != nil {
		return err
	}
	for _, prefix := range []string{row.parts(g), row.objects(g)} {
		if err := l.removeBelow(ctx, prefix); err != nil {
			return err
		}
	}
	return l.Rows.DeleteMediaRow(ctx, g, row)
}

// removeBelow removes the objects below a prefix, but some.
func (l *Library) removeBelow(ctx context.Context, prefix string, but ...string) error {
	objects, err := l.Bucket.List(ctx, prefix)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if slices.Contains(but, o.Name) {
			continue
		}
		if err := l.Bucket.Delete(ctx, o.Name); err != nil {
			return err
		}
	}
	return nil
}

// Names of objects. Ids come from outside: their hashes are safe in a name.
func uploadsOf(g string) string { return "uploads/" + safe(g) + "/" }
func mediaOf(g string) string   { return "media/" + safe(g) + "/" }

// parts is where the parts of an upload lie, but the first ones.
func (r Row) parts(g string) string { return uploadsOf(g) + safe(r.ID) + "/" }

// object is where the bytes lie once they are complete, and the first part of an
// attempt before. Of two that write one medium each has its own, so neither ever
// changes what the other made.
func (r Row) object(g string) string { return r.allObjects(g) + r.Attempt }

// objects is what the names of an upload's objects begin with, whoever wrote them.
func (r Row) objects(g string) string { return r.allObjects(g) + r.upload() }

// allObjects is what the names of all objects begin with that media with this id ever have.
func (r Row) allObjects(g string) string { return mediaOf(g) + safe(r.ID) + "-" }

// nextAttempt names one more attempt of the same upload.
func (r Row) nextAttempt() string { return r.upload() + rand.Text() }

// upload is what the names of an upload's attempts begin with. A host may send a medium
// again under an id that was removed: who comes late with the one before, or is slow to
// remove it, touches nothing of the one that has the id now.
func (r Row) upload() string {
	name, _, found := strings.Cut(r.Attempt, ".")
	if !found {
		return "" // it began when uploads had no names
	}
	return name + "."
}

// part is the name of a part that begins at the offset.
func (r Row) part(g string, offset int64) string {
	if offset == 0 {
		return r.object(g)
	}
	return fmt.Sprintf("%s%012d-%s", r.parts(g), offset, r.Attempt)
}

// resumable is until when an upload may be gone on with, and its parts are kept.
func (r Row) resumable() time.Time { return r.Created.Add(iris.UploadLifetime) }

// kept is until when the object of a medium is kept, zero for ever. That may be longer
// than the row, but no shorter than it was said of a part: a bucket takes nothing
// back.
func (r Row) kept() time.Time {
	if !r.Expires.IsZero() && r.Expires.Before(r.resumable()) {
		return r.resumable()
	}
	return r.Expires
}

func safe(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// newest returns the newest row that is wanted.
func newest(all []Row, wanted func(Row) bool) (best Row, found bool) {
	for _, r := range all {
		if wanted(r) && (!found || r.Created.After(best.Created)) {
			best, found = r, true
		}
	}
	return best, found
}

// eof is a reader of nothing.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
