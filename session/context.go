package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ContextErr returns ctx.Err() after comparing the clock for every hold that ctx
// is derived from.
//
// The Err of a hold's own context compares the clock by itself. A derived
// context, as from context.WithTimeout or an HTTP or SQL client, does not: after
// a pause of the process its Err stays nil until a timer has fired and a
// goroutine has run. Call ContextErr on such a context directly before a step
// that must not happen after a loss. Contexts made by [context.WithoutCancel] do
// not end in ContextErr either.
func ContextErr(ctx context.Context) error {
	if l := heldIn(ctx); l != nil {
		l.checkClock()
	}
	return ctx.Err()
}

// WithHolds returns a context with ctx's values and deadline, which ends when ctx
// or one of holds ends: holds are contexts of holds, of the same session or of
// several. The cause is that of the first context that ended. Its Err compares
// the clock for all of them and for ctx. Call cancel, which ends the context, to
// free its resources.
func WithHolds(ctx context.Context, holds ...context.Context) (both context.Context, cancel context.CancelCauseFunc) {
	mustHaveContext(ctx)
	for _, hold := range holds {
		mustHaveContext(hold)
	}
	inner, end := context.WithCancelCause(ctx)
	stops := make([]func() bool, len(holds))
	for i, hold := range holds {
		stops[i] = context.AfterFunc(hold, func() { end(context.Cause(hold)) })
	}
	cancel = func(cause error) {
		end(cause)
		for _, stop := range stops {
			stop()
		}
	}
	return &joined{Context: inner, ctx: ctx, end: end, holds: holds}, cancel
}

// WithoutRelease returns a context for giving back a hold, or for the steps after
// that. It is ctx, except that it does not end when the hold that ctx is derived
// from is released (ErrReleased): from then on it ends with ctx's deadline, and
// with the context that ctx was made from by [WithHolds], if any. Every other end
// of ctx ends it at once. held.Unlock(held.Context()) therefore waits for the
// server as held.Unlock(context.WithoutCancel(ctx)) does. Call cancel to free its
// resources.
func WithoutRelease(ctx context.Context) (outliving context.Context, cancel context.CancelFunc) {
	if heldIn(ctx) == nil || ctx.Done() == nil || ctx.Err() != nil && !wasReleased(ctx) {
		return ctx, func() {}
	}
	u := &unreleased{source: ctx}
	u.Context, u.end = context.WithCancelCause(context.WithoutCancel(ctx))
	u.followSource(ctx)
	return u, u.stop
}

func wasReleased(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrReleased) }

// heldKey is the key under which a context knows the innermost context of something
// held that it is derived from, or is.
type heldKey struct{}

// heldContext is the context of something held.
type heldContext interface {
	// checkClock ends what has run out, and with it all that is derived from it.
	checkClock()
	// outer is the context that goes on when the hold is released; nil if none.
	outer() context.Context
	// held are the contexts of holds: this context and the contexts that it is derived
	// from.
	held() []context.Context
}

func heldIn(ctx context.Context) heldContext {
	mustHaveContext(ctx)
	h, _ := ctx.Value(heldKey{}).(heldContext)
	return h
}

// clocked is a session's context whose Err looks at the clock.
type clocked struct {
	context.Context
	s *Session
}

func (c clocked) Err() error {
	c.s.renewer.endIfUntrusted()
	return c.Context.Err()
}

func (c clocked) Value(key any) any {
	if key == (heldKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func (c clocked) checkClock()             { c.s.renewer.endIfUntrusted() }
func (clocked) outer() context.Context    { return nil }
func (c clocked) held() []context.Context { return []context.Context{c} }

// joined is the context of [WithHolds].
type joined struct {
	context.Context
	ctx   context.Context
	end   context.CancelCauseFunc
	holds []context.Context
}

func (j *joined) Err() error {
	j.checkClock()
	return j.Context.Err()
}

func (j *joined) Value(key any) any {
	if key == (heldKey{}) {
		return j
	}
	return j.Context.Value(key)
}

func (j *joined) checkClock() {
	for _, hold := range j.holds {
		if ContextErr(hold) != nil {
			j.end(context.Cause(hold))
		}
	}
	_ = ContextErr(j.ctx) // its end has ended j, too
}

func (j *joined) outer() context.Context  { return j.ctx }
func (j *joined) held() []context.Context { return append(slices.Clone(j.holds), holdsIn(j.ctx)...) }

// unreleased is the context of [WithoutRelease].
type unreleased struct {
	context.Context
	end    context.CancelCauseFunc
	source context.Context

	// mu guards the fields below. Invariant: err is set before the context ends by
	// anything but stop; unfollow stops what was asked of the context that is
	// followed at present.
	mu       sync.Mutex
	err      error
	unfollow func() bool
	timer    *time.Timer // at the source's deadline, once the source has ended
	stopped  bool
}

// followSource ends u with ctx, or, when ctx ends because something was released, goes on
// with the context around that.
func (u *unreleased) followSource(ctx context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for ctx != nil && ctx.Err() != nil {
		if !wasReleased(ctx) {
			u.endLocked(ctx.Err(), context.Cause(ctx))
			return
		}
		u.keepDeadlineLocked()
		held := heldIn(ctx)
		if held == nil {
			return
		}
		ctx = held.outer()
	}
	if ctx != nil && ctx.Done() != nil && !u.stopped {
		u.unfollow = context.AfterFunc(ctx, func() { u.followSource(ctx) })
	}
}

// keepDeadlineLocked ends u at the source's deadline, which the source does not
// keep any more.
func (u *unreleased) keepDeadlineLocked() {
	deadline, ok := u.source.Deadline()
	if !ok || u.timer != nil || u.stopped {
		return
	}
	u.timer = time.AfterFunc(time.Until(deadline), func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.endLocked(context.DeadlineExceeded, context.DeadlineExceeded)
	})
}

func (u *unreleased) endLocked(err, cause error) {
	if u.err == nil {
		u.err = err
	}
	u.end(cause)
}

func (u *unreleased) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopped = true
	if u.unfollow != nil {
		u.unfollow()
	}
	if u.timer != nil {
		u.timer.Stop()
	}
	u.end(nil)
}

func (u *unreleased) Deadline() (time.Time, bool) { return u.source.Deadline() }

func (u *unreleased) Err() error {
	ended := u.Context.Err()
	if ended == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err != nil {
		return u.err
	}
	return ended
}
