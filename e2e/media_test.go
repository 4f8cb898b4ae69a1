package e2e_test

import (
	"bytes"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"iris-gateway/e2e"
	"iris-gateway/e2e/model"
)

// painting is a PNG, another one for each number.
func painting(t testing.TB, number byte) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 40, 30))
	_, _ = rand.NewChaCha8([32]byte{number}).Read(img.Pix)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// noise is n bytes that nothing can be guessed of.
func noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(rand.IntN(256)), byte(n)}).Read(data)
	return data
}

// attach uploads files and sends them with a text; hermes answers.
func (l *lane) attach(text string, files ...e2e.File) e2e.Frame {
	l.Helper()
	var refs []string
	for _, f := range files {
		ref := unique("mu")
		l.phone.Upload(l, ref, f)
		refs = append(refs, ref)
	}
	echo := l.phone.RequestIn(l, "message.send", l.chat, l.thread, map[string]any{
		"text": text, "client_id": unique("c"), "media_refs": refs,
	})
	if echo.Type != "message" || len(echo.Body.Media) != len(files) {
		l.Fatalf("message.send with %d files was answered by %s", len(files), echo)
	}
	return echo
}

// told is the last thing that the model was told in this lane.
func (l *lane) told() model.Request {
	l.Helper()
	r := l.requests()
	if len(r) == 0 {
		l.Fatal("the model was not asked")
	}
	return r[len(r)-1]
}

// inCache is a path of a file that hermes tells the model of.
var inCache = regexp.MustCompile(`/\S+/cache/\w+/\w+_[0-9a-f]{28}_[^]\s]*[^]\s.]`)

// sameFiles wants the files in hermes' cache whose paths the model was told, in
// any order.
func (l *lane) sameFiles(files ...e2e.File) {
	l.Helper()
	told := l.told().User
	var got [][]byte
	for _, path := range inCache.FindAllString(told, -1) {
		data, err := os.ReadFile(path)
		if err != nil {
			l.Error(err)
		}
		got = append(got, data)
	}
	for _, f := range files {
		if !slices.ContainsFunc(got, func(data []byte) bool { return bytes.Equal(data, f.Data) }) {
			l.Errorf("the model was not told where %s is: %q", f.Name, told)
		}
	}
	if len(got) != len(files) {
		l.Errorf("the model was told of %d files, not %d: %q", len(got), len(files), told)
	}
}

// TestMediaIn: what a person sends reaches the model: pictures as such, a voice
// note, a document and a film as files that it can open.
func TestMediaIn(t *testing.T) {
	s := start(t)
	first := e2e.File{Kind: "image", Mime: "image/png", Name: "Grüße 🌈.png", Data: painting(t, 1)}
	second := e2e.File{Kind: "image", Mime: "image/jpeg", Name: "really a PNG.jpg", Data: painting(t, 2)}
	voice := e2e.File{Kind: "voice", Mime: "audio/ogg", Name: "voice.ogg", Data: append([]byte("OggS\x00\x02"), noise(5000)...)}
	song := e2e.File{Kind: "audio", Mime: "audio/mpeg", Name: "song.mp3", Data: append([]byte("ID3\x04\x00\x00\x00\x00\x00\x00"), noise(5000)...)}
	pdf := e2e.File{Kind: "document", Mime: "application/pdf", Name: "report.pdf", Data: append([]byte("%PDF-1.7\n"), noise(100_000)...)}
	notes := e2e.File{Kind: "document", Mime: "text/plain", Name: "notes.txt", Data: []byte("remember the milk")}

	t.Run("pictures", func(t *testing.T) {
		l := newLane(t, s, "pictures")
		l.attach(l.ask("plain"), first, second)
		l.idle()
		got := l.told().Images
		if len(got) != 2 || !bytes.Equal(got[0], first.Data) || !bytes.Equal(got[1], second.Data) {
			t.Errorf("the model saw %d pictures, or other ones; it was told %q", len(got), l.told().User)
		}
		l.check("media-in")
	})
	t.Run("voice", func(t *testing.T) {
		l := newLane(t, s, "voice")
		l.attach(l.ask("one"), voice)
		l.idle()
		l.sameFiles(voice)
		if got := l.told().User; !strings.Contains(got, "voice message") {
			t.Errorf("the model was told %q", got)
		}
	})
	t.Run("files", func(t *testing.T) {
		l := newLane(t, s, "files")
		l.attach(l.ask("one"), pdf, notes, song)
		l.idle()
		l.sameFiles(pdf, notes, song)
		if got := l.told().User; !strings.Contains(got, string(notes.Data)) {
			t.Errorf("the model was told %q", got)
		}
	})
	t.Run("names", func(t *testing.T) {
		l := newLane(t, s, "names")
		var files []e2e.File
		for _, name := range []string{"../../etc/\u202epasswd\x00", "NUL", ".profile", strings.Repeat("長", 300) + ".pdf"} {
			files = append(files, e2e.File{Kind: "document", Mime: "application/pdf", Name: name, Data: append([]byte("%PDF-1.7\n"), noise(1000+len(name))...)})
		}
		l.attach(l.ask("one"), files...)
		l.idle()
		l.sameFiles(files...)
		for _, path := range inCache.FindAllString(l.told().User, -1) {
			if dir, name := filepath.Split(path); !strings.HasSuffix(dir, "/cache/documents/") || !strings.HasPrefix(name, "doc_") || len(name) > 255 || strings.Contains(name, "\u202e") {
				t.Errorf("a file lies at %q", path)
			}
		}
	})
	t.Run("without a word", func(t *testing.T) {
		l := newLane(t, s, "wordless")
		before := len(s.model.Requests())
		l.attach("", first)
		l.idle()
		seen := slices.ContainsFunc(s.model.Requests()[before:], func(r model.Request) bool {
			return len(r.Images) == 1 && bytes.Equal(r.Images[0], first.Data)
		})
		if !seen {
			t.Error("the model did not see the picture")
		}
	})
	t.Run("while busy", func(t *testing.T) {
		l := newLane(t, s, "busy")
		hold := l.hold()
		l.send(l.ask("plain"))
		await(l.T, hold.Arrived(), "hermes asks the model")
		l.attach("and this, #reason key="+l.key, first)
		hold.Rest()
		l.idle()
		l.idle()
		if got := l.told(); len(got.Images) != 1 || !bytes.Equal(got.Images[0], first.Data) {
			t.Errorf("the model saw %d pictures with %q", len(got.Images), got.User)
		}
	})
}

// share writes files into hermes' work folder and asks for them.
func (l *lane) share(files ...e2e.File) {
	l.Helper()
	text := l.ask("share")
	for _, f := range files {
		path := filepath.Join(l.stack.hermes.Work(), l.key+"-"+f.Name)
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			l.Fatal(err)
		}
		text += " path=" + path
	}
	l.send(text)
}

// got awaits a file of the agent and pulls it.
func (l *lane) got(f e2e.File) {
	l.Helper()
	offer := l.await("media.offer", e2e.Is("media.offer"))
	m := l.await("the message with the file", func(f e2e.Frame) bool { return f.Type == "message" && len(f.Body.Media) > 0 })
	var described e2e.Media
	l.payload(offer, &described)
	want := e2e.Media{MediaID: described.MediaID, Kind: f.Kind, Mime: f.Mime, Size: int64(len(f.Data)), Filename: l.key + "-" + f.Name}
	if described != want || m.Body.Media[0] != want || m.Body.Role != "assistant" {
		l.Errorf("offered was %s, then came %s; want %+v", offer, m, want)
	}
	if data := l.watch.Pull(l, described.MediaID); !bytes.Equal(data, f.Data) {
		l.Errorf("%s: %d other bytes came, %d were sent", f.Name, len(data), len(f.Data))
	}
}

// TestMediaOut: what the agent sends reaches the phones, to the last byte, in its
// order; its paths never do.
func TestMediaOut(t *testing.T) {
	s := start(t)
	picture := e2e.File{Kind: "image", Mime: "image/png", Name: "plot.png", Data: painting(t, 3)}
	t.Run("picture", func(t *testing.T) {
		l := newLane(t, s, "picture")
		l.share(picture)
		l.got(picture)
		l.check("media-out")
	})
	t.Run("several", func(t *testing.T) {
		l := newLane(t, s, "several")
		page := e2e.File{Kind: "image", Mime: "text/plain", Name: "lie.png", Data: []byte("<html><script>alert(1)</script></html>")}
		page.Kind = "document"
		pdf := e2e.File{Kind: "document", Mime: "application/pdf", Name: "report.pdf", Data: append([]byte("%PDF-1.7\n"), noise(3<<20)...)}
		voice := e2e.File{Kind: "voice", Mime: "audio/ogg", Name: "voice.ogg", Data: append([]byte("OggS\x00\x02"), noise(5000)...)}
		other := e2e.File{Kind: "image", Mime: "image/png", Name: "other.png", Data: painting(t, 4)}
		empty := e2e.File{Kind: "document", Mime: "text/csv", Name: "empty.csv"}
		l.share(picture, page, pdf, other, voice, empty)
		for _, f := range []e2e.File{picture, page, other, pdf, voice, empty} { // hermes sends pictures first
			l.got(f)
		}
		for _, f := range l.frames() {
			path := strings.Contains(f.Body.Text+f.Body.FinalText, s.hermes.Work())
			if f.Body.Role != "user" && (path || strings.Contains(string(f.Payload), "MEDIA:")) {
				t.Errorf("%s tells a path", f)
			}
		}
	})
	t.Run("too large", func(t *testing.T) {
		l := newLane(t, s, "toolarge")
		l.share(e2e.File{Name: "huge.png", Data: make([]byte, 64<<20+1)}, picture)
		note := l.await("the notice", e2e.Is("notification"))
		if !strings.Contains(string(note.Payload), "huge.png") || !strings.Contains(string(note.Payload), "64 MiB") {
			t.Errorf("the notice is %s", note)
		}
		l.got(picture)
	})
}

// breaks are what may happen in the middle of a file.
var breaks = []struct {
	name string
	do   func(t *testing.T, s *stack)
}{
	{"gateway killed", func(t *testing.T, s *stack) { s.gate.Kill(t); s.gate.Start(t) }},
	{"gateway terminated", func(t *testing.T, s *stack) { s.gate.Terminate(t); s.gate.Start(t) }},
	{"cut", func(*testing.T, *stack) {}},
	{"hermes killed", func(t *testing.T, s *stack) { s.hermes.Kill(); s.hermes.Start(t) }},
}

// TestMediaCut: whatever breaks in the middle of a file, it arrives whole, once: on
// the phone what the agent sends, at the agent, with its message, what a person sends.
func TestMediaCut(t *testing.T) {
	s := start(t)
	tunnel := e2e.NewTunnel(t, s.gate)
	s = s.through(t, tunnel)
	quick := newLane(t, s, "quick") // the first turn takes long
	quick.send(quick.ask("one"))
	quick.idle()
	for _, b := range breaks {
		t.Run("out/"+b.name, func(t *testing.T) {
			l := newLane(t, s, "outcut")
			film := e2e.File{Kind: "video", Mime: "video/mp4", Name: "film.mp4", Data: append([]byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"), noise(30<<20)...)}
			tunnel.Arm(20<<20, 1<<40)
			l.share(film)
			tunnel.AwaitStuck(t)
			b.do(t, s)
			tunnel.Free()
			l.watch.Connect(t)
			l.got(film)
			s.gate.AwaitHost(t, s.host)
		})
		t.Run("in/"+b.name, func(t *testing.T) {
			l := newLane(t, s, "incut")
			zip := e2e.File{Kind: "document", Mime: "application/zip", Name: "backup.zip", Data: append([]byte("PK\x03\x04"), noise(20<<20)...)}
			tunnel.Arm(1<<40, 10<<20)
			l.attach(l.ask("one"), zip)
			tunnel.AwaitStuck(t)
			b.do(t, s)
			tunnel.Free()
			l.phone.Connect(t)
			l.watch.Connect(t)
			l.idle()
			l.sameFiles(zip)
			s.gate.AwaitHost(t, s.host)
		})
	}
}
