package locktable

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// Watch fires when locks may have changed; see [Owner.Observe] and [Owner.Remove]. Stop a
// watch that is no longer needed.
type Watch struct {
	made    bool
	watches []*session.Watch
}

// OnFire calls fn whenever one of the locks may have changed, at most once per
// lock and once per owner. fn runs on the goroutine that reads the connection,
// and must not block.
func (w *Watch) OnFire(fn func()) {
	holding.MustBeMade(w != nil && w.made, "locktable.Watch", "locktable.Owner")
	if fn == nil {
		panic("locktable: the function of Watch.OnFire is nil")
	}
	for _, one := range w.watches {
		one.OnFire(func(session.Event) { fn() })
	}
}

// Stop ends the watch. Stop may be called more than once.
func (w *Watch) Stop() {
	if w == nil {
		return
	}
	for _, one := range w.watches {
		one.Stop()
	}
}

func (w *Watch) add(one *session.Watch) {
	if one != nil {
		w.watches = append(w.watches, one)
	}
}

// Observe reads the entries of locks, in the order of the names, and sets a watch on each,
// whether its znode exists or not. An [Entry.Owner] may have gone.
func (o *Owner) Observe(ctx context.Context, names ...string) ([]Entry, *Watch, error) {
	const op = "observe"
	path, err := o.checkCall(ctx)
	if err == nil {
		err = checkSet(names)
	}
	if err != nil {
		return nil, nil, failure(ctx, op, path, err)
	}
	var out []Entry
	var w *Watch
	err = o.s.Retry(ctx, func() (err error) {
		out, w, err = o.observeOnce(ctx, names)
		return err
	})
	if err != nil {
		return nil, nil, failure(ctx, op, path, err)
	}
	return out, w, nil
}

func (o *Owner) observeOnce(ctx context.Context, names []string) ([]Entry, *Watch, error) {
	out, w := make([]Entry, 0, len(names)), &Watch{made: true}
	var missing []string
	for part := range batches.OfNames(names) {
		entries, err := o.t.readLocks(ctx, o.s, part, true)
		if err != nil {
			w.Stop()
			return nil, nil, err
		}
		for _, e := range entries {
			out = append(out, e.Entry)
			if w.add(e.watch); !e.exists {
				missing = append(missing, e.Name)
			}
		}
	}
	for part := range batches.OfNames(missing) {
		futures := make([]*session.Future[session.Seen], len(part))
		for i, name := range part {
			futures[i] = o.s.StartExists(o.t.lockPath(name), true)
		}
		r := optimistic.Reading{Ctx: ctx}
		for _, seen := range r.Collect(futures...) {
			w.add(seen.Watch)
		}
		if r.Err != nil {
			w.Stop()
			return nil, nil, r.Err
		}
	}
	return out, w, nil
}

// Remove deletes the znodes of all locks that no client holds, except those
// whose names keep accepts, in as few transactions as possible. Held locks, and
// locks with unreadable records, stay: Remove returns the entries of these
// locks, with a watch that fires when one of them may have been released.
// guards are checks that come first in each transaction, for example the guard
// of the leader that decides about the locks; if a guard fails, the error is
// its [session.TxnError].
//
// Removing unused locks is optional: a lock without a znode and a free lock are
// equivalent.
func (o *Owner) Remove(ctx context.Context, keep func(name string) bool, guards ...session.Op) ([]Entry, *Watch, error) {
	const op = "remove"
	path, err := o.checkCall(ctx)
	if err == nil && keep == nil {
		err = errNoKeep
	}
	if err != nil {
		return nil, nil, failure(ctx, op, path, err)
	}
	r := &removal{o: o, guards: guards}
	err = o.s.Retry(ctx, func() error {
		for {
			again, err := r.removeFree(ctx, keep)
			if err == nil && !again {
				return nil
			}
			if r.stopWatches(); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return nil, nil, failure(ctx, op, path, err)
	}
	left, w := r.left, &Watch{made: true}
	out := make([]Entry, len(left))
	for i, e := range left {
		out[i] = e.Entry
		w.add(e.watch)
	}
	for _, one := range slices.Collect(maps.Values(r.owners)) {
		w.add(one)
	}
	return out, w, nil
}

// removal is an attempt to remove locks.
type removal struct {
	o      *Owner
	guards []session.Op
	swept  int32 // version of the folder
	left   []entry
	owners map[string]*session.Watch
}

func (r *removal) stopWatches() {
	stopAll(r.left)
	for _, w := range r.owners {
		w.Stop()
	}
}

// removeFree removes as many locks as possible. again: another client has removed
// locks meanwhile, so the versions read may belong to other locks.
func (r *removal) removeFree(ctx context.Context, keep func(string) bool) (again bool, err error) {
	r.left, r.owners = nil, map[string]*session.Watch{}
	names, stat, err := r.o.s.Children(ctx, r.o.t.path)
	if err != nil {
		return false, err
	}
	r.swept = stat.Version
	names = slices.DeleteFunc(names, keep)
	for part := range batches.OfNames(names) {
		for len(part) > 0 && err == nil && !again {
			part, again, err = r.removePart(ctx, part)
		}
	}
	return again, err
}

// removePart removes some locks, and returns the locks taken meanwhile.
func (r *removal) removePart(ctx context.Context, names []string) (taken []string, again bool, err error) {
	free, err := r.findFree(ctx, names)
	if err != nil {
		return nil, false, err
	}
	for part := range batches.Of(free, r.o.maxLocksPerTxn(), batches.MaxTxn, func(e entry) int { return len(e.Name) + len(r.o.t.path) + batches.PerOp }) {
		for len(part) > 0 {
			ops := append(slices.Clone(r.guards), session.SetOp(r.o.t.path, nil, r.swept))
			first := len(ops)
			for _, e := range part {
				ops = append(ops, session.DeleteOp(r.o.t.lockPath(e.Name), e.version))
			}
			results, err := r.o.s.Txn(ctx, ops...)
			at := optimistic.CulpritIndex(err)
			switch {
			case err == nil:
				r.swept = results[first-1].Stat.Version
				part = nil
			case at == first-1 && errors.Is(err, session.ErrBadVersion):
				return nil, true, nil
			case at >= first && isStale(err): // another client has the lock again
				taken = append(taken, part[at-first].Name)
				part = slices.Delete(slices.Clone(part), at-first, at-first+1)
			default:
				return nil, false, err
			}
		}
	}
	return taken, false, nil
}

// findFree reads locks, and returns the free locks. As for taking locks, owners
// are read after the locks.
func (r *removal) findFree(ctx context.Context, names []string) ([]entry, error) {
	entries, err := r.o.t.readLocks(ctx, r.o.s, names, true)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return !e.exists })
	gone, err := r.o.findGone(ctx, entries, r.owners, true)
	if err != nil {
		stopAll(entries)
		return nil, err
	}
	var free []entry
	for _, e := range entries {
		if e.isFree(gone) {
			e.abandonWatch()
			free = append(free, e)
		} else {
			r.left = append(r.left, e)
		}
	}
	return free, nil
}
