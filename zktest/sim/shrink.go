package sim

import (
	"slices"
	"time"
)

// shrinker shortens the schedule of a failure, by delta debugging: it drops faults, then
// shortens those that are left, as long as a run still fails alike.
type shrinker struct {
	name    string // of the problem
	most    int    // runs
	perform func(Schedule) result

	runs int
	best result
}

// again is how often a schedule is tried until it fails. The order of goroutines at one
// instant is not decided by the seed, so that a few schedules fail in some runs only; see
// the package comment.
const again = 2

// confirmations is how often the shortest schedule is run in the end.
const confirmations = 5

// shrink completes f.
func (s *shrinker) shrink(f *Failure) *Failure {
	s.best = result{schedule: f.Schedule, history: f.History, problem: &problem{f.Invariant, f.Err}}
	if s.most > 0 {
		s.dropFaults()
		s.shortenFaults()
		s.dropFaults()
	}
	f.Shortest, f.History, f.Err = s.best.schedule, s.best.history, s.best.problem.err
	f.Runs = s.runs
	if s.most > 0 {
		for range confirmations {
			f.Confirmed += s.count(s.perform(f.Shortest))
		}
	}
	return f
}

// count is 1 for a run that fails alike.
func (s *shrinker) count(r result) int {
	if r.problem != nil && r.problem.name == s.name {
		return 1
	}
	return 0
}

// try runs a schedule, and keeps it if it fails alike.
func (s *shrinker) try(c Schedule) bool {
	for range again {
		if s.runs >= s.most {
			return false
		}
		s.runs++
		if r := s.perform(c); s.count(r) == 1 {
			s.best = r
			return true
		}
	}
	return false
}

// dropFaults drops as many faults as it can: first halves of the schedule, then smaller
// parts of it, down to single faults.
func (s *shrinker) dropFaults() {
	for size := max(1, len(s.best.schedule)/2); ; size = max(1, size/2) {
		dropped := false
		for at := 0; at < len(s.best.schedule); {
			end := min(at+size, len(s.best.schedule))
			if s.try(slices.Delete(slices.Clone(s.best.schedule), at, end)) {
				dropped = true
			} else {
				at = end
			}
		}
		if size == 1 && (!dropped || len(s.best.schedule) == 0) {
			return
		}
	}
}

// shortenFaults halves durations and delays, and moves the schedule to an earlier time.
func (s *shrinker) shortenFaults() {
	for i := range s.best.schedule {
		for s.tryFault(i, func(f *Fault) bool { return halve(&f.For) }) {
		}
		for s.tryFault(i, func(f *Fault) bool { return halve(&f.By) }) {
		}
	}
	for len(s.best.schedule) > 0 {
		first := s.best.schedule[0].At / 2
		if first < time.Second {
			return
		}
		c := slices.Clone(s.best.schedule)
		for i := range c {
			c[i].At -= first
		}
		if !s.try(c) {
			return
		}
	}
}

// tryFault changes fault i, and tries the schedule, if change has changed something.
func (s *shrinker) tryFault(i int, change func(f *Fault) bool) bool {
	c := slices.Clone(s.best.schedule)
	return change(&c[i]) && s.try(c)
}

// halve halves a duration of 100 ms or more, and reports whether it did.
func halve(d *time.Duration) bool {
	if *d < 100*time.Millisecond {
		return false
	}
	*d = (*d / 2).Round(time.Millisecond)
	return true
}
