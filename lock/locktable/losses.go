package locktable

import (
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// watchLosses requests watches of locks just taken.
func (o *Owner) watchLosses(locks []*Held) {
	if o.t.opts.Unwatched || len(locks) == 0 {
		return
	}
	o.losses.Post(heldNames(locks)...)
	o.mu.Lock()
	start := !o.noticing
	o.noticing = true
	o.mu.Unlock()
	if start {
		// No goroutine waits for this one; it ends with the owner, or when
		// Release has.
		go o.noticeLosses()
	}
}

// noticeLosses sets the watches of held locks, again after each event, and ends
// the locks no longer owned by this owner.
func (o *Owner) noticeLosses() {
	defer o.stopWatches()
	for {
		select {
		case <-o.losses.Ready():
		case <-o.watching.Done():
			return
		}
		due := o.losses.Take()
		slices.Sort(due)
		for part := range batches.OfNames(slices.Compact(due)) {
			err := o.s.Retry(o.watching, func() error { return o.checkHeld(part) })
			if err == nil || o.watching.Err() != nil {
				continue
			}
			// From here on a loss of these locks would go unnoticed.
			var lost []*Held
			o.mu.Lock()
			for _, name := range part {
				if h := o.held[name]; h != nil {
					lost = append(lost, h)
				}
			}
			o.mu.Unlock()
			for _, h := range lost {
				o.loseHeld(h, fmt.Errorf("%w: its znode cannot be watched: %w", session.ErrLost, err), true)
			}
		}
	}
}

// checkHeld reads held locks, and sets their watches.
func (o *Owner) checkHeld(names []string) error {
	var held []*Held
	o.mu.Lock()
	for _, name := range names {
		if h := o.held[name]; h != nil {
			held = append(held, h)
		}
	}
	o.mu.Unlock()
	entries, err := o.t.readLocks(o.watching, o.s, heldNames(held), true)
	for i, e := range entries {
		h := held[i]
		switch {
		case !e.exists:
			o.loseHeld(h, holding.ErrTaken, false)
		case e.version != h.version || e.Token != h.token:
			e.stopWatch()
			o.loseHeld(h, errChanged, false)
		default:
			o.keepWatch(h, e.watch)
		}
	}
	return err
}

// keepWatch notes the watch of a held lock.
func (o *Owner) keepWatch(h *Held, w *session.Watch) {
	o.mu.Lock()
	held := o.held[h.name] == h && o.watching.Err() == nil
	old := h.watch
	if held {
		h.watch = w
	}
	o.mu.Unlock()
	if !held {
		w.Stop()
		return
	}
	if old != nil && old != w {
		old.Stop()
	}
	w.OnFire(func(session.Event) { o.losses.Post(h.name) })
}

// loseHeld ends a held lock. With kept, its record may still name this owner, and
// must be released.
func (o *Owner) loseHeld(h *Held, why error, kept bool) {
	o.mu.Lock()
	if o.held[h.name] != h {
		o.mu.Unlock()
		return
	}
	end := h.endLocked(why)
	hold := o.reports.takeHold(h)
	w := h.watch
	h.watch = nil
	if kept {
		o.busy[h.name] = struct{}{}
	} else {
		o.wakeLocked(h.name)
	}
	o.mu.Unlock()
	stopWatch(w)
	end()
	hold.Lose(why)
	if kept {
		o.settleLater([]string{h.name})
	}
}

// stopWatches ends the watches of all locks: the owner has ended.
func (o *Owner) stopWatches() {
	var watches []*session.Watch
	o.mu.Lock()
	for _, h := range o.held {
		if h.watch != nil {
			watches = append(watches, h.watch)
			h.watch = nil
		}
	}
	o.mu.Unlock()
	for _, w := range watches {
		w.Stop()
	}
}
