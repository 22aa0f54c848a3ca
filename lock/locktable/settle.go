package locktable

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/batches"
)

// settleLater releases, in the background, the locks with these names that this
// owner has at the server. The names are busy, have no Held, and stay busy
// until then.
func (o *Owner) settleLater(names []string) {
	o.mu.Lock()
	o.unsettled = append(o.unsettled, names...)
	start := !o.cleaning
	o.cleaning = true
	o.mu.Unlock()
	if start {
		// No goroutine waits for this one; it ends when all is released, or with
		// the owner's hold, which ends all its locks.
		go o.cleanUp()
	}
}

// cleanUp settles all unsettled names.
func (o *Owner) cleanUp() {
	for {
		o.mu.Lock()
		names := o.unsettled
		o.unsettled = nil
		if len(names) == 0 {
			o.cleaning = false
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		// A refusal is permanent: the next attempt for the name, or the end of
		// the owner, settles the lock.
		_ = o.settleNames(o.hold.Context(), names)
		o.freeNames(names)
	}
}

// settleNames finds out which of these locks belong to this owner, and releases
// them.
func (o *Owner) settleNames(ctx context.Context, names []string) error {
	// A transaction of a lost connection may still be in flight. The empty
	// transaction below is answered after all transactions received by the
	// leader before; later transactions of the old connection are refused by the
	// leader.
	err := o.s.Retry(ctx, func() error {
		_, err := o.s.Txn(ctx, o.hold.Guard())
		return err
	})
	if err != nil {
		return err
	}
	var mine []*Held
	for part := range batches.OfNames(names) {
		err := o.s.Retry(ctx, func() error {
			entries, err := o.t.readLocks(ctx, o.s, part, false)
			for _, e := range entries {
				if e.Owner == o.name {
					mine = append(mine, o.newHeld(&e, e.version, e.Token))
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(mine) == 0 {
		return nil
	}
	_, err = o.giveBack(ctx, mine)
	return err
}
