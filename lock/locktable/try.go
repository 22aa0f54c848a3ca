package locktable

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// TryLock takes the free locks among the named locks, in as few transactions as
// possible, and returns the taken locks in the order of the names. A lock held
// by another client, or by this owner, is not an error and not in the result.
// The same is true for a lock with an unreadable record ([Table.Entries] tells
// why), and for a lock that an earlier call of this owner may have taken, until
// its release in the background. After an error, TryLock holds no more than
// before; locks taken by an unanswered transaction are released in the
// background. ctx bounds the call.
func (o *Owner) TryLock(ctx context.Context, names ...string) ([]*Held, error) {
	const op = "try"
	path, err := o.checkCall(ctx)
	if err == nil {
		err = checkSet(names)
	}
	if err != nil {
		return nil, failure(ctx, op, path, err)
	}
	if names, _ = o.claimNames(names, nil); len(names) == 0 {
		return nil, nil
	}
	within, end := session.WithHolds(ctx, o.ctx)
	defer end(nil)
	a, err := o.takeLocks(within, names, false)
	var held []*Held
	var begun reports
	if err == nil {
		begun = o.prepareReports(ctx, a.got, nil)
		held, err = o.registerHeld(names, a.got, begun)
	}
	if err != nil {
		o.giveUp(a, names)
		return nil, failure(ctx, op, path, err)
	}
	begun.reportBegun(held)
	return held, nil
}

// giveUp ends an attempt with claimed names: all locks possibly taken are
// released in the background.
func (o *Owner) giveUp(a *attempt, names []string) {
	if a.wrote || len(a.got) > 0 {
		o.settleLater(names)
		return
	}
	o.freeNames(names)
}

// Lock waits until this owner has taken all of the named locks. Lock takes each
// lock as soon as possible, so two owners that wait for each other's locks wait
// until their contexts end. A lock already held by this owner is taken after
// its release. ctx bounds the wait; when ctx ends, Lock releases the taken
// locks, in the background if necessary. To use each lock as soon as it is
// held, use an [Acquirer].
func (o *Owner) Lock(ctx context.Context, names ...string) ([]*Held, error) {
	const op = "acquire"
	path, err := o.checkCall(ctx)
	if err == nil {
		err = checkSet(names)
	}
	if err != nil {
		return nil, failure(ctx, op, path, err)
	}
	if len(names) == 0 {
		return nil, nil
	}
	waiting := observing.BeginWait(ctx, o.t.client, observe.Lock, o.t.path)
	held, begun, err := o.acquireAll(ctx, names, waiting)
	if err != nil {
		err = failure(ctx, op, path, err)
	}
	waiting.End(err)
	begun.reportBegun(held)
	return held, err
}

// acquireAll takes all locks of these names, or none. The caller reports the beginnings of
// the holds in begun.
func (o *Owner) acquireAll(ctx context.Context, names []string, waiting *observing.Wait) (held []*Held, begun reports, err error) {
	got := make(map[string]*Held, len(names))
	within, end := context.WithCancel(ctx)
	defer end()
	a := o.Acquirer(func(held []*Held) {
		for _, h := range held {
			got[h.name] = h
		}
		if len(got) == len(names) {
			end()
		}
	}, func([]string) {})
	a.reportTo(waiting)
	a.postWant(names)
	err = a.runOnce(within)
	held = make([]*Held, 0, len(got))
	for _, name := range names {
		if h := got[name]; h != nil {
			held = append(held, h)
		}
	}
	if len(held) == len(names) {
		return held, a.begun, nil
	}
	if ctx.Err() == nil && len(held) > 0 && o.ctx.Err() == nil {
		_ = o.unlockHeld(ctx, held, true) // an unconfirmed release continues in the background
	} else {
		o.abandonLocks(held)
	}
	return nil, nil, err
}

// abandonLocks releases locks without waiting.
func (o *Owner) abandonLocks(locks []*Held) {
	due, _, ends, released := o.endAll(locks)
	for _, end := range ends {
		end()
	}
	if len(due) > 0 {
		o.settleLater(heldNames(due))
	}
	released.reportReleased(nil, nil)
}
