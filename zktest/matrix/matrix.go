package matrix

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// ErrHang is wrapped by the failure of a run beyond its time limit.
var ErrHang = errors.New("hangs")

// ErrOrphan is wrapped by NoChildren.
var ErrOrphan = errors.New("orphans")

// Env is the environment of a run.
type Env struct {
	// T is the test; use T for failures of the test itself, and return failures
	// of the operation as errors.
	T testing.TB
	// Server serves in memory.
	Server *zktest.Server
	// Fault is "" in the runs that count; Request is then 0, else from 1.
	Fault   Fault
	Request int
	// Then is the fault of another request, Second; "" and 0 without a second fault.
	Then   Fault
	Second int
	// Err is the result of Op; valid in Check.
	Err error
	// State belongs to the case; for instance a client connected by Setup.
	State any

	cleanups []func()
}

// mustBeOfRun is e, unless e is not the environment of a run: then it panics.
func (e *Env) mustBeOfRun() *Env {
	if e == nil || e.Server == nil {
		panic("matrix: this Env is not that of a run: get one from matrix.Run")
	}
	return e
}

// Addrs is the connect string of the server.
func (e *Env) Addrs() string { return e.mustBeOfRun().Server.Addr() }

// Dial connects the client under test.
func (e *Env) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return e.mustBeOfRun().Server.Client("tested")(ctx, network, addr)
}

// DialOther connects a client without faults.
func (e *Env) DialOther(ctx context.Context, network, addr string) (net.Conn, error) {
	return e.mustBeOfRun().Server.Client("other")(ctx, network, addr)
}

// Suffers tells whether the run has at least one of these faults.
func (e *Env) Suffers(faults ...Fault) bool {
	run := e.mustBeOfRun()
	return slices.ContainsFunc(faults, func(f Fault) bool { return f == run.Fault || f == run.Then })
}

// Canceled reports whether a fault of the run ends the operation's context.
func (e *Env) Canceled() bool { return e.Suffers(CancelContext, CancelLost, CancelUnknown, Outage) }

// Eventually calls f, at once and then every 100 ms of virtual time, until f
// returns nil. After the time within, Eventually returns the last error of f.
func (e *Env) Eventually(within time.Duration, f func() error) error {
	e.mustBeOfRun()
	limit := time.NewTimer(within)
	defer limit.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("still so after %v: %w", within, err)
		}
	}
}

// NoChildren waits until path has no children; path need not exist. The error
// names the remaining children. The time should be longer than a session
// timeout, because the znodes of a dead session may stay this long.
func (e *Env) NoChildren(path string, within time.Duration) error {
	return e.Eventually(within, func() error {
		names, err := e.Server.Children(path)
		names = slices.DeleteFunc(names, func(n string) bool { return path == "/" && n == "zookeeper" })
		if errors.Is(err, zktest.ErrNoNode) || err == nil && len(names) == 0 {
			return nil
		}
		return fmt.Errorf("%s has children %v: %w", path, names, errors.Join(err, ErrOrphan))
	})
}

// Cleanup calls f after Check, last registered first, before the server closes.
func (e *Env) Cleanup(f func()) {
	e.mustBeOfRun()
	e.cleanups = append(e.cleanups, f)
}

// Case is an operation with the condition that must hold afterwards.
type Case struct {
	// Name appears in failures.
	Name string
	// Options of the server; nil means the defaults. InMemory is set.
	Options *zktest.Options
	// Setup prepares the run; its requests are neither counted nor broken. May be
	// nil.
	Setup func(e *Env) error
	// Op is the operation. Op may return an error; Check judges the error. Op
	// must return within Limit under every fault.
	Op func(ctx context.Context, e *Env) error
	// Check returns an error if the invariant does not hold. The faults are over
	// by then, but the client may not have noticed a broken connection yet.
	Check func(e *Env) error
	// Faults to try; nil means All.
	Faults []Fault
	// Pairs are faults to try twice in one run too: at each request and at each
	// later request. Some bugs need two faults (a lost reply, and then the lost
	// reply to the search for its outcome). Default: none.
	Pairs []Fault
	// Mixed also makes pairs of two different faults of Pairs, in either order,
	// and tries every Mixed-th of all pairs; 1 tries all. Default: only equal
	// faults.
	Mixed int
	// Every shortens the matrix of an operation with many requests: at its first and
	// at its last request all faults are tried, and at each request between them every
	// Every-th, in turns, so that consecutive requests meet different faults. Of pairs
	// of equal faults every Every-th is tried. Default: all.
	Every int
	// Counts selects the counted requests of Dial's connections; nil means
	// DefaultCounts.
	Counts func(zktest.Request) bool
	// Limit bounds each of Setup, Op, Check and clean-up in virtual time;
	// default 10 minutes.
	Limit time.Duration
	// Racy allows runs without the request to be broken, because the number of
	// requests depends on chance: any number of runs whose request does not come
	// in every run without a fault either, and of the others up to a quarter,
	// rounded up. More such runs are a failure wrapping ErrMissed. Without Racy
	// each such run is a failure.
	Racy bool

	abandoned []<-chan error // phases of this run that exceeded the limit
}

// Run explores the case, each run in a bubble, and fails t for each failure.
func Run(t *testing.T, c Case) Result {
	t.Helper()
	res := Explore(t, c)
	t.Logf("matrix %s: %d requests, %d cases, %d missed, %d failures", c.Name, res.Requests, res.Cases, res.Missed, len(res.Failures))
	for _, f := range res.Failures {
		t.Errorf("matrix %s: %v", c.Name, f)
	}
	return res
}

// Explore runs the case under all its faults, each run in a bubble, and returns
// the failures. A case without requests or faults is a failure wrapping
// ErrMissed.
func Explore(t *testing.T, c Case) Result {
	t.Helper()
	if c.Faults == nil {
		c.Faults = All()
	}
	if c.Counts == nil {
		c.Counts = DefaultCounts
	}
	if c.Limit <= 0 {
		c.Limit = 10 * time.Minute
	}
	var res Result
	usual, least, err := c.countRequests(t)
	res.Requests = usual
	if err != nil {
		res.Failures = append(res.Failures, Failure{Err: err})
		return res
	}
	for k := 1; k <= res.Requests; k++ {
		for i, f := range c.Faults {
			if k == 1 || k == res.Requests || c.has(k+i) {
				res.try(t, &c, strike{f, k}, strike{})
			}
		}
		for _, f := range c.Pairs {
			res.pairs(t, &c, strike{f, k})
		}
	}
	err = res.checkCoverage(least)
	if err != nil && c.Racy {
		// The load of the machine may have been another one at first.
		var again int
		if _, again, err = c.countRequests(t); err == nil {
			err = res.checkCoverage(min(least, again))
		}
	}
	if err != nil {
		res.Failures = append(res.Failures, Failure{Err: err})
	}
	return res
}

// has reports whether the n-th of the cases that Every shortens is tried.
func (c *Case) has(n int) bool { return c.Every <= 1 || n%c.Every == 0 }

// racyRuns is the number of runs without a fault in which the requests of a Racy case are
// counted. Background requests (watches of held locks, say) come before the end of the
// operation in a few runs only. If one such run alone set the count, the last faults
// would strike in hardly any other run.
const racyRuns = 5

// countRequests returns the usual number of the operation's requests, which is the
// median, and the least number.
func (c *Case) countRequests(t *testing.T) (usual, least int, err error) {
	t.Helper()
	runs := 1
	if c.Racy {
		runs = racyRuns
	}
	counts := make([]int, 0, runs)
	for range runs {
		n, err := c.run(t, strike{}, strike{})
		if err != nil {
			return n, n, err
		}
		counts = append(counts, n)
	}
	slices.Sort(counts)
	return counts[runs/2], counts[0], nil
}

// pairs tries second faults after a first fault.
func (r *Result) pairs(t *testing.T, c *Case, first strike) {
	t.Helper()
	seen, _ := c.run(t, first, strike{}) // how many requests follow the first fault?
	for at := first.at + 1; at <= seen; at++ {
		for i, f := range c.Pairs {
			if r.mixed++; c.Mixed > 0 && r.mixed%c.Mixed == 0 || c.Mixed == 0 && f == first.fault && c.has(first.at+at+i) {
				r.try(t, c, first, strike{f, at})
			}
		}
	}
}

// try runs the case once and records a failure.
func (r *Result) try(t *testing.T, c *Case, first, then strike) {
	t.Helper()
	seen, err := c.run(t, first, then)
	r.Cases++
	last := max(first.at, then.at)
	missed := seen < last
	r.tries = append(r.tries, attempt{last, missed})
	if missed {
		r.Missed++
		if !c.Racy && err == nil {
			err = fmt.Errorf("the request never came, only %d did", seen)
		}
	}
	if err != nil {
		r.Failures = append(r.Failures, Failure{Fault: first.fault, Request: first.at, Then: then.fault, Second: then.at, Err: err})
	}
}
