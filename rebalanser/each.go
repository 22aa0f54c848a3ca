package rebalanser

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

// Each makes a handler that runs fn for each resource that is owned, in a goroutine of
// its own. fn's context ends with the cause ErrRevoked when the resource is to be
// given up: finish what is under way, and return; that is waited for. It ends with
// session.ErrLost and a reason when the resource is lost. A panic, and an error that
// is not that of its context, end the membership; who returns nil before is done with
// the resource, and keeps it.
//
// A handler of Each serves one Group.
func Each(fn func(ctx context.Context, r *Resource) error) Handler {
	return &each{fn: fn, running: map[*Resource]*job{}, fail: make(chan error, 1)}
}

// each runs a function per resource. running is only used by the calls of the
// handler, of which there is one at a time.
type each struct {
	fn      func(ctx context.Context, r *Resource) error
	running map[*Resource]*job
	fail    chan error
}

// job is one run of the function.
type job struct {
	end  context.CancelCauseFunc
	over chan struct{} // closed when it has returned
}

func (e *each) failed() <-chan error { return e.fail }

func (e *each) Assigned(_ context.Context, rs []*Resource) error {
	if e.fn == nil {
		return fmt.Errorf("%w: the function is nil", ErrArgument)
	}
	for _, r := range rs {
		inner, end := context.WithCancelCause(r.Context())
		ctx := last(inner, end, r)
		j := &job{end: end, over: make(chan struct{})}
		e.running[r] = j
		// Revoked and Lost wait for it; it ends with the function, whose context
		// they end.
		go func() {
			defer close(j.over)
			err := protect("the function", func() error { return e.fn(ctx, r) })
			if err != nil && (ctx.Err() == nil || !ending(ctx, err)) {
				e.report(fmt.Errorf("resource %q: %w", r.Name(), err))
			}
		}()
	}
	return nil
}

// report tells the member; the first failure is enough.
func (e *each) report(err error) {
	select {
	case e.fail <- err:
	default:
	}
}

// ending reports whether err only says that ctx has ended.
func ending(ctx context.Context, err error) bool {
	return errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) || errors.Is(err, session.ErrLost)
}

func (e *each) Revoked(_ context.Context, rs []*Resource) error {
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
