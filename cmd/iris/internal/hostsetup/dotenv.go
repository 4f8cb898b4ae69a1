package hostsetup

import (
	"regexp"
	"strings"
)

// dotenv is the text of a .env file.
type dotenv struct{ text string }

// assignment matches a line that gives a variable a value.
func assignment(name string) *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:export\s+)?` + regexp.QuoteMeta(name) + `\s*=(.*)$`)
}

// find returns the last line that gives a variable a value, the one that
// counts: its place, the line, and the value. The place is -1 for none.
func (d dotenv) find(name string) (at int, line, value string) {
	at = -1
	re := assignment(name)
	for i, l := range splitLines(d.text) {
		l = strings.TrimRight(l, "\r\n")
		if m := re.FindStringSubmatch(l); m != nil {
			at, line, value = i, l, strings.Trim(strings.TrimSpace(m[1]), `"'`)
		}
	}
	return at, line, value
}

// set gives a variable a value, by a whole line.
func (d *dotenv) set(name, line string) {
	lines := splitLines(d.text)
	if at, _, _ := d.find(name); at >= 0 {
		lines[at] = line + "\n"
	} else {
		lines = append(lines, line+"\n")
	}
	d.text = strings.Join(lines, "")
}

// remove takes the line that counts away.
func (d *dotenv) remove(name string) {
	at, _, _ := d.find(name)
	if at < 0 {
		return
	}
	lines := splitLines(d.text)
	d.text = strings.Join(append(lines[:at:at], lines[at+1:]...), "")
}
