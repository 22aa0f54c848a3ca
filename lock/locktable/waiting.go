package locktable

import (
	"context"
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/session"
)

// sortOrders returns the names to try, and the names to drop afterwards. A watch may
// report a lock no longer waited for.
func (a *Acquirer) sortOrders(orders []order) (try, drop []string) {
	gone := map[string]bool{}
	for _, o := range orders {
		try, drop = append(try, o.want...), append(drop, o.drop...)
		if _, waiting := a.waiting[o.fired]; waiting {
			try = append(try, o.fired)
		}
		if a.own[o.idle] {
			try = append(try, o.idle)
		}
		gone[o.owner] = o.owner != ""
	}
	for name, e := range a.waiting {
		if gone[e.Owner] {
			try = append(try, name)
		}
	}
	slices.Sort(try)
	return slices.Compact(try), drop
}

// tryNames takes the free locks, and waits for the rest.
func (a *Acquirer) tryNames(ctx context.Context, names []string) error {
	for part := range batches.Of(names, 4*batches.Window, 4*batches.MaxTxn, func(n string) int { return len(n) }) {
		if err := a.tryPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (a *Acquirer) tryPart(ctx context.Context, names []string) error {
	mine, own := a.o.claimNames(names, a)
	for _, name := range mine {
		delete(a.own, name)
	}
	for _, name := range own {
		a.stopWaiting(name)
		a.own[name] = true
	}
	if len(mine) == 0 {
		return nil
	}
	at, err := a.o.takeLocks(ctx, mine, true)
	if err != nil {
		a.o.giveUp(at, mine)
		return err
	}
	for owner, w := range at.owners {
		a.watchOwner(owner, w)
	}
	for name, e := range at.others {
		a.awaitLock(name, e)
	}
	for name := range at.got {
		a.stopWaiting(name)
	}
	begun := a.o.prepareReports(ctx, at.got, a.wait)
	held, err := a.o.registerHeld(mine, at.got, begun)
	if err != nil {
		a.o.giveUp(at, mine)
		return err
	}
	if a.wait == nil {
		begun.reportBegun(held)
	} else {
		maps.Copy(a.begun, begun)
	}
	if len(held) > 0 {
		a.got(held)
	}
	return nil
}

// awaitLock waits for a lock with a new watch.
func (a *Acquirer) awaitLock(name string, e entry) {
	a.stopWaiting(name)
	a.waiting[name] = e
	e.watch.OnFire(func(session.Event) { a.orders.Post(order{fired: name}) })
}

// watchOwner waits for the end of an owner: then all its locks are free.
func (a *Acquirer) watchOwner(owner string, w *session.Watch) {
	if old := a.owners[owner]; old != nil {
		old.Stop()
	}
	a.owners[owner] = w
	w.OnFire(func(session.Event) { a.orders.Post(order{owner: owner}) })
}

// stopWaiting ends the wait for a lock.
func (a *Acquirer) stopWaiting(name string) {
	if e, waiting := a.waiting[name]; waiting {
		e.stopWatch()
		delete(a.waiting, name)
	}
}

// dropNames drops the names not held.
func (a *Acquirer) dropNames(names []string) {
	var dropped []string
	for _, name := range names {
		if _, waiting := a.waiting[name]; waiting || a.own[name] {
			a.stopWaiting(name)
			dropped = append(dropped, name)
		}
	}
	if len(dropped) == 0 {
		return
	}
	a.o.forgetWaiter(a, dropped)
	for _, name := range dropped {
		delete(a.own, name)
	}
	a.dropped(dropped)
}

// stopUnneededWatches ends the watches on owners whose locks are not waited for any more.
func (a *Acquirer) stopUnneededWatches() {
	if len(a.owners) == 0 {
		return
	}
	needed := map[string]bool{}
	for _, e := range a.waiting {
		needed[e.Owner] = true
	}
	for owner, w := range a.owners {
		if !needed[owner] {
			w.Stop()
			delete(a.owners, owner)
		}
	}
}
