package rebalanser

import (
	"context"
	"slices"

	"github.com/zkrecipes/zkrecipes/session"
)

// order tells a taker what to do, or what may have changed.
type order struct {
	take, drop []string
	// fired is a barrier that others had, owner one of those others.
	fired, owner string
}

// taker takes barriers, and waits for those that others have. What it is told comes
// by its mailbox, and so do the watches that fire; one goroutine does the rest.
type taker struct {
	p      *seat
	orders *mailbox[order]
	// got and dropped tell what has become of each name that was to be taken:
	// it is held, or it is not and nobody tries any more.
	got     func(map[string]grip)
	dropped func([]string)

	// waiting is what others have, and owners who they are, with a watch each.
	waiting map[string]barrier
	owners  map[string]*session.Watch
}

func newTaker(p *seat, got func(map[string]grip), dropped func([]string)) *taker {
	return &taker{
		p: p, got: got, dropped: dropped, orders: newMailbox[order](),
		waiting: map[string]barrier{}, owners: map[string]*session.Watch{},
	}
}

// run works until ctx ends, or it cannot go on.
func (t *taker) run(ctx context.Context) error {
	defer t.stop()
	for {
		select {
		case <-t.orders.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if len(t.waiting) > 0 {
			// An owner gives barriers back by the hundred. When the answer to
			// this is here, so are the events of the transaction of which
			// there is one: they are dealt with together.
			if _, _, err := t.p.s.Exists(ctx, t.p.node()); err != nil {
				return err
			}
		}
		try, drop := t.sort(t.orders.take())
		if err := t.try(ctx, try); err != nil {
			t.dropped(drop)
			return err
		}
		t.forget(drop)
		t.tidy()
	}
}

// refuse answers for a taker that cannot go on: what is not wanted any more, as its
// member leaves, is not held.
func (t *taker) refuse(ctx context.Context) error {
	for {
		for _, o := range t.orders.take() {
			t.dropped(o.drop)
		}
		select {
		case <-t.orders.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stop ends all watches.
func (t *taker) stop() {
	for _, b := range t.waiting {
		b.stop()
	}
	for _, w := range t.owners {
		w.Stop()
	}
}

// sort says what is to be tried, and what is to be dropped after that. A watch may
// tell of what is not waited for any more.
func (t *taker) sort(orders []order) (try, drop []string) {
	gone := map[string]bool{}
	for _, o := range orders {
		try, drop = append(try, o.take...), append(drop, o.drop...)
		if _, waiting := t.waiting[o.fired]; waiting {
			try = append(try, o.fired)
		}
		gone[o.owner] = o.owner != ""
	}
	for name, b := range t.waiting {
		if gone[b.owner] {
			try = append(try, name)
		}
	}
	slices.Sort(try)
	return slices.Compact(try), drop
}

// try takes what it can, and waits for the rest.
func (t *taker) try(ctx context.Context, names []string) error {
	for part := range batches(names, 4*window, maxTxn*4, func(n string) int { return len(n) }) {
		a, err := t.p.take(ctx, part)
		if err != nil {
			return err
		}
		for owner, w := range a.owners {
			t.watch(owner, w)
		}
		for name, b := range a.held {
			t.wait(name, b)
		}
		for name := range a.got {
			t.leave(name)
		}
		if len(a.got) > 0 {
			t.got(a.got)
		}
	}
	return nil
}

// wait waits for one barrier, whose watch is new.
func (t *taker) wait(name string, b barrier) {
	t.leave(name)
	t.waiting[name] = b
	b.watch.OnFire(func(session.Event) { t.orders.post(order{fired: name}) })
}

// watch waits for an owner to go: then all can be taken that it had.
func (t *taker) watch(owner string, w *session.Watch) {
	if old := t.owners[owner]; old != nil {
		old.Stop()
	}
	t.owners[owner] = w
	w.OnFire(func(session.Event) { t.orders.post(order{owner: owner}) })
}

// leave ends the waiting for one barrier.
func (t *taker) leave(name string) {
	if b, waiting := t.waiting[name]; waiting {
		b.stop()
		delete(t.waiting, name)
	}
}

// forget drops what is not held.
func (t *taker) forget(names []string) {
	var dropped []string
	for _, name := range names {
		if _, waiting := t.waiting[name]; waiting {
			t.leave(name)
			dropped = append(dropped, name)
		}
	}
	if len(dropped) > 0 {
		t.dropped(dropped)
	}
}

// tidy ends the watches on those of whom nothing is waited for any more.
func (t *taker) tidy() {
	if len(t.owners) == 0 {
		return
	}
	needed := map[string]bool{}
	for _, b := range t.waiting {
		needed[b.owner] = true
	}
	for owner, w := range t.owners {
		if !needed[owner] {
			w.Stop()
			delete(t.owners, owner)
		}
	}
}
