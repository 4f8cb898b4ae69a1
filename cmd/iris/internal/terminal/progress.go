package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Progress shows how far something is: on a terminal as a bar that moves,
// elsewhere as a line now and then.
type Progress struct {
	out  io.Writer
	live bool
	kind string
	said time.Time
}

// NewProgress returns a Progress that writes to out.
func NewProgress(out io.Writer) *Progress { return &Progress{out: out, live: Moves(out)} }

// Step says that done of all things of a kind are done.
func (p *Progress) Step(kind string, done, all int) {
	const every, often = 10 * time.Second, 100 * time.Millisecond
	end := done >= all
	wait := every
	if p.live {
		wait = often
	}
	if kind == p.kind && !end && time.Since(p.said) < wait {
		return
	}
	if p.live && p.kind != "" && kind != p.kind {
		fmt.Fprintln(p.out)
	}
	p.kind, p.said = kind, time.Now()
	if !p.live {
		fmt.Fprintf(p.out, "%s: %d of %d\n", kind, done, all)
		return
	}
	fmt.Fprintf(p.out, "\r%-9s %s %d of %d ", kind, bar(done, all), done, all)
}

// Done ends the bar.
func (p *Progress) Done() {
	if p.live && p.kind != "" {
		fmt.Fprintln(p.out)
	}
	p.kind = ""
}

// bar draws how much of all is done.
func bar(done, all int) string {
	const width = 30
	full := width
	if all > 0 {
		full = width * min(done, all) / all
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat("·", width-full) + "]"
}
