package history

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// Mark names a state of an Archive, in the same way as long as the files exist. The state of a
// zxid is that after the last transaction up to it; several transactions share a millisecond.
// The state of a time is that before the first transaction that is later.
type Mark struct {
	// Zxid counts if Time is zero.
	Zxid txnlog.Zxid
	Time time.Time
	// Nth tells changes of one time apart, which recordings have: the state is that after so
	// many of them. Default, and for logs: AllOfThem.
	Nth int
}

// AllOfThem is the Mark.Nth of the state after all changes of a time.
const AllOfThem = -1

// String is the form of links: 0x200000017, 2026-11-28T03:12:00Z, or 2026-11-28T03:12:00Z~2.
func (m Mark) String() string {
	if m.Time.IsZero() {
		return m.Zxid.String()
	}
	text := m.Time.UTC().Format(time.RFC3339Nano)
	if m.Nth != AllOfThem {
		text += "~" + strconv.Itoa(m.Nth)
	}
	return text
}

// isBefore reports whether the state of the mark is before a transaction, which is the nth of
// its time.
func (m Mark) isBefore(at Moment, nth int) bool {
	if m.Time.IsZero() {
		return at.Zxid > m.Zxid
	}
	return at.Time.After(m.Time) || m.Nth != AllOfThem && at.Time.Equal(m.Time) && nth > m.Nth
}

// ErrNotAMark means that a text names no state.
var ErrNotAMark = errors.New(`it must be a zxid, as in 0x200000017, or a moment, as in 2026-11-26T03:12:00Z, "2026-11-26 03:12:00", 03:12 or 90m (ago)`)

// ParseMark reads a mark, or a moment in a form of ParseTime. The error wraps ErrNotAMark.
func ParseMark(text string, now time.Time) (Mark, error) {
	if digits, is := strings.CutPrefix(text, "0x"); is {
		if z, err := strconv.ParseUint(digits, 16, 63); err == nil {
			return Mark{Zxid: txnlog.Zxid(z), Nth: AllOfThem}, nil //nolint:gosec // 63 bits
		}
	}
	before, nth, numbered := strings.Cut(text, "~")
	at, known := ParseTime(strings.TrimPrefix(before, "-"), now)
	m := Mark{Time: at, Nth: AllOfThem}
	if numbered {
		n, err := strconv.ParseUint(nth, 10, 31)
		m.Nth, known = int(n), known && err == nil //nolint:gosec // 31 bits
	}
	if !known || at.IsZero() {
		return Mark{}, fmt.Errorf("%q: %w", text, ErrNotAMark)
	}
	return m, nil
}

// The forms of a moment with a date, in local time without a zone.
var dated = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} // read only

// The forms of a time of day.
var ofDay = []string{"15:04:05", "15:04"} // read only

// ParseTime reads a date and a time, the last such time of day before now, or how long ago.
func ParseTime(text string, now time.Time) (at time.Time, known bool) {
	for _, form := range dated {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, true
		}
	}
	for _, form := range ofDay {
		t, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		year, month, day := now.Date()
		at := time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
		if at.After(now) {
			at = time.Date(year, month, day-1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
		}
		return at, true
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	return time.Time{}, false
}
