package deploytest

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What comments cite is there: a page of docs, docs/design or the root, and its
// section, as in log.md, "Ring" or hermes.md §7.1; and what "protocol: X" names.
func TestCitations(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".py", ".md"}, filepath.Ext(path)):
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n, faults := citations(path, raw)
		found += n
		for _, fault := range faults {
			t.Errorf("%s cites %s", path, fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 100 {
		t.Errorf("%d citations found, there are more: the test does not see them", found)
	}
}

// What is not there is told, also over two lines of a comment.
func TestWrongCitations(t *testing.T) {
	t.Parallel()
	for comment, want := range map[string]int{
		"// See log.md, \"Ring\" and \"Tail\".":           0,
		"// See (log.md, \"What\n// must be provable\").": 0,
		"// See hermes.md §7.1, §0.9b; docs/cost.md.":     0,
		"// (protocol: Close codes, 4408)":                0,
		"// See lag.md.":                                  1,
		"// See log.md, \"Rung\".":                        1,
		"// See log.md, \"Ring\" and \"Tale\".":           1,
		"// See (log.md,\n// \"What must\n// be\").":      1,
		"// See hermes.md §7.1, §7.9.":                    1,
		"// (protocol: Close codes, 4499)":                1,
	} {
		if _, faults := citations("../x.go", []byte("package x\n\n"+comment+"\n")); len(faults) != want {
			t.Errorf("%q: %q, want %d faults", comment, faults, want)
		}
	}
}

var (
	cited    = regexp.MustCompile(`([\w./-]*\w\.md)\)?((?:,?(?: and)? ?(?: "[^"]+"|§\d[\w.]*\w|§\d))*)`)
	section  = regexp.MustCompile(`"[^"]+"|§\d[\w.]*\w|§\d`)
	protocol = regexp.MustCompile(`\(protocol: ([^)]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (?:(\d[\w.]*\w|\d)\.? )?(.*)$`)
	python   = regexp.MustCompile(`(?s)""".*?"""|#[^\n]*`)
	wrapped  = regexp.MustCompile(`\s*\n\s*(?://|#:?)?\s*`)
)

// citations looks at what the comments of a file cite, or all of a page.
func citations(path string, raw []byte) (n int, faults []string) {
	text := wrapped.ReplaceAllString(comments(path, raw), " ")
	for _, c := range cited.FindAllStringSubmatch(text, -1) {
		n++
		page, err := pageOf(path, c[1])
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		for _, s := range section.FindAllString(c[2], -1) {
			if !hasSection(page, s) {
				faults = append(faults, fmt.Sprintf("%s, %s: there is no such section", c[1], s))
			}
		}
	}
	for _, c := range protocol.FindAllStringSubmatch(text, -1) {
		for _, item := range strings.Split(c[1], ", ") {
			if n++; !inProtocol(item) {
				faults = append(faults, fmt.Sprintf("protocol: %s: docs/protocol.md does not have it", item))
			}
		}
	}
	return n, faults
}

// comments returns the comments of a Go or Python file (docstrings too), and all
// of a page. What does not belong together is kept apart.
func comments(path string, raw []byte) string {
	switch filepath.Ext(path) {
	case ".md":
		return string(raw)
	case ".py":
		return strings.Join(python.FindAllString(string(raw), -1), "\n")
	}
	var all strings.Builder
	var s scanner.Scanner
	file := token.NewFileSet().AddFile(path, -1, len(raw))
	s.Init(file, raw, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return all.String()
		case tok == token.COMMENT:
			fmt.Fprintf(&all, "\n%s", lit)
		case tok != token.SEMICOLON || lit != "\n":
			fmt.Fprintf(&all, "\n|%d|", pos)
		}
	}
}

// pageOf reads a page that a file names by its path, or, if it is one of docs or
// docs/design, by its name.
func pageOf(path, name string) (string, error) {
	for _, dir := range []string{filepath.Dir(path), "..", "../docs", "../docs/design"} {
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return string(raw), nil
		}
	}
	return "", fmt.Errorf("%s: there is no such page", name)
}

// hasSection reports whether a page has a heading with this "name" or §number.
func hasSection(page, section string) bool {
	return slices.ContainsFunc(heading.FindAllStringSubmatch(page, -1), func(h []string) bool {
		return section == "§"+h[1] || section == `"`+h[2]+`"`
	})
}

// inProtocol reports whether docs/protocol.md has a section of this name, the
// protocol such a frame, or the page this "detail" or number.
func inProtocol(item string) bool {
	raw, err := os.ReadFile("../docs/protocol.md")
	page := string(raw)
	for _, suffix := range []string{".json", ".request.json"} {
		if _, err := os.Stat("../docs/protocol/" + item + suffix); err == nil {
			return true
		}
	}
	detail := strings.Trim(item, `"`)
	return err == nil && (hasSection(page, `"`+item+`"`) ||
		(detail != item || strings.Trim(item, "0123456789") == "") && strings.Contains(page, detail))
}
