package session

import (
	"context"
	"errors"
	"sync"
	"time"
)

// WithGrace returns a context for work that may finish after ctx ends. The context has
// ctx's values, its deadline is grace after ctx's, and it ends when grace has passed
// since ctx ended, with ctx's cause.
//
// Holds are not extended: the context ends at once, before the grace and during it,
// when a hold that ctx is derived from is lost or released, and when ctx's cause wraps
// [ErrLost] or [ErrReleased]. With a grace of 0 or less, or a ctx that has ended
// already, WithGrace returns ctx: no work is in progress yet. Call cancel, which ends
// the context, to free its resources.
func WithGrace(ctx context.Context, grace time.Duration) (outliving context.Context, cancel context.CancelFunc) {
	mustHaveContext(ctx)
	if grace <= 0 || ctx.Done() == nil || ContextErr(ctx) != nil {
		return ctx, func() {}
	}
	g := &graced{source: ctx, grace: grace}
	g.Context, g.end = context.WithCancelCause(context.WithoutCancel(ctx))
	for _, hold := range holdsIn(ctx) {
		// One that has ended while ctx goes on has nothing to do with it: ctx was made
		// by context.WithoutCancel.
		if ContextErr(hold) == nil {
			g.holds = append(g.holds, hold)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stops = append(g.stops, context.AfterFunc(ctx, g.endIfGraceIsOver))
	return g, g.stop
}

// holdsIn are the contexts of holds that ctx is derived from.
func holdsIn(ctx context.Context) []context.Context {
	if h := heldIn(ctx); h != nil {
		return h.held()
	}
	return nil
}

// graced is the context of [WithGrace].
type graced struct {
	context.Context
	end    context.CancelCauseFunc
	source context.Context
	grace  time.Duration
	holds  []context.Context // that source is derived from

	// mu guards the fields below. Invariant: err is set before the context ends; timer is
	// nil until the source has ended.
	mu    sync.Mutex
	err   error
	timer *time.Timer
	stops []func() bool
}

// endIfGraceIsOver ends the context if its time has come, and begins the grace when the source
// has ended.
func (g *graced) endIfGraceIsOver() {
	if ContextErr(g.source) == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return
	}
	cause := context.Cause(g.source)
	if errors.Is(cause, ErrLost) || errors.Is(cause, ErrReleased) {
		g.endLocked(g.source.Err(), cause)
		return
	}
	for _, hold := range g.holds {
		if err := ContextErr(hold); err != nil {
			g.endLocked(err, context.Cause(hold))
			return
		}
	}
	if g.timer != nil {
		return
	}
	g.timer = time.AfterFunc(g.grace, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.endLocked(g.source.Err(), cause)
	})
	for _, hold := range g.holds {
		g.stops = append(g.stops, context.AfterFunc(hold, g.endIfGraceIsOver))
	}
}

// endLocked ends the context, unless it has ended.
func (g *graced) endLocked(err, cause error) {
	if g.err == nil {
		g.err = err
	}
	g.end(cause)
}

func (g *graced) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endLocked(context.Canceled, nil)
	for _, stop := range g.stops {
		stop()
	}
	if g.timer != nil {
		g.timer.Stop()
	}
}

func (g *graced) Deadline() (deadline time.Time, ok bool) {
	if deadline, ok = g.source.Deadline(); ok {
		deadline = deadline.Add(g.grace)
	}
	return deadline, ok
}

func (g *graced) Err() error {
	g.endIfGraceIsOver()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *graced) Value(key any) any {
	if key == (heldKey{}) && heldIn(g.source) != nil {
		return g
	}
	return g.Context.Value(key)
}

func (g *graced) checkClock()             { g.endIfGraceIsOver() }
func (g *graced) held() []context.Context { return g.holds }

// outer is the source's outer, whose end also ends g at once.
func (g *graced) outer() context.Context { return heldIn(g.source).outer() }
