package media

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"iris-gateway/cloudstore/internal/content"
	"iris-gateway/iris"
)

// PartSize is how large a part of an upload is at least, if it is not the last and
// the upload was not cut in it.
const PartSize = 8 << 20

// PartTime is how long a part is written at least, if it is not the last. The death of
// a gateway costs who sends fast a moment; more parts would cost calls, and
// be copied once more when they are composed.
const PartTime = time.Second

// MaxParts is how many objects can be composed at once, so the largest medium
// has 256 MiB.
const MaxParts = 32

// minPart is how large a part must be to be kept when the upload is cut: there
// may be only MaxParts of them.
const minPart = 256 << 10

// maxClosing is how many parts may wait at once for the bucket to say that it has
// them. It may take longer over one than the next one takes to come.
const maxClosing = 3

// grace is how long an upload may go on when its context has ended, to save
// what has come.
const grace = 3 * time.Second

// cleaning bounds how long it may take to remove what an upload has left.
const cleaning = 10 * time.Second

// upload is an [iris.Upload]. It is used by one goroutine.
type upload struct {
	lib    *Library
	g      string
	row    Row
	ctx    context.Context // of the calls to the bucket
	cancel context.CancelFunc

	sum     hash.Hash
	head    []byte // the first bytes, content.HeadSize at most
	offset  int64  // bytes taken
	parts   []part // those that are complete
	open    *openPart
	closing []*openPart // those between: their bytes are sent, the answers are still to come
	newest  string      // what the newest part of all is called, without its folder
	resumed bool        // there were attempts before this one
	err     error       // that has broken it
	ended   bool        // Finish, Suspend or Abort was called and did what it should
}

// part is a part that is complete.
type part struct {
	name string
	size int64
}

// openPart is a part that is being written.
type openPart struct {
	part
	io.WriteCloser
	began  time.Time
	cancel context.CancelFunc
	closed chan error // what Close said
}

// upload returns an upload of which nothing has come. Its calls outlive ctx a
// little, to save what has come.
func (l *Library) upload(ctx context.Context, g string, row Row) *upload {
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return &upload{
		lib: l, g: g, row: row, sum: sha256.New(),
		ctx: detached, cancel: func() { stop(); cancel() },
	}
}

// takeUp makes the upload go on behind parts that are there. Each carries the
// state of the hash at its beginning, so only the last one is read again.
func (u *upload) takeUp(ctx context.Context, chain []Object) error {
	last := chain[len(chain)-1]
	u.newest = path.Base(last.Name)
	if err := u.sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(hashBefore(last)); err != nil {
		return fmt.Errorf("state of the hash in %s: %w", last.Name, err)
	}
	if err := u.read(ctx, last.Name, last.Size, u.sum); err != nil {
		return err
	}
	var head strings.Builder
	if err := u.read(ctx, chain[0].Name, min(content.HeadSize, chain[0].Size), &head); err != nil {
		return err
	}
	u.head = []byte(head.String())
	for _, o := range chain {
		u.parts = append(u.parts, part{o.Name, o.Size})
		u.offset += o.Size
	}
	return nil
}

func (u *upload) read(ctx context.Context, name string, length int64, to io.Writer) error {
	r, err := u.lib.Bucket.Read(ctx, name, 0, length)
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := io.Copy(to, r)
	if err == nil && n != length {
		err = fmt.Errorf("%s has %d bytes, not %d: %w", name, n, length, io.ErrUnexpectedEOF)
	}
	return err
}

// Offset implements [iris.Upload].
func (u *upload) Offset() int64 { return u.offset }

// Write implements [iris.Upload].
func (u *upload) Write(p []byte) (int, error) {
	if u.err == nil && u.offset+int64(len(p)) > u.row.Size {
		u.err = iris.Errorf(iris.CodeMediaTooLarge, "more bytes came than the %d announced", u.row.Size)
	}
	if u.err == nil && len(p) > 0 {
		u.err = u.writePart(p)
	}
	if u.err != nil {
		return 0, u.err
	}
	return len(p), nil
}

// writePart writes to the part that is open, and opens and closes it as needed.
func (u *upload) writePart(p []byte) error {
	if u.open == nil {
		if err := u.openPart(); err != nil {
			return err
		}
	}
	if _, err := u.open.Write(p); err != nil {
		return err
	}
	u.sum.Write(p)
	u.head = append(u.head, p[:min(content.HeadSize-len(u.head), len(p))]...)
	u.open.size += int64(len(p))
	u.offset += int64(len(p))
	if u.open.size >= PartSize && u.lib.Now().Sub(u.open.began) >= PartTime {
		return u.closePart()
	}
	return nil
}

func (u *upload) openPart() error {
	state, err := u.sum.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(u.ctx)
	name := u.row.part(u.g, u.offset)
	w := u.lib.Bucket.Create(ctx, name, stateOf(u.newest, state), u.row.resumable())
	u.newest = path.Base(name)
	u.open = &openPart{part{name: name}, w, u.lib.Now(), cancel, make(chan error, 1)}
	return nil
}

// What a part carries along: the name of the part that it was written behind, ""
// for the first, and the state of the hash at its beginning.
func stateOf(behind string, hash []byte) string {
	return base64.StdEncoding.EncodeToString(hash) + ":" + behind
}

// behind returns which part one was written behind.
func behind(o Object) string {
	_, name, known := strings.Cut(o.State, ":")
	if !known {
		return "?" // it is none of ours
	}
	return name
}

// isFirst reports whether an object is the first part of an upload.
func isFirst(o Object) bool { return behind(o) == "" }

// hashBefore returns the state of the hash at the beginning of a part.
func hashBefore(o Object) []byte {
	hash, _, _ := strings.Cut(o.State, ":")
	state, _ := base64.StdEncoding.DecodeString(hash) // what is none is refused by the hash
	return state
}

// closePart begins to complete the part that is open: the next one is sent while
// the bucket works on it.
func (u *upload) closePart() error {
	if err := u.settle(maxClosing - 1); err != nil {
		return err
	}
	o := u.open
	u.open, u.closing = nil, append(u.closing, o)
	go func() { o.closed <- o.Close() }() // settle waits for it
	return nil
}

// settle waits for parts to be complete, in their order, until at most left are not.
// Once one has failed the upload is broken, and nobody asks for its parts.
func (u *upload) settle(left int) error {
	var failed error
	for len(u.closing) > left {
		o := u.closing[0]
		u.closing = u.closing[1:]
		failed = errors.Join(failed, <-o.closed)
		o.cancel()
		u.parts = append(u.parts, o.part)
	}
	return failed
}

// dropPart gives the part that is open up.
func (u *upload) dropPart() {
	if o := u.open; o != nil {
		u.open = nil
		o.cancel()
		_ = o.Close() // says that it was given up
	}
}

// Finish implements [iris.Upload].
func (u *upload) Finish(ctx context.Context, sha256 string) (iris.Media, error) {
	if u.ended {
		return iris.Media{}, errors.New("the upload has ended")
	}
	if u.err == nil {
		u.err = u.complete(ctx, sha256)
	}
	if u.err != nil {
		return iris.Media{}, u.err
	}
	u.ended = true
	u.cancel()
	return u.row.Media, nil
}

// complete checks what has come and makes a medium of it. Who is still the one that
// writes the row decides in the end.
func (u *upload) complete(ctx context.Context, sum string) error {
	row := u.row
	row.SHA256 = hex.EncodeToString(u.sum.Sum(nil))
	switch {
	case u.offset != row.Size:
		return iris.Errorf(iris.CodeUnsupported, "%d bytes came, %d were announced", u.offset, row.Size)
	case !strings.EqualFold(sum, row.SHA256):
		return iris.Errorf(iris.CodeUnsupported, "sha256 of what came is %s, not %q", row.SHA256, sum)
	}
	if u.offset == 0 { // nothing is an object as well
		if err := u.openPart(); err != nil {
			return err
		}
	}
	if u.open != nil {
		if err := u.closePart(); err != nil {
			return err
		}
	}
	if err := u.settle(0); err != nil {
		return err
	}
	row, err := u.assemble(ctx, row)
	if err != nil {
		return err
	}
	row.Kind, row.MIME = content.Describe(row.Media, u.head)
	row.Ready = true
	version, err := u.lib.Rows.ReplaceMediaRow(ctx, u.g, row)
	if iris.ErrorCode(err) == iris.CodeConflict {
		return errors.Join(err, u.withdraw(ctx, row))
	}
	if err != nil {
		return err // the row may be ready or not: resume finds out
	}
	u.row, u.row.Version = row, version
	u.clean(ctx)
	return nil
}

// assemble makes one object of the parts, and returns the row that names it. A part
// that has all the bytes, and lies where it may stay, is that object. One
// that is composed has a name of its own: somebody else may be composing the same.
func (u *upload) assemble(ctx context.Context, row Row) (Row, error) {
	attempt, inPlace := strings.CutPrefix(u.parts[0].name, row.allObjects(u.g))
	if inPlace && len(u.parts) == 1 {
		row.Attempt = attempt
		return row, u.lib.Bucket.Keep(ctx, row.object(u.g), row.kept())
	}
	row.Attempt = row.nextAttempt()
	var names []string
	for _, p := range u.parts {
		names = append(names, p.name)
	}
	return row, u.lib.Bucket.Compose(ctx, row.object(u.g), names, row.Expires)
}

// withdraw removes the object, because somebody else has taken the upload over. If it is
// a part, who goes on with the upload may need it: then it is his, and goes with his end.
// It stays if it is the medium: somebody else has finished with the same part, or this
// one has, and did not hear so, and asked again.
func (u *upload) withdraw(ctx context.Context, row Row) error {
	now, found, err := u.lib.Rows.MediaRow(ctx, u.g, row.ID)
	isPart := u.parts[0].name == row.object(u.g)
	goesOn := found && !now.Ready && now.Key == row.Key && now.upload() == row.upload()
	isMedium := found && now.Ready && now.Attempt == row.Attempt
	if err != nil || isPart && goesOn || isMedium {
		return err
	}
	return u.lib.Bucket.Delete(ctx, row.object(u.g))
}

// clean removes the parts, and what earlier attempts have left. What it cannot
// remove, and what one of them writes even now, the lifecycle rules will.
func (u *upload) clean(ctx context.Context) {
	whole := u.row.object(u.g)
	if u.resumed {
		_ = u.lib.removeBelow(ctx, u.row.parts(u.g))
		_ = u.lib.removeBelow(ctx, u.row.objects(u.g), whole)
		return
	}
	var all sync.WaitGroup
	for _, p := range u.parts {
		if p.name != whole {
			all.Go(func() { _ = u.lib.Bucket.Delete(ctx, p.name) })
		}
	}
	all.Wait()
}

// Suspend implements [iris.Upload].
func (u *upload) Suspend() error {
	if u.ended {
		return nil
	}
	u.ended = true
	defer u.cancel()
	err := u.settle(0)
	if err != nil || u.err != nil || u.open == nil || u.open.size < minPart || !u.room() {
		u.dropPart()
		return err
	}
	if err := u.closePart(); err != nil {
		return err
	}
	return u.settle(0)
}

// room reports whether what is to come still fits if the part that is open is
// closed where it is.
func (u *upload) room() bool {
	left := (u.row.Size - u.offset + PartSize - 1) / PartSize
	return int64(len(u.parts))+1+left <= MaxParts
}

// Abort implements [iris.Upload]. It asks whether the upload is still its own:
// somebody may have gone on with it.
func (u *upload) Abort() error {
	if u.ended {
		return nil
	}
	u.ended = true
	u.dropPart()
	u.cancel()
	_ = u.settle(0)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), cleaning)
	defer cancel()
	row, found, err := u.lib.Rows.MediaRow(ctx, u.g, u.row.ID)
	if err != nil || !found || row.Ready || row.Attempt != u.row.Attempt {
		return err
	}
	err = u.lib.remove(ctx, u.g, row)
	if iris.ErrorCode(err) == iris.CodeConflict {
		return nil
	}
	return err
}
