package locktable

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/session"
)

// settleLater releases, in the background, what this owner has at the server of these
// names, which are busy, and for which no Held stands. They stay busy until then.
func (o *Owner) settleLater(names []string) {
	o.mu.Lock()
	o.unsettled = append(o.unsettled, names...)
	start := !o.cleaning
	o.cleaning = true
	o.mu.Unlock()
	if start {
		// Nobody waits for it; it ends when all is released, or with the hold of the
		// owner, whose znode stands for all that it has.
		go o.clean()
	}
}

// clean settles what there is to settle.
func (o *Owner) clean() {
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
		// A refusal will not pass: then the next attempt for the name, or the end of the
		// owner, settles it.
		_ = o.settle(o.hold.Context(), names)
		o.free(names)
	}
}

// settle finds out which of these names are this owner's, and releases them.
func (o *Owner) settle(ctx context.Context, names []string) error {
	// Of a connection that was lost there may be a transaction in flight. This one, which
	// changes nothing, is answered behind all that the leader has received before; what
	// it receives later on the old connection, it refuses.
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
			var found []*Held
			err := collectReads(ctx, o.t.startReads(o.s, part, false), func(i int, seen session.Seen, exists bool) {
				if e := o.t.read(part[i], seen, exists); e.Owner == o.name {
					found = append(found, o.newHeld(&e, e.version, e.Token))
				}
			})
			if err == nil {
				mine = append(mine, found...)
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
