package hostsetup

import "strings"

// context is how many unchanged lines are shown around a change.
const context = 2

// diffLine is a line of a difference: '+', '-' or ' ' before it.
type diffLine struct {
	sign byte
	text string
}

// Diff shows how a text became another: the changed lines, and a few around
// them. It returns nothing when nothing changed.
func Diff(before, after string) []string {
	all := compare(splitLines(before), splitLines(after))
	near := make([]bool, len(all))
	for i, l := range all {
		if l.sign == ' ' {
			continue
		}
		for j := max(0, i-context); j <= min(len(all)-1, i+context); j++ {
			near[j] = true
		}
	}
	var out []string
	gap := false
	for i, l := range all {
		if !near[i] {
			gap = true
			continue
		}
		if gap && len(out) > 0 {
			out = append(out, "  …")
		}
		gap = false
		out = append(out, string(l.sign)+" "+strings.TrimRight(l.text, "\r\n"))
	}
	return out
}

// compare finds the longest common lines.
func compare(a, b []string) []diffLine {
	length := make([][]int, len(a)+1) // of the longest common part of a[i:] and b[j:]
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var out []diffLine
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			out = append(out, diffLine{'-', a[i]})
			i++
		default:
			out = append(out, diffLine{'+', b[j]})
			j++
		}
	}
	return out
}
