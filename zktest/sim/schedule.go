package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// ErrFault is wrapped by the errors about an invalid fault.
var ErrFault = errors.New("invalid fault")

func kindExists(k Kind) bool { return slices.Contains(DefaultKinds(), k) }

// Schedule is a list of faults. Faults may overlap: a target is well again when the last of
// the faults of one kind that strike it is over.
type Schedule []Fault

// String has a line for each fault, as Parse reads it.
func (s Schedule) String() string {
	lines := make([]string, len(s))
	for i, f := range s {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// End is when the last fault is over.
func (s Schedule) End() (end time.Duration) {
	for _, f := range s {
		end = max(end, f.end())
	}
	return end
}

// check reports the first invalid fault.
func (s Schedule) check() error {
	for _, f := range s {
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}

// Parse reads the text of a Schedule: a line for each fault, as String writes it. Empty
// lines are left out. The error wraps ErrFault, and names the line.
func Parse(text string) (Schedule, error) {
	var out Schedule
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		f, err := parseFault(words)
		if err == nil {
			err = f.check()
		}
		if err != nil {
			return nil, fmt.Errorf("sim: line %d: %w", i+1, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// MustParse is Parse for a schedule that stands in a test; it panics if the text is
// invalid.
func MustParse(text string) Schedule {
	s, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

func parseFault(words []string) (f Fault, err error) {
	if f.At, err = time.ParseDuration(words[0]); err != nil {
		return f, fmt.Errorf("%q is not a time such as 12.5s: %w", words[0], ErrFault)
	}
	words = words[1:]
	if len(words) > 0 && strings.HasPrefix(words[0], "+") {
		if f.For, err = time.ParseDuration(words[0][1:]); err != nil {
			return f, fmt.Errorf("%q is not a duration such as +3s: %w", words[0], ErrFault)
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return f, fmt.Errorf("the kind is missing: %w", ErrFault)
	}
	f.Kind = Kind(words[0])
	for _, word := range words[1:] {
		if err := f.parseField(word); err != nil {
			return f, fmt.Errorf("%q: %w", word, err)
		}
	}
	return f, nil
}

// parseField reads one "name=value".
func (f *Fault) parseField(word string) (err error) {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "process":
		f.Process = value
	case "server":
		f.Server, err = strconv.Atoi(value)
	case "other":
		f.Other, err = strconv.Atoi(value)
	case "nth":
		f.Nth, err = strconv.Atoi(value)
	case "by":
		f.By, err = time.ParseDuration(value)
	case "direction":
		i := slices.Index(directions(), value)
		if i < 0 {
			return fmt.Errorf("the directions are %s: %w", strings.Join(directions(), ", "), ErrFault)
		}
		f.Direction = zktest.Direction(i)
	default:
		return fmt.Errorf("the fields are process, server, other, nth, direction and by: %w", ErrFault)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFault, err)
	}
	return nil
}
