package testenv

import (
	"fmt"
	"strconv"
	"strings"
)

// String says what was looked at, for a person.
func (s Scan) String() string {
	var ours []string
	for _, k := range []struct {
		kind Kind
		name string
	}{
		{Gateways, "gateways"}, {CommandLine, "the command line"}, {Plugin, "the plugin's tests"},
	} {
		if c := s.Logs[k.kind]; c.Logs > 0 {
			ours = append(ours, fmt.Sprintf("%s of %s in %s", count(c.Lines, "line"), k.name, count(c.Logs, "log")))
		}
	}
	var said []string
	if len(ours) > 0 {
		said = append(said, fmt.Sprintf("none of %s and %s is in %s", count(s.Tokens, "token"), count(s.Texts, "text"), list(ours)))
	}
	if c := s.Logs[Simulated]; c.Logs > 0 {
		said = append(said, fmt.Sprintf("none of their own is in %s of simulated gateways in %s", count(c.Lines, "line"), count(c.Logs, "log")))
	}
	if c := s.Logs[Hermes]; c.Logs > 0 {
		said = append(said, fmt.Sprintf("no token is in %s of hermes in %s, and no text in the %s of them by the plugin",
			count(c.Lines, "line"), count(c.Logs, "log"), thousands(s.Own)))
	}
	return strings.Join(said, "; ")
}

// list joins names as a sentence does.
func list(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// count is a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return thousands(n) + " " + thing
}

// thousands writes a number with a comma after each three digits.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
