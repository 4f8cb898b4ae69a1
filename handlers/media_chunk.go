package handlers

import (
	"errors"
	"io"
	"sync"
)

// chunkSize is how many bytes of a medium are handed on at once: what a frame of
// another kind has to wait for at most, and the size of the binary frames that the
// gateway sends.
const chunkSize = 64 << 10

// chunk is some bytes of a medium on their way.
type chunk struct {
	buf [chunkSize]byte
	n   int // how many of them are used
}

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// newChunk returns a chunk with nothing in it; free gives it back.
func newChunk() *chunk {
	c := chunks.Get().(*chunk)
	c.n = 0
	return c
}

func (c *chunk) free() { chunks.Put(c) }

func (c *chunk) bytes() []byte { return c.buf[:c.n] }

// fill reads until the chunk is full, and reports whether there may be more.
func (c *chunk) fill(r io.Reader) (more bool, err error) {
	for c.n < chunkSize {
		n, err := r.Read(c.buf[c.n:])
		c.n += n
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
