package matrix

import (
	"errors"
	"fmt"
)

// ErrMissed is wrapped by the failure of a case whose faults too often did not strike.
var ErrMissed = errors.New("too few faults struck")

// Result is the result of a matrix.
type Result struct {
	// Requests is the number of requests of the operation without faults; of a Racy
	// case the median of five runs.
	Requests int
	// Cases is the number of runs with a fault.
	Cases int
	// Missed is the number of runs without the request to be broken.
	Missed int
	// Failures are the failed runs.
	Failures []Failure

	mixed int // how many pairs there were, whether tried or not
	tries []attempt
}

// attempt is a run with a fault.
type attempt struct {
	at     int // the last request to be broken
	missed bool
}

// Failure of one run.
type Failure struct {
	Fault   Fault
	Request int
	Then    Fault
	Second  int
	Err     error
}

// Error implements error.
func (f Failure) Error() string {
	if errors.Is(f.Err, ErrMissed) {
		return f.Err.Error()
	}
	if f.Fault == "" {
		return fmt.Sprintf("without a fault: %v", f.Err)
	}
	switch {
	case f.Second == 0:
		return fmt.Sprintf("%s at request %d: %v", f.Fault, f.Request, f.Err)
	case f.Fault == f.Then:
		return fmt.Sprintf("%s at requests %d and %d: %v", f.Fault, f.Request, f.Second, f.Err)
	}
	return fmt.Sprintf("%s at request %d and %s at request %d: %v", f.Fault, f.Request, f.Then, f.Second, f.Err)
}

// Unwrap returns the cause.
func (f Failure) Unwrap() error { return f.Err }

// checkCoverage bounds the number of missed runs, where every run without a fault had the
// request: least is the least number of requests of such a run. An operation without
// requests, or with an early return under a fault, misses more: the matrix would pass
// without testing the operation. Requests that come by chance are not bounded. A worker
// that leaves, for example, may or may not be given another task while it leaves, and
// the load of the machine decides how often.
func (r *Result) checkCoverage(least int) error {
	if r.Cases == 0 {
		return fmt.Errorf("%w: %d requests, and no case", ErrMissed, r.Requests)
	}
	cases, missed := 0, 0
	for _, a := range r.tries {
		if a.at <= max(least, 1) {
			cases++
			if a.missed {
				missed++
			}
		}
	}
	if most := (cases + 3) / 4; missed > most {
		return fmt.Errorf("%w: the request never came in %d of %d cases; at most %d may miss it", ErrMissed, missed, cases, most)
	}
	return nil
}
