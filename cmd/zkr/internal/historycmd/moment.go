package historycmd

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// The forms of a moment with a date, in local time without a zone.
var dated = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} // read only

// The forms of a time of day.
var ofDay = []string{"15:04:05", "15:04"} // read only

// parseMoment reads the value of a flag: a date and a time, the last such time of day before
// now, or how long ago.
func parseMoment(flag, text string, now time.Time) (time.Time, error) {
	for _, form := range dated {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
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
		return at, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, exit.Usage(`--%s is %q; it must be a moment, as in "2026-11-26 03:12:00", 2026-11-26T03:12:00Z, 03:12 or 90m (ago)`, flag, text)
}
