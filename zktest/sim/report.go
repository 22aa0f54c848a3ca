package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Failure is a run that failed, with the shortest schedule that fails alike.
type Failure struct {
	// Seed is that of the run; Tried is the number of seeds until then.
	Seed  uint64
	Tried int
	// Schedule is that of the seed, Shortest what is left of it.
	Schedule, Shortest Schedule
	// Invariant is the name of what was broken, and Err says how, in the last run of
	// Shortest that failed.
	Invariant string
	Err       error
	// History is that of the same run.
	History *History
	// Runs is the number of runs that it took to shorten the schedule. Confirmed is how
	// many of five more runs of Shortest failed alike: less than five means that the order
	// of goroutines at one instant matters.
	Runs, Confirmed int

	test string
}

// Error implements error, in one line.
func (f *Failure) Error() string { return fmt.Sprintf("seed %d: %s: %v", f.Seed, f.Invariant, f.Err) }

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// Report is the failure for people, for a terminal of 100 columns: what was broken, the
// shortest schedule, who was inside what and when, the time line up to the failure, and the
// command that repeats the run.
func (f *Failure) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n\n", f)
	if f.Runs > 0 {
		fmt.Fprintf(&b, "Faults that are needed: %d of %d (%d runs; the last schedule failed in %d of %d more):\n\n",
			len(f.Shortest), len(f.Schedule), f.Runs, f.Confirmed, confirmations)
	}
	fmt.Fprintf(&b, "%s\n", indent(f.Shortest.String()))
	at := f.History.timeOf(f.Err)
	for _, what := range f.History.entered() {
		fmt.Fprintf(&b, "\nInside %s until %.3fs: = inside, ~ frozen or expired, x not running, . outside\n\n%s",
			what, at.Seconds(), f.History.lanes(what, at))
	}
	fmt.Fprintf(&b, "\nTime line:\n\n%s\n", f.History.timeLine(at))
	fmt.Fprintf(&b, "\nThe same seed again:\n\n    GOMAXPROCS=1 ZKTEST_SEED=%d go test -count=1 -run '%s' .\n", f.Seed, testPattern(f.test))
	fmt.Fprintf(&b, "\nThe shortest schedule alone, with the same seed:\n\n    sim.Options{Schedule: sim.MustParse(`\n%s`)}\n",
		indent(f.Shortest.String()))
	return b.String()
}

// testPattern is the argument of go test -run for a test.
func testPattern(name string) string { return "^" + strings.ReplaceAll(name, "/", "$/^") + "$" }

func indent(text string) string {
	if text == "" {
		return "    (no faults)"
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// entered are the things that processes were inside.
func (h *History) entered() (out []string) {
	for _, e := range h.Events {
		if e.Kind == Entered && !slices.Contains(out, e.What) {
			out = append(out, e.What)
		}
	}
	return out
}

// columns is the width of the picture of the processes.
const columns = 72

// lanes draws who was inside what, with a line for each process, and one for the faults.
func (h *History) lanes(what string, until time.Duration) string {
	// A little more than until, so that what happened then can be seen.
	scale := until*columns/(columns-2) + 1
	column := func(at time.Duration) int { return min(int(at*columns/scale), columns-1) }
	fill := func(lane []byte, from, to time.Duration, mark byte) {
		for i := column(from); i <= column(to) && from <= until; i++ {
			lane[i] = mark
		}
	}
	width := len("faults")
	for _, name := range h.Processes {
		width = max(width, len(name))
	}
	var b strings.Builder
	for _, name := range h.Processes {
		lane := []byte(strings.Repeat(".", columns))
		for _, p := range h.periods(name) {
			fill(lane, p.From, p.To, p.mark)
		}
		for _, s := range h.Spans(what) {
			if s.Process == name {
				fill(lane, s.From, s.To, '=')
			}
		}
		fmt.Fprintf(&b, "    %-*s |%s|\n", width, name, lane)
	}
	faults := []byte(strings.Repeat(" ", columns))
	for _, e := range h.Events {
		if e.Kind == Struck {
			fill(faults, e.At, e.At, '^')
		}
	}
	fmt.Fprintf(&b, "    %-*s |%s|\n", width, "faults", faults)
	right := fmt.Sprintf("%.1fs", until.Seconds())
	fmt.Fprintf(&b, "    %-*s  0s%*s\n", width, "", columns-2, right)
	return b.String()
}

// period is a time in which a process did not run or could not know.
type period struct {
	From, To time.Duration
	mark     byte
}

// periods are the times in which a process was not running (x), or could not know (~).
func (h *History) periods(name string) (out []period) {
	var s spanner
	last, running := time.Duration(0), false
	for _, e := range h.Events {
		if e.Process != name {
			continue
		}
		switch {
		case !running:
			out = append(out, period{last, e.At, 'x'})
		case s.blind():
			out = append(out, period{last, e.At, '~'})
		}
		s.takeEvent(e, "")
		switch e.Kind {
		case Started:
			running = true
		case Killed, Ended:
			running = false
		}
		last = e.At
	}
	if !running {
		out = append(out, period{last, h.end(), 'x'})
	}
	return out
}

// Parts of a time line that is long: its beginning, and what is before the failure.
const (
	headLines = 12
	tailLines = 60
)

// foldRepeats has a line for each event. Of four or more alike in a row, it has the first and
// the last one.
func foldRepeats(events []Event) (lines []string) {
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].repeats(events[0]) {
			n++
		}
		if n < 4 {
			lines = append(lines, events[0].String())
			events = events[1:]
			continue
		}
		lines = append(lines, events[0].String(), fmt.Sprintf("           ... %d times more ...", n-2), events[n-1].String())
		events = events[n:]
	}
	return lines
}

// repeats reports whether e is an effect like other, with another id.
func (e Event) repeats(other Event) bool {
	return e.Kind == Done && other.Kind == Done && e.Process == other.Process && e.What == other.What && e.Token == other.Token
}

// timeLine has the events until the failure.
func (h *History) timeLine(until time.Duration) string {
	lines := foldRepeats(slices.DeleteFunc(slices.Clone(h.Events), func(e Event) bool { return e.At > until }))
	if n := len(lines) - headLines - tailLines; n > 1 {
		lines = slices.Concat(lines[:headLines], []string{fmt.Sprintf("           ... %d lines ...", n)}, lines[headLines+n:])
	}
	return strings.Join(lines, "\n")
}
