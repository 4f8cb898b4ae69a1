package media

import (
	"context"
	"crypto/rand"
	"errors"
	"path"
	"strconv"
	"strings"

	"iris-gateway/cloudstore/internal/content"
	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// BeginUpload begins an upload, or with resume goes on with the one that has the
// same key and size, if there is one. Of m it takes what is announced: kind,
// type, size, name, and the id (empty: a new one). The key names the upload
// in its gateway; a newer upload without resume takes its place. When the medium
// with the id of m, or with resume the one of the key, is complete, the upload
// only compares. It ends soon after ctx.
//
// CodeMediaTooLarge when m is too large, or the gateway's media would be;
// CodeConflict when the id of m is another medium's.
func (l *Library) BeginUpload(ctx context.Context, g, key string, m iris.Media, resume bool) (iris.Upload, error) {
	if m.Size < 0 || m.Size > l.Limits.MaxBytes {
		return nil, iris.Errorf(iris.CodeMediaTooLarge, "size is %d bytes, this gateway takes %d at most", m.Size, l.Limits.MaxBytes)
	}
	for races := 0; ; races++ {
		u, err := l.begin(ctx, g, key, m, resume)
		if iris.ErrorCode(err) != iris.CodeConflict || races == maxRaces {
			return u, err
		}
	}
}

// maxRaces is how often an upload is begun again because somebody else has
// changed its row in that moment.
const maxRaces = 3

func (l *Library) begin(ctx context.Context, g, key string, m iris.Media, resume bool) (iris.Upload, error) {
	known, err := l.Rows.UploadRows(ctx, g, key)
	if err != nil {
		return nil, err
	}
	row, found := newest(known, func(r Row) bool { return !l.expired(r) })
	if found && row.Ready && (resume || row.ID == m.ID) && row.Size == m.Size {
		return l.compare(ctx, g, row, resume), nil
	}
	if found && row.Ready && m.ID == "" { // one that a key names is enough to look at
		row.Key = ""
		if _, err := l.Rows.ReplaceMediaRow(ctx, g, row); err != nil {
			return nil, err
		}
	}
	if found && !row.Ready {
		if resume && row.Size == m.Size && !l.tooOld(row) {
			return l.resume(ctx, g, row)
		}
		if err := l.remove(ctx, g, row); err != nil {
			return nil, err
		}
	}
	return l.create(ctx, g, key, m)
}

// create begins a new upload.
func (l *Library) create(ctx context.Context, g, key string, m iris.Media) (iris.Upload, error) {
	if err := l.makeRoom(ctx, g, m.Size); err != nil {
		return nil, err
	}
	if m.ID == "" {
		m.ID = iris.NewID("md_")
	}
	m.Filename, m.SHA256, m.Created = content.Filename(m.Filename), "", rows.Time(l.Now())
	row := Row{Media: m, Key: key, Attempt: rand.Text() + "." + rand.Text(), Expires: rows.Expires(m.Created, l.Retention), Review: m.Created.Add(unsentLifetime)}
	version, err := l.Rows.CreateMediaRow(ctx, g, row)
	if err != nil {
		return nil, err
	}
	row.Version = version
	// Two that begin at once may both have been told that there is room.
	used, err := l.Rows.MediaBytes(ctx, g)
	if err == nil {
		err = l.fits(m.Size, used-m.Size)
	}
	if err != nil {
		return nil, errors.Join(err, l.Rows.DeleteMediaRow(ctx, g, row))
	}
	return l.upload(ctx, g, row), nil
}

// fits refuses a medium for which there is no room beside what the others use.
func (l *Library) fits(size, used int64) error {
	if left := l.Limits.Quota - used; size > left {
		return iris.Errorf(iris.CodeMediaTooLarge,
			"size is %d bytes, but of the %d bytes that this gateway may keep only %d are left: delete something first", size, l.Limits.Quota, max(left, 0))
	}
	return nil
}

// resume goes on with an upload. From now on nobody else can finish it.
func (l *Library) resume(ctx context.Context, g string, row Row) (_ iris.Upload, err error) {
	row.Attempt = row.nextAttempt()
	if row.Version, err = l.Rows.ReplaceMediaRow(ctx, g, row); err != nil {
		return nil, err
	}
	parts, err := l.written(ctx, g, row)
	if err != nil {
		return nil, err
	}
	u := l.upload(ctx, g, row)
	u.resumed = true
	chain := chainOf(parts)
	if len(chain) == 0 {
		return u, nil
	}
	if err := u.takeUp(ctx, chain); err != nil {
		u.cancel()
		return nil, err
	}
	return u, nil
}

// written returns the parts that earlier attempts have left. What one has composed, and
// died before it said so, goes.
func (l *Library) written(ctx context.Context, g string, row Row) (parts []Object, err error) {
	below, err := l.Bucket.List(ctx, row.objects(g))
	if err != nil {
		return nil, err
	}
	var composed []Object
	for _, o := range below {
		if isFirst(o) {
			parts = append(parts, o)
		} else {
			composed = append(composed, o)
		}
	}
	if err := l.removeComposed(ctx, g, row, composed); err != nil {
		return nil, err
	}
	behind, err := l.Bucket.List(ctx, row.parts(g))
	return append(parts, behind...), err
}

// removeComposed removes what earlier attempts have composed. If meanwhile a later one
// has taken the upload over, the medium may be among it.
func (l *Library) removeComposed(ctx context.Context, g string, row Row, composed []Object) error {
	if len(composed) == 0 {
		return nil
	}
	now, found, err := l.Rows.MediaRow(ctx, g, row.ID)
	if err != nil {
		return err
	}
	if !found || now.Attempt != row.Attempt {
		return rows.UploadTaken(row.ID)
	}
	for _, o := range composed {
		if err := l.Bucket.Delete(ctx, o.Name); err != nil {
			return err
		}
	}
	return nil
}

// chainOf returns the longest chain of parts from the beginning. Several attempts
// may have left parts, of a file that perhaps changed in between, and with gaps:
// each part names the one that it was written behind, and only those that follow
// each other by name belong together.
func chainOf(objects []Object) []Object {
	chain, _ := chainBehind(objects, "", 0)
	return chain
}

// chainBehind returns the longest chain behind a part, and where it ends.
func chainBehind(objects []Object, name string, from int64) (longest []Object, end int64) {
	end = from
	for _, o := range objects {
		if o.Size == 0 || offsetOf(o) != from || behind(o) != name {
			continue
		}
		chain, at := chainBehind(objects, path.Base(o.Name), from+o.Size)
		if at > end {
			longest, end = append([]Object{o}, chain...), at
		}
	}
	return longest, end
}

// offsetOf is where a part begins; -1 if it is none of ours.
func offsetOf(o Object) int64 {
	if isFirst(o) {
		return 0
	}
	digits, _, _ := strings.Cut(path.Base(o.Name), "-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
