// Package observing reports waits and holds to the observer of a client. Without an
// observer, its types are nil, and their methods do nothing: they are small enough for the
// compiler to inline, so that a hand-over within the process pays for a few comparisons.
package observing

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// newID is a number for a wait or a hold: at random, so that it is unique without a
// counter that all goroutines of the process share. It is never 0.
func newID() uint64 { return max(1, rand.Uint64()) }

// Wait is a wait in progress, for one goroutine at a time.
type Wait struct {
	to    observe.Observer
	ctx   context.Context
	wait  observe.Wait
	znode string // of the last report of the place
	ahead int
}

// BeginWait reports that a wait begins. c may be nil.
func BeginWait(ctx context.Context, c *session.Client, kind observe.Kind, path string) *Wait {
	return Begin(ctx, c, kind, path, false)
}

// Begin is BeginWait; try says that the operation does not wait for its turn.
func Begin(ctx context.Context, c *session.Client, kind observe.Kind, path string, try bool) *Wait {
	to := c.Observer()
	if to == nil {
		return nil
	}
	return begin(ctx, to, kind, path, try)
}

func begin(ctx context.Context, to observe.Observer, kind observe.Kind, path string, try bool) *Wait {
	if isSilent(ctx) {
		return nil
	}
	w := &Wait{to: to, ctx: ctx, wait: observe.Wait{ID: newID(), Kind: kind, Path: path, Try: try, Begun: time.Now()}}
	to.Observe(ctx, observe.WaitBegun{Wait: w.wait})
	return w
}

// Queued reports that ahead contenders are ahead of znode, unless the last report said
// the same.
func (w *Wait) Queued(znode string, ahead int) {
	if w != nil && (w.znode != znode || w.ahead != ahead) {
		w.reportQueued(znode, ahead)
	}
}

func (w *Wait) reportQueued(znode string, ahead int) {
	w.znode, w.ahead = znode, ahead
	w.to.Observe(w.ctx, observe.WaitQueued{Wait: w.wait, Znode: znode, Ahead: ahead})
}

// End reports the end of the wait with err, which is nil for a wait that has passed.
func (w *Wait) End(err error) { w.EndTry(err, false) }

// EndTry is End for an attempt; busy says that it has failed because another client holds or
// waits.
func (w *Wait) EndTry(err error, busy bool) {
	if w != nil {
		w.reportEnd(err, busy)
	}
}

func (w *Wait) reportEnd(err error, busy bool) {
	w.to.Observe(w.ctx, observe.WaitEnded{Wait: w.wait, Took: time.Since(w.wait.Begun), Err: err, Busy: busy})
}

// Passed reports that the wait has passed the given round of a barrier.
func (w *Wait) Passed(round int64, parties int) {
	if w != nil {
		w.to.Observe(w.ctx, observe.RoundPassed{Path: w.wait.Path, Wait: w.wait.ID, Round: round, Parties: parties})
		w.End(nil)
	}
}

// Granted reports the end of the wait, and the beginning of the hold h. local says that
// it was handed over in this process.
func (w *Wait) Granted(h Held, local bool) *Hold {
	if w == nil {
		return nil
	}
	return w.granted(h, local)
}

func (w *Wait) granted(h Held, local bool) *Hold {
	out := w.NewHold(h, local)
	w.End(nil)
	out.Begin()
	return out
}

// NewHold makes the hold h, for which the wait has waited, as the function [NewHold] does.
// End and Begin report.
func (w *Wait) NewHold(h Held, local bool) *Hold {
	if w == nil {
		return nil
	}
	what := observe.Hold{Kind: w.wait.Kind, Path: w.wait.Path, Wait: w.wait.ID, Local: local}
	return newHold(w.ctx, w.to, h, what)
}
