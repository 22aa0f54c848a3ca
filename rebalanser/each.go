package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// Each makes a handler that runs fn for each owned resource, in a goroutine of
// its own. When the resource must be given up, fn's context ends with the cause
// ErrRevoked: finish the work in progress, and return; the handler waits for fn.
// When the context of [Group.Run] has ended, fn's context continues for
// Options.Grace. When the resource is lost, fn's context ends with
// session.ErrLost and a reason. If fn returns nil before its context has ended,
// fn is done with the resource, and the member keeps the resource.
//
// A failure is a panic, a call of runtime.Goexit, or an error other than that of
// the context. A failure ends the membership, or, with Options.RetryDelay, fn is
// called again for this resource.
//
// A handler of Each serves one Group.
func Each(fn func(ctx context.Context, r *Resource) error) Handler {
	return &each{
		fn: fn, running: map[*Resource]*job{}, fail: make(chan error, 1),
		failing: map[string]Failure{}, news: make(chan struct{}, 1), leaving: make(chan struct{}),
	}
}

// each runs a function per resource. running is only used by the calls of the
// handler, of which there is one at a time.
type each struct {
	fn      func(ctx context.Context, r *Resource) error
	running map[*Resource]*job
	fail    chan error
	retry   time.Duration // Options.RetryDelay
	news    chan struct{} // cap 1: failing has changed

	// mu guards the fields below: the resources that are owned and failed last; until when
	// functions go on by themselves, zero if their member does not leave with a grace;
	// leaving is closed then.
	mu      sync.Mutex
	failing map[string]Failure
	until   time.Time
	leaving chan struct{}
}

// job is one run of the function.
type job struct {
	end  context.CancelCauseFunc
	over chan struct{} // closed when it has returned
}

func (e *each) reportedFailures() <-chan error { return e.fail }

// noFunction reports whether h is an Each of nothing.
func noFunction(h Handler) bool {
	e, is := h.(*each)
	return is && e.fn == nil
}

func (e *each) Assigned(_ context.Context, rs []*Resource) error {
	for _, r := range rs {
		ctx, end := session.WithHolds(r.Context())
		j := &job{end: end, over: make(chan struct{})}
		e.running[r] = j
		// Revoked and Lost wait for it; it ends with the function, whose context
		// they end.
		go func() {
			err := errGoexit
			defer close(j.over)
			defer func() { e.judgeResult(ctx, r, err) }() // whatever the function does
			if e.retry > 0 {
				e.keepTrying(ctx, r)
				err = nil
			} else {
				err = callProtected("the function", func() error { return e.fn(ctx, r) })
			}
		}()
	}
	return nil
}

// judgeResult reports what the function has returned for r, unless its context explains it.
func (e *each) judgeResult(ctx context.Context, r *Resource, err error) {
	if err != nil && (ctx.Err() == nil || !isEndOf(ctx, err)) {
		e.reportFailure(fmt.Errorf("resource %q: %w", r.Name(), err))
	}
}

// reportFailure tells the member; the first failure is enough.
func (e *each) reportFailure(err error) {
	select {
	case e.fail <- err:
	default:
	}
}

// isEndOf reports whether err only says that ctx has ended.
func isEndOf(ctx context.Context, err error) bool {
	return errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) || errors.Is(err, session.ErrLost)
}

func (e *each) Revoked(ctx context.Context, rs []*Resource) error {
	e.awaitGrace(ctx, rs)
	for _, r := range rs {
		if j := e.running[r]; j != nil {
			j.end(ErrRevoked)
		}
	}
	e.Lost(rs)
	return nil
}

func (e *each) Lost(rs []*Resource) {
	for _, r := range rs {
		if j := e.running[r]; j != nil {
			<-j.over
			j.end(nil)
			delete(e.running, r)
		}
	}
}
