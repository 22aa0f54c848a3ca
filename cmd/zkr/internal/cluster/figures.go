package cluster

import (
	"fmt"
	"strconv"
	"time"
)

// seconds is a duration for people.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s" }

// millis is a number of milliseconds for people.
func millis(ms float64) string {
	if ms < 100 {
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
}

// Left is the remaining trust of the node in its session at the time of the
// answer.
func (s Status) Left() time.Duration { return max(0, s.TrustedUntil.Sub(s.At)) }

// percent is the remaining share of the session's timeout, from 0 to 100.
func percent(s Status) int64 {
	if s.Timeout <= 0 {
		return 0
	}
	return min(100, s.Left().Milliseconds()*100/s.Timeout)
}

// gap describes the time without a leader between two leaders.
func gap(f Failover) string {
	d, ok := f.Gap()
	switch {
	case !ok && f.Cause == Freeze:
		return "it did not run"
	case !ok && f.Cause == Kill:
		return "it was dead"
	case !ok:
		return "not known yet"
	case d < 0:
		return fmt.Sprintf("BOTH served for %s", seconds(-d))
	}
	return "stopped " + millis(float64(d.Microseconds())/1000) + " before"
}

// Had is the order carried out on the former leader.
func (f Failover) Had() string {
	switch f.Cause {
	case Kill:
		return "killed"
	case Freeze:
		return "frozen"
	case Cut:
		return "cut off"
	case Resign:
		return "resigned"
	}
	return "went"
}
