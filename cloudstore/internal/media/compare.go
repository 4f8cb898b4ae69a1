package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"iris-gateway/iris"
)

// compare returns an upload of a medium that is complete: the peer has not heard
// so, and sends it again. With resume it has nothing more to send.
func (l *Library) compare(_ context.Context, _ string, row Row, resume bool) iris.Upload {
	c := &comparison{row: row, sum: sha256.New()}
	if resume {
		c.offset, c.sum = row.Size, nil
	}
	return c
}

// comparison is an [iris.Upload] that writes nothing.
type comparison struct {
	row    Row
	offset int64
	sum    hash.Hash // nil: nothing is sent again, the peer's word is compared
}

// Offset implements [iris.Upload].
func (c *comparison) Offset() int64 { return c.offset }

// Write implements [iris.Upload].
func (c *comparison) Write(p []byte) (int, error) {
	if c.offset+int64(len(p)) > c.row.Size {
		return 0, iris.Errorf(iris.CodeMediaTooLarge, "more bytes came than the %d announced", c.row.Size)
	}
	c.offset += int64(len(p))
	if c.sum != nil {
		c.sum.Write(p)
	}
	return len(p), nil
}

// Finish implements [iris.Upload].
func (c *comparison) Finish(_ context.Context, sum string) (iris.Media, error) {
	came := sum
	if c.sum != nil {
		came = hex.EncodeToString(c.sum.Sum(nil))
	}
	switch {
	case c.offset != c.row.Size:
		return iris.Media{}, iris.Errorf(iris.CodeUnsupported, "%d bytes came, %d were announced", c.offset, c.row.Size)
	case !strings.EqualFold(came, sum):
		return iris.Media{}, iris.Errorf(iris.CodeUnsupported, "sha256 of what came is %s, not %q", came, sum)
	case !strings.EqualFold(sum, c.row.SHA256):
		return iris.Media{}, iris.Errorf(iris.CodeUnsupported, "another medium with sha256 %s was sent under this name before: choose another name", c.row.SHA256)
	}
	return c.row.Media, nil
}

// Suspend implements [iris.Upload].
func (c *comparison) Suspend() error { return nil }

// Abort implements [iris.Upload].
func (c *comparison) Abort() error { return nil }
