package deploytest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// costs reads prices, what is free, and counts from the tables of docs/cost.md.
type costs struct {
	*testing.T
	doc string
}

// row returns the numbers of the table row that begins with the label.
func (c costs) row(label string) []float64 {
	c.Helper()
	_, rest, ok := strings.Cut(c.doc, "\n| "+label+" |")
	if !ok {
		c.Fatalf("docs/cost.md has no row %q", label)
	}
	line, _, _ := strings.Cut(rest, "\n")
	var numbers []float64
	for _, s := range regexp.MustCompile(`[0-9]+(\.[0-9]+)?`).FindAllString(line, -1) {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			c.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func (c costs) wantLine(line string) {
	c.Helper()
	if !strings.Contains(c.doc, "\n"+line+"\n") {
		c.Errorf("docs/cost.md lacks the line\n%s", line)
	}
}

// beyond is the price of what is not free.
func beyond(n float64, price []float64) float64 { return max(0, n-price[1]) * price[0] }

const days = 30

// run is a month of Cloud Run with an open socket for so many seconds.
func (c costs) run(seconds float64, billing string) float64 {
	c.Helper()
	cpu := c.row("vCPU second, `billing = \"" + billing + "\"`")
	memory := c.row("GiB second, `billing = \"" + billing + "\"`")
	return beyond(seconds, cpu) + beyond(seconds/2, memory)
}

// firestore is what so many devices and hosts do a day, and what it costs a
// month with and without the free quota.
func (c costs) firestore(devices, hosts float64) (ops [3]float64, month, unfree float64) {
	c.Helper()
	turn := c.row("a turn: a message, two tools, an answer streamed for 12 s")
	socket := c.row("a socket, from the attachment of a phone or host to the next")
	page := c.row("a page of 50 messages of history")
	for i, what := range []string{"writes", "deletes", "reads"} {
		ops[i] = devices*(20*turn[i]+12*(socket[i]+page[i])) + hosts*26*socket[i]
		// The label has the number that the price is for, so it is cut off here.
		price := c.row("100,000 document " + what)
		month += days * beyond(ops[i], price) / 1e5
		unfree += days * ops[i] * price[0] / 1e5
	}
	return ops, month, unfree
}

func TestCosts(t *testing.T) {
	t.Parallel()
	c := costs{t, read(t, "docs/cost.md")}
	for label, hours := range map[string]float64{"always": 24, "16 hours a day": 16, "8 hours a day": 8, "100 minutes a day": 100. / 60} {
		s := hours * 3600 * days
		c.wantLine(fmt.Sprintf("| %s | %.0f | %.2f | %.2f |", label, s, c.run(s, "request"), c.run(s, "instance")))
	}
	var firestore []float64
	var unfree float64
	for _, n := range [][2]float64{{1, 1}, {5, 1}, {50, 10}} {
		var ops [3]float64
		var month float64
		ops, month, unfree = c.firestore(n[0], n[1])
		firestore = append(firestore, month)
		c.wantLine(fmt.Sprintf("| %.0f | %.0f | %.0f | %.0f | %.0f | %.2f |", n[0], n[1], ops[0], ops[1], ops[2], month))
	}
	if want := fmt.Sprintf("would be %.2f USD", unfree); !strings.Contains(c.doc, want) {
		t.Errorf("docs/cost.md lacks %q", want)
	}
	for label, month := range map[string]float64{
		"hermes always connected, `billing = \"instance\"`":             c.run(24*3600*days, "instance"),
		"hermes always connected, `billing = \"request\"`, the default": c.run(24*3600*days, "request"),
		"hermes connected 8 hours a day, `billing = \"instance\"`":      c.run(8*3600*days, "instance"),
		"hermes connected 100 minutes a day, `billing = \"request\"`":   c.run(100*60*days, "request"),
	} {
		c.wantLine(fmt.Sprintf("| %s | %.2f | %.2f | %.2f |", label, month+firestore[0], month+firestore[1], month+firestore[2]))
	}
}
