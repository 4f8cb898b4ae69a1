package testenv

import (
	"errors"
	"os"
	"os/exec"
	"strings"
)

// CheckRace says what is missing for go test -race: it links with a C compiler.
func CheckRace() error {
	out, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		return errors.New("the go command is not on PATH: install Go 1.26 or later")
	}
	if os.Getenv("CGO_ENABLED") == "0" {
		return errors.New("CGO_ENABLED=0 is set, and the race detector needs cgo: unset it")
	}
	cc := strings.Fields(string(out))
	if len(cc) == 0 {
		cc = []string{"gcc"}
	}
	if _, err := exec.LookPath(cc[0]); err != nil {
		return errors.New("no C compiler (" + cc[0] + ") for go test -race: install gcc (Debian: `apt-get install gcc libc6-dev`)")
	}
	return nil
}
