package rwlock

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/zkrecipes/zkrecipes/session"
)

// heldPlace is one place in the queue, as the contexts of its holds know it: first
// the writer's, and after a downgrade the reader's.
type heldPlace struct {
	held atomic.Pointer[Held] // the present hold of the place; set once the hold can be given back
}

// holder returns the hold that still has the place, or nil.
func (p *heldPlace) holder() *Held {
	h := p.held.Load()
	for !h.isHeld() {
		next := p.held.Load()
		if next == h {
			return nil
		}
		h = next // it was downgraded meanwhile
	}
	return h
}

// unlock gives back the hold of the place.
func (p *heldPlace) unlock(ctx context.Context) error {
	for {
		h := p.held.Load()
		if err := h.Unlock(ctx); p.held.Load() == h {
			return err
		}
		// It was downgraded meanwhile.
	}
}

// heldMark is the key under which a context has its place in the queue of a lock.
type heldMark struct {
	client *session.Client
	path   string
}

// withMark makes a context of which the lock knows that it comes from a hold at p.
func (m *RWMutex) withMark(ctx context.Context, p *heldPlace) context.Context {
	return context.WithValue(ctx, heldMark{m.client, m.path}, p)
}

// refuseNested refuses a context that comes from a hold of the same lock. A writer
// would wait for itself indefinitely; so would a reader in a writer's context; and
// a reader in a reader's would as soon as a writer queues up between the two.
func (m *RWMutex) refuseNested(ctx context.Context, k kind) error {
	p, _ := ctx.Value(heldMark{m.client, m.path}).(*heldPlace)
	if p == nil {
		return nil
	}
	h := p.holder()
	switch {
	case h == nil:
		return nil // it was given back, or lost
	case k == writer && h.kind == reader:
		return ErrUpgrade
	case k == reader && h.kind == writer:
		return fmt.Errorf("%w: a writer becomes a reader by Downgrade", ErrNested)
	}
	return ErrNested
}
