package media

import (
	"context"
	"crypto/rand"
	"path"
	"slices"
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
	if err := l.sweep(ctx, g); err != nil {
		return nil, err
	}
	used, err := l.Rows.MediaBytes(ctx, g)
	if err != nil {
		return nil, err
	}
	if left := l.Limits.Quota - used; m.Size > left {
		return nil, iris.Errorf(iris.CodeMediaTooLarge,
			"size is %d bytes, but of the %d bytes that this gateway may keep only %d are left: delete something first", m.Size, l.Limits.Quota, max(left, 0))
	}
	if m.ID == "" {
		m.ID = iris.NewID("md_")
	}
	m.Filename, m.SHA256, m.Created = content.Filename(m.Filename), "", l.Now()
	row := Row{Media: m, Key: key, Attempt: rand.Text(), Expires: rows.Expires(m.Created, l.Retention)}
	if row.Version, err = l.Rows.CreateMediaRow(ctx, g, row); err != nil {
		return nil, err
	}
	return l.upload(ctx, g, row), nil
}

// maxUnfinished is how many uploads of a gateway may wait to be resumed.
const maxUnfinished = 64

// sweep removes the uploads of a gateway that nobody has resumed in time, or that
// are too many, and the media that have expired.
func (l *Library) sweep(ctx context.Context, g string) error {
	unfinished, err := l.Rows.UnfinishedRows(ctx, g)
	slices.SortFunc(unfinished, func(a, b Row) int { return b.Created.Compare(a.Created) })
	var over []Row
	for i, row := range unfinished {
		if i >= maxUnfinished-1 || l.tooOld(row) {
			over = append(over, row)
		}
	}
	if err == nil && l.Retention > 0 {
		var expired []Row
		expired, err = l.Rows.ExpiredRows(ctx, g, l.Now())
		over = append(over, expired...)
	}
	if err != nil {
		return err
	}
	for _, row := range over {
		if err := l.remove(ctx, g, row); err != nil {
			return err
		}
	}
	return nil
}

func (l *Library) tooOld(row Row) bool { return l.Now().Sub(row.Created) > iris.UploadLifetime }

// resume goes on with an upload. From now on nobody else can finish it.
func (l *Library) resume(ctx context.Context, g string, row Row) (_ iris.Upload, err error) {
	before := row.object(g) // there if somebody died between composing and saying so
	row.Attempt = rand.Text()
	if row.Version, err = l.Rows.ReplaceMediaRow(ctx, g, row); err != nil {
		return nil, err
	}
	if err := l.Bucket.Delete(ctx, before); err != nil {
		return nil, err
	}
	objects, err := l.Bucket.List(ctx, row.parts(g))
	if err != nil {
		return nil, err
	}
	u := l.upload(ctx, g, row)
	u.resumed = true
	chain := chainOf(objects)
	if len(chain) == 0 {
		return u, nil
	}
	if err := u.takeUp(ctx, chain); err != nil {
		u.cancel()
		return nil, err
	}
	return u, nil
}

// chainOf picks the parts that follow each other from the beginning. Two
// attempts may both have written from one offset: the longer part counts.
func chainOf(objects []Object) (chain []Object) {
	var end int64
	for {
		var next *Object
		for i, o := range objects {
			if o.Size > 0 && offsetOf(o) == end && (next == nil || o.Size > next.Size) {
				next = &objects[i]
			}
		}
		if next == nil {
			return chain
		}
		chain = append(chain, *next)
		end += next.Size
	}
}

// offsetOf is where a part begins, by its name; -1 if it is none of ours.
func offsetOf(o Object) int64 {
	digits, _, _ := strings.Cut(path.Base(o.Name), "-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
