package historycmd

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
)

// parseMoment reads the value of a flag.
func parseMoment(flag, text string, now time.Time) (time.Time, error) {
	if t, known := history.ParseTime(text, now); known {
		return t, nil
	}
	return time.Time{}, exit.Usage(`--%s is %q; it must be a moment, as in "2026-11-26 03:12:00", 2026-11-26T03:12:00Z, 03:12 or 90m (ago)`, flag, text)
}
