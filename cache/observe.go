package cache

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	errConnectionLost = errors.New("the connection was lost")
	errOverrun        = errors.New("more events came than the view could take: all is compared again")
	errPanicked       = errors.New("decode or filter panicked")
)

// reporter tells an observer when a view becomes current and when it ceases to be: one
// after the other, beginning with the first. It belongs to the goroutine of Run. A nil
// reporter, without an observer, does nothing.
type reporter struct {
	to      observe.Observer
	ctx     context.Context // of Run
	id      uint64          // of the view
	path    string
	changed chan struct{} // cap 1: the client's state has changed
	stop    context.CancelFunc
	done    sync.WaitGroup

	since   time.Time // the beginning of Run, or the last time at which the view ceased to be current
	current bool
}

// startReporter starts the reporter of a Run; it returns nil without an observer.
func startReporter(ctx context.Context, client *session.Client, id uint64, path string) *reporter {
	to := client.Observer()
	if to == nil {
		return nil
	}
	p := &reporter{to: to, ctx: ctx, id: id, path: path, changed: make(chan struct{}, 1), since: time.Now()}
	var life context.Context
	life, p.stop = context.WithCancel(ctx)
	// Waited for by end; ends with life.
	p.done.Go(func() {
		for _, err := range client.States(life) {
			if err != nil {
				return
			}
			select {
			case p.changed <- struct{}{}:
			default:
			}
		}
	})
	to.Observe(ctx, observe.CacheBegun{Cache: id, Path: path})
	return p
}

// reportID is the number of the view in events, from its first Run on.
func (v *View[T]) reportID() uint64 {
	for v.id == 0 {
		v.id = rand.Uint64()
	}
	return v.id
}

// stateChanged has a value when the client's state has changed. It is nil without an
// observer.
func (p *reporter) stateChanged() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.changed
}

// reportStale reports that the view is not certain to be current any more because of why,
// unless it was not before.
func (p *reporter) reportStale(why error) {
	if p == nil || !p.current {
		return
	}
	p.current, p.since = false, time.Now()
	p.to.Observe(p.ctx, observe.CacheStale{Cache: p.id, Path: p.path, Err: why})
}

// end ends the reports of a Run that ends because of why; nil if its context has ended.
func (p *reporter) end(why error) {
	if p == nil {
		return
	}
	p.stop()
	p.done.Wait()
	err := cmp.Or(why, holding.EndOf(p.ctx), errPanicked)
	p.reportStale(err)
	p.to.Observe(p.ctx, observe.CacheEnded{Cache: p.id, Path: p.path, Err: err})
}

// reportCurrent reports whether the view has become current, or has ceased to be because
// its connection is lost. clean says that nothing is left to read.
func (r *runner[T]) reportCurrent(clean bool) {
	p := r.reports
	if p == nil || !p.current && !clean {
		return
	}
	state := r.client.State()
	r.mu.Lock()
	follows := r.link.follows(state)
	r.mu.Unlock()
	switch {
	case p.current && !follows:
		p.reportStale(cmp.Or(state.Cause, errConnectionLost))
	case !p.current && clean && follows && !r.s.ReadOnly():
		p.current = true
		again := r.reported
		r.reported = true
		p.to.Observe(p.ctx, observe.CacheSynced{
			Cache: p.id, Path: p.path, Entries: r.store.len(), Took: time.Since(p.since), Again: again,
		})
	}
}
