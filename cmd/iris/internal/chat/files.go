package chat

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
)

// markFile is in front of a file.
const markFile = "📎 "

// send brings a file to the agent, with what stands behind its name as the text.
func (c *chat) send(args string) {
	path, text := fileAndText(args)
	if path == "" {
		c.say("/send FILE TEXT: sends a file; the text may be left out")
		return
	}
	lane := c.view.lane
	c.move(func() (func(), error) {
		f, closer, err := openFile(path)
		if err != nil {
			return nil, err
		}
		defer closer.Close()
		ref, err := c.client.Upload(c.ctx, f)
		return func() { c.post(lane, text, []string{ref}, markFile+f.Name+" "+text) }, err
	})
}

// save writes a file of the chat to disk: the one with a number.
func (c *chat) save(args string) {
	number, path, _ := strings.Cut(args, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(c.view.files) {
		c.say(fmt.Sprintf("/save NUMBER PATH: saves a file of this chat, which has %d; without PATH here, under its own name", len(c.view.files)))
		return
	}
	m := c.view.files[n-1]
	c.move(func() (func(), error) {
		f, err := createFile(strings.TrimSpace(path), m.Filename)
		if err != nil {
			return nil, err
		}
		err = errors.Join(c.client.Download(c.ctx, m.MediaID, f), f.Close())
		if err != nil {
			return nil, errors.Join(err, os.Remove(f.Name()))
		}
		return func() { c.say("saved as " + terminal.CleanLine(f.Name())) }, nil
	})
}

// move runs a transfer beside the chat. What it returns is done in the chat's
// goroutine.
func (c *chat) move(transfer func() (done func(), err error)) {
	c.moving++
	if !c.opts.Interactive {
		c.overdue = after(c.opts.Wait)
	}
	c.moves.Go(func() {
		done, err := transfer()
		if err != nil {
			done = func() { c.refuse(err) }
		}
		select {
		case c.moved <- done:
		case <-c.ctx.Done():
		}
	})
}

// openFile opens a file of this machine, to be sent.
func openFile(path string) (device.File, io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return device.File{}, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", path)
	}
	if err != nil {
		return device.File{}, nil, errors.Join(err, f.Close())
	}
	kind, _, _ := strings.Cut(mime.TypeByExtension(filepath.Ext(path)), ";")
	top, _, _ := strings.Cut(kind, "/")
	if top != "image" && top != "audio" && top != "video" {
		top = "document"
	}
	return device.File{Name: filepath.Base(path), Kind: top, Mime: kind, Size: info.Size(), ReaderAt: f}, f, nil
}

// createFile makes a file that is not there yet: at a path, in a folder, or here
// under its own name.
func createFile(path, name string) (*os.File, error) {
	if info, err := os.Stat(path); path == "" || err == nil && info.IsDir() {
		path = filepath.Join(path, ownName(name))
	}
	dir, name := filepath.Split(path)
	ext := filepath.Ext(name)
	if len(ext) > maxExt {
		ext = ""
	}
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			mark := fmt.Sprintf(" (%d)%s", n, ext)
			try = shortened(strings.TrimSuffix(name, ext), maxName-len(mark)) + mark
		}
		f, err := os.OpenFile(dir+try, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, os.ErrExist) || n == 100 {
			return f, err
		}
	}
}

const (
	maxName = 255 // bytes of a name that file systems take
	maxExt  = 16  // bytes of its ending
)

// ownName returns what a file of somebody else is called here. It is never hidden
// (".profile" would be run by the next shell), and no device of Windows.
func ownName(name string) string {
	name = strings.Trim(filepath.Base(terminal.CleanLine(name)), ". ")
	stem, _, _ := strings.Cut(name, ".")
	if name == "" || devices.MatchString(strings.TrimSpace(stem)) {
		name = "_" + name
	}
	return name
}

// devices are names that Windows has for devices, in every folder and with any ending.
var devices = regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])$`)

// shortened returns the first characters of a text, limit bytes at most.
func shortened(s string, limit int) string {
	for len(s) > limit {
		_, last := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-last]
	}
	return s
}

// fileAndText takes "FILE TEXT" apart. A name with spaces is known by the file
// that has it.
func fileAndText(args string) (path, text string) {
	args = strings.TrimSpace(args)
	if rest, ok := strings.CutPrefix(args, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			args = filepath.Join(home, rest)
		}
	}
	if _, err := os.Stat(args); err == nil {
		return args, ""
	}
	path, text, _ = strings.Cut(args, " ")
	return path, strings.TrimSpace(text)
}

// attached shows which files a message has, with the numbers to save them by.
func (v *view) attached(media []wire.Media) {
	for _, m := range media {
		v.files = append(v.files, m)
		text := fmt.Sprintf("%s · %s · %s", terminal.CleanLine(m.Filename), terminal.CleanLine(m.Mime), size(m.Size))
		v.block("  "+markFile, fmt.Sprintf("%s · /save %d", text, len(v.files)), v.style.Dim, plain)
	}
}

// size is a number of bytes as people say it.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}
