package matrix

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// ErrHang is wrapped by the failure of a run that did not end in time.
var ErrHang = errors.New("hangs")

// Env is what one run has.
type Env struct {
	// T is the test; use it for what breaks the test itself, and return what
	// the operation did wrong as an error.
	T testing.TB
	// Server serves in memory.
	Server *zktest.Server
	// Fault is "" in the run that counts; Request is then 0, else from 1.
	Fault   Fault
	Request int
	// Err is what Op returned; valid in Check.
	Err error
	// State is the case's own, for instance a client that Setup connected.
	State any

	cleanups []func()
}

// Addrs is the connect string of the server.
func (e *Env) Addrs() string { return e.Server.Addr() }

// Dial connects the client under test.
func (e *Env) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return e.Server.Client("tested")(ctx, network, addr)
}

// DialOther connects a client that suffers no faults.
func (e *Env) DialOther(ctx context.Context, network, addr string) (net.Conn, error) {
	return e.Server.Client("other")(ctx, network, addr)
}

// Cleanup calls f after Check, last registered first, before the server closes.
func (e *Env) Cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

// Case is an operation and what must hold after it.
type Case struct {
	// Name appears in failures.
	Name string
	// Options of the server; nil means the defaults. InMemory is set.
	Options *zktest.Options
	// Setup prepares; its requests are neither counted nor broken. May be nil.
	Setup func(e *Env) error
	// Op is the operation. An error is allowed; Check judges it. It must return
	// within Limit, whatever happens.
	Op func(ctx context.Context, e *Env) error
	// Check tells what is wrong afterwards. The faults are over by then, but a
	// broken connection may still have to be noticed.
	Check func(e *Env) error
	// Faults to try; nil means All.
	Faults []Fault
	// Counts tells which requests of Dial's connections count; nil means
	// DefaultCounts.
	Counts func(zktest.Request) bool
	// Limit bounds each of Setup, Op, Check and clean-up in virtual time;
	// default 10 minutes.
	Limit time.Duration
	// Racy allows runs in which the request never came, since its number
	// depends on chance. Otherwise that is a failure.
	Racy bool

	abandoned []<-chan error // phases of this run that did not end in time
}

// Result of a matrix.
type Result struct {
	// Requests is how many the operation makes without faults.
	Requests int
	// Cases is how many runs with a fault there were.
	Cases int
	// Missed is in how many of them the request never came.
	Missed int
	// Failures is what went wrong.
	Failures []Failure
}

// Failure of one run.
type Failure struct {
	Fault   Fault
	Request int
	Err     error
}

// Error implements error.
func (f Failure) Error() string {
	if f.Fault == "" {
		return fmt.Sprintf("without a fault: %v", f.Err)
	}
	return fmt.Sprintf("%s at request %d: %v", f.Fault, f.Request, f.Err)
}

// Unwrap returns the cause.
func (f Failure) Unwrap() error { return f.Err }

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
// what went wrong.
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
	n, err := c.run(t, "", 0)
	res.Requests = n
	if err != nil {
		res.Failures = append(res.Failures, Failure{Err: err})
		return res
	}
	for k := 1; k <= n; k++ {
		for _, f := range c.Faults {
			seen, err := c.run(t, f, k)
			res.Cases++
			if seen < k {
				res.Missed++
				if !c.Racy && err == nil {
					err = fmt.Errorf("the request never came, only %d did", seen)
				}
			}
			if err != nil {
				res.Failures = append(res.Failures, Failure{Fault: f, Request: k, Err: err})
			}
		}
	}
	return res
}
