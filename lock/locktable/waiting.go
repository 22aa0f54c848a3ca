package locktable

import (
	"context"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/session"
)

// sort returns the names to try, and the names to drop afterwards. A watch may
// report a lock no longer waited for.
func (a *Acquirer) sort(orders []order) (try, drop []string) {
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

// try takes the free locks, and waits for the rest.
func (a *Acquirer) try(ctx context.Context, names []string) error {
	for part := range batches.Of(names, 4*batches.Window, 4*batches.MaxTxn, func(n string) int { return len(n) }) {
		if err := a.tryPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (a *Acquirer) tryPart(ctx context.Context, names []string) error {
	mine, own := a.o.claim(names, a)
	for _, name := range mine {
		delete(a.own, name)
	}
	for _, name := range own {
		a.leave(name)
		a.own[name] = true
	}
	if len(mine) == 0 {
		return nil
	}
	at, err := a.o.take(ctx, mine, true)
	if err != nil {
		a.o.giveUp(at, mine)
		return err
	}
	for owner, w := range at.owners {
		a.watch(owner, w)
	}
	for name, e := range at.others {
		a.wait(name, e)
	}
	for name := range at.got {
		a.leave(name)
	}
	held, err := a.o.register(mine, at.got)
	if err != nil {
		a.o.giveUp(at, mine)
		return err
	}
	if len(held) > 0 {
		a.got(held)
	}
	return nil
}

// wait waits for a lock with a new watch.
func (a *Acquirer) wait(name string, e entry) {
	a.leave(name)
	a.waiting[name] = e
	e.watch.OnFire(func(session.Event) { a.orders.Post(order{fired: name}) })
}

// watch waits for the end of an owner: then all its locks are free.
func (a *Acquirer) watch(owner string, w *session.Watch) {
	if old := a.owners[owner]; old != nil {
		old.Stop()
	}
	a.owners[owner] = w
	w.OnFire(func(session.Event) { a.orders.Post(order{owner: owner}) })
}

// leave ends the wait for a lock.
func (a *Acquirer) leave(name string) {
	if e, waiting := a.waiting[name]; waiting {
		e.stop()
		delete(a.waiting, name)
	}
}

// forget drops the names not held.
func (a *Acquirer) forget(names []string) {
	var dropped []string
	for _, name := range names {
		if _, waiting := a.waiting[name]; waiting || a.own[name] {
			a.leave(name)
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

// tidy ends the watches on owners of whom nothing is waited for any more.
func (a *Acquirer) tidy() {
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
