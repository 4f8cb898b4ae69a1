package server

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"
)

// Int is a whole number that keeps what was wrong with it. envconfig stops at
// the first value that it cannot decode; with this type it decodes all of
// them, and [Config.Validate] tells every fault at once.
type Int struct {
	N   int
	bad *string // the text that is no number
}

// Number returns n as a setting.
func Number(n int) Int { return Int{N: n} }

// Decode implements envconfig.Decoder. It never fails.
func (i *Int) Decode(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		*i = Int{bad: &value}
		return nil
	}
	*i = Int{N: n}
	return nil
}

// check says what is wrong with the value of the variable name.
func (i Int) check(name string, low, high int) error {
	if i.bad != nil {
		return fmt.Errorf("%s=%q: must be a whole number from %d to %d", name, *i.bad, low, high)
	}
	if i.N < low || i.N > high {
		return fmt.Errorf("%s=%d: must be from %d to %d", name, i.N, low, high)
	}
	return nil
}

// Duration is a length of time, such as 8760h, that keeps what was wrong with
// it, as Int does. Zero stands for "not set".
type Duration struct {
	D   time.Duration
	bad *string
}

// Decode implements envconfig.Decoder. It never fails.
func (d *Duration) Decode(value string) error {
	parsed, err := time.ParseDuration(value)
	if err != nil {
		*d = Duration{bad: &value}
		return nil
	}
	*d = Duration{D: parsed}
	return nil
}

// check says what is wrong with the value of the variable name.
func (d Duration) check(name string, low time.Duration) error {
	switch {
	case d.bad != nil:
		return fmt.Errorf("%s=%q: must be a length of time in hours, like 8760h for a year", name, *d.bad)
	case d.D != 0 && d.D < low:
		return fmt.Errorf("%s=%v: must be at least %v", name, d.D, low)
	}
	return nil
}

// Secret is a string that no log, format verb or encoder shows. Its value is
// had only by conversion.
type Secret string

const redacted = "[redacted]"

// String implements fmt.Stringer.
func (s Secret) String() string { return redacted }

// GoString implements fmt.GoStringer, for %#v.
func (s Secret) GoString() string { return redacted }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText implements encoding.TextMarshaler, which encoding/json uses too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Format implements fmt.Formatter: verbs such as %x and %d go past String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }
