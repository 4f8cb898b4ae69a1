// Package content says what a medium is, as it is kept: its type by its first
// bytes, its kind, and a name that is safe. Nothing of it comes from a peer
// unchecked, and no type is one that a browser would run.
package content

import (
	"mime"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"iris-gateway/iris"
)

// HeadSize is how many first bytes [Describe] wants, or all if there are fewer.
const HeadSize = 4096

const (
	unknown   = "application/octet-stream"
	plainText = "text/plain"
)

// Describe returns the kind and type that m is kept with, by what was declared
// and the first bytes (protocol.md, "Media").
func Describe(m iris.Media, head []byte) (kind, mimeType string) {
	mimeType = typeOf(m.MIME, head)
	return kindOf(m.Kind, mimeType), mimeType
}

// typeOf checks a declared picture, sound or film against the first bytes and
// corrects it to what they are. Other types are taken at their word, for the
// bytes of most say nothing.
func typeOf(declared string, head []byte) string {
	declared, _, err := mime.ParseMediaType(declared)
	if err != nil || !strings.Contains(declared, "/") {
		declared = ""
	}
	if top := topOf(declared); declared != "" && top != "image" && top != "audio" && top != "video" {
		return harmless(declared)
	}
	if len(head) == 0 {
		return unknown
	}
	found := mimetype.Detect(head)
	if declared != "" && (found.Is(declared) || sameContainer(declared, found)) {
		return harmless(declared)
	}
	is, _, _ := strings.Cut(found.String(), ";")
	return harmless(is)
}

// containers are formats that hold sound or film, which only a parser could tell
// apart: a voice note in MPEG-4 has the first bytes of a film.
var containers = [][]string{
	{"video/mp4", "audio/mp4", "audio/x-m4a", "audio/m4a", "audio/aac", "video/x-m4v", "video/3gpp", "audio/3gpp", "video/3gpp2", "audio/3gpp2", "video/quicktime"},
	{"application/ogg", "audio/ogg", "video/ogg", "audio/opus"},
	{"video/webm", "audio/webm", "video/matroska", "video/x-matroska", "audio/x-matroska"},
	{"video/x-ms-asf", "video/x-ms-wmv", "audio/x-ms-wma"},
	{"video/mpeg", "audio/mpeg", "video/mp2t"},
}

func sameContainer(declared string, found *mimetype.MIME) bool {
	return slices.ContainsFunc(containers, func(c []string) bool {
		return slices.Contains(c, declared) && slices.ContainsFunc(c, found.Is)
	})
}

// texts are the types of text that are kept: the rest becomes plain text.
var texts = []string{plainText, "text/csv", "text/markdown", "text/calendar", "text/vcard", "text/tab-separated-values", "text/vtt", "text/rtf"}

// programs are types of programs that their names do not give away.
var programs = []string{
	"application/x-shockwave-flash", "application/x-java-applet", "application/wasm", "application/x-httpd-php", "application/hta",
	"application/x-chrome-extension", "application/x-xpinstall", "application/xslt", "application/xml-dtd",
	"application/xml-external-parsed-entity", "application/vnd.ms-htmlhelp",
}

// harmless returns a type that no browser runs: the given one if it is none.
func harmless(t string) string {
	top := topOf(t)
	runs := strings.HasSuffix(t, "xml") || strings.Contains(t, "html") || strings.Contains(t, "script") || slices.Contains(programs, t)
	switch {
	case top == "text" && slices.Contains(texts, t):
		return t
	case top == "text", top == "image" && runs: // a picture with a script in it
		return plainText
	case (top == "image" || top == "audio" || top == "video" || top == "application") && !runs:
		return t
	}
	return unknown // multipart, message, model, font and what nobody has heard of, too
}

func topOf(t string) string {
	top, _, _ := strings.Cut(t, "/")
	return top
}

// kindOf returns the kind that was declared if the type allows it, else the
// one that the type suggests. Anything may be sent as a document.
func kindOf(declared, mimeType string) string {
	top := topOf(mimeType)
	allowed := map[string]bool{
		iris.MediaImage:     top == "image",
		iris.MediaAnimation: top == "image" || top == "video",
		iris.MediaVoice:     top == "audio",
		iris.MediaAudio:     top == "audio",
		iris.MediaVideo:     top == "video",
		iris.MediaDocument:  true,
	}
	switch {
	case allowed[declared]:
		return declared
	case top == "image", top == "audio", top == "video":
		return top // the kinds have the same names
	}
	return iris.MediaDocument
}
