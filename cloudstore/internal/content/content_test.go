package content_test

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"iris-gateway/cloudstore/internal/content"
	"iris-gateway/iris"
)

func FuzzFilename(f *testing.F) {
	for _, name := range []string{"", ".", "a/../b", `C:\x\y.txt`, "🐢.png", "a\x00b", "\xff", strings.Repeat("長", 300) + ".jpeg", "x." + strings.Repeat("e", 300), " . ", "a\u202egnp.exe", "\u2066"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := content.Filename(name)
		switch {
		case got == "" || got == "." || got == "..", len(got) > 255, !utf8.ValidString(got),
			strings.ContainsAny(got, `/\`), strings.ContainsFunc(got, unicode.IsControl), strings.ContainsAny(got, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"), filepath.Base(got) != got:
			t.Errorf("%q became %q", name, got)
		}
		if again := content.Filename(got); again != got {
			t.Errorf("%q became %q, and that %q", name, got, again)
		}
	})
}

func TestLongNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		strings.Repeat("a", 300) + ".jpeg":                             strings.Repeat("a", 250) + ".jpeg",
		strings.Repeat("a", 255):                                       strings.Repeat("a", 255),
		strings.Repeat("🐢", 300):                                       strings.Repeat("🐢", 63),
		"x." + strings.Repeat("e", 300):                                "x." + strings.Repeat("e", 253),
		strings.Repeat("a", 249) + "   .jpeg" + strings.Repeat(" ", 9): strings.Repeat("a", 249) + ".jpeg",
	} {
		if got := content.Filename(name); got != want {
			t.Errorf("%q (%d bytes): got %q (%d), want %q", name, len(name), got, len(got), want)
		}
	}
}

// Whatever is declared and whatever comes: no type is one that a browser runs.
func FuzzDescribe(f *testing.F) {
	for _, declared := range []string{"", "image/svg+xml", "text/html", "image/png", "a/b+xml", "TEXT/HTML;x=y", "application/javascript", "multipart/related"} {
		for _, head := range []string{"", "<html>", "<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>", "\x89PNG\r\n\x1a\n", "alert(1)", "MIME-Version: 1.0\r\n"} {
			f.Add("image", declared, []byte(head))
		}
	}
	f.Fuzz(func(t *testing.T, kind, declared string, head []byte) {
		kind, mime := content.Describe(iris.Media{Kind: kind, MIME: declared}, head)
		top, _, _ := strings.Cut(mime, "/")
		if strings.HasSuffix(mime, "xml") || strings.Contains(mime, "html") || strings.Contains(mime, "script") || strings.ContainsAny(mime, "; \n") || strings.ToLower(mime) != mime {
			t.Errorf("%q became %q", declared, mime)
		}
		if (kind == iris.MediaImage || kind == iris.MediaAudio || kind == iris.MediaVideo) && top != kind {
			t.Errorf("kind %s of type %s", kind, mime)
		}
	})
}
