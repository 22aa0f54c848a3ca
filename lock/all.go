package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Group is several locks, handled like a single lock.
type Group struct {
	locks []*Mutex
	err   error
}

// All makes one lock of several mutexes, which must be on different paths. Lock
// takes them in the order of their paths, so that groups that share mutexes
// cannot deadlock, and Unlock releases them in reverse order. Lock reports an
// invalid argument.
func All(locks ...*Mutex) *Group {
	g := &Group{locks: slices.Clone(locks)}
	if len(locks) == 0 || slices.Contains(locks, nil) {
		g.err = fmt.Errorf("%w: a group needs at least one lock, and none that is nil", ErrInvalidArgument)
		return g
	}
	slices.SortStableFunc(g.locks, func(a, b *Mutex) int { return strings.Compare(a.serverPath(), b.serverPath()) })
	for i, m := range g.locks[1:] {
		if m.serverPath() == g.locks[i].serverPath() {
			g.err = fmt.Errorf("%w: %s is in the group twice", ErrInvalidArgument, m.path)
		}
	}
	return g
}

// serverPath is the path of the lock on its servers, chroot included.
func (m *Mutex) serverPath() string {
	if m.client == nil {
		return m.path
	}
	return m.client.Chroot() + m.path
}

// Lock waits until it holds all the locks; ctx bounds the whole wait. If a lock
// cannot be acquired, or is lost before all are held, Lock releases the locks
// that it holds, and the error names the failed lock.
func (g *Group) Lock(ctx context.Context) (*HeldGroup, error) {
	g = receiver.OrZero(g)
	first, wrong := &Mutex{}, g.err
	if len(g.locks) > 0 && wrong == nil {
		first = g.locks[0]
		wrong = first.err
	}
	if err := holding.Begin(ctx, first.client, "lock.All", wrong, ErrInvalidArgument); err != nil {
		return nil, failure(ctx, "acquire", "group", err)
	}
	h := &HeldGroup{}
	for _, m := range g.locks {
		one, err := h.lockNext(ctx, m)
		if err == nil {
			h.held = append(h.held, one)
		}
		// The loss of a held lock is the reason for the end of this wait.
		if lost := h.firstLoss(ctx); lost != nil {
			err = lost
		}
		if err != nil {
			return nil, errors.Join(err, h.unlockTaken(ctx))
		}
	}
	all := h.heldContexts()
	h.ctx, h.cancel = session.WithHolds(all[0], all[1:]...)
	return h, nil
}

// lockNext locks m, and stops waiting as soon as a held lock is lost: the other
// locks would stay locked in vain.
func (h *HeldGroup) lockNext(ctx context.Context, m *Mutex) (*Held, error) {
	waiting, cancel := session.WithHolds(ctx, h.heldContexts()...)
	defer cancel(nil)
	return m.Lock(waiting)
}

func (h *HeldGroup) heldContexts() []context.Context {
	out := make([]context.Context, len(h.held))
	for i, one := range h.held {
		out[i] = one.ctx
	}
	return out
}

// firstLoss is the error of the first lost lock, or nil.
func (h *HeldGroup) firstLoss(ctx context.Context) error {
	for _, one := range h.held {
		if one.ctx.Err() != nil {
			return failure(ctx, "hold", one.lock.m.path, context.Cause(one.ctx))
		}
	}
	return nil
}

// HeldGroup is a group of held locks.
type HeldGroup struct {
	held   []*Held
	ctx    context.Context
	cancel context.CancelCauseFunc
}

var _ session.Held = (*HeldGroup)(nil)

// heldLocks returns the locks, and panics for a zero HeldGroup.
func (h *HeldGroup) heldLocks() []*Held {
	holding.MustBeMade(h != nil && len(h.held) > 0, "lock.HeldGroup", "lock.Group")
	return h.held
}

// Context ends on release and on loss of any of the locks; see [Held.Context].
func (h *HeldGroup) Context() context.Context {
	_ = h.heldLocks()
	return h.ctx
}

// Held returns the locks in the order of their paths, for the token of each. Release
// them with the group, not one by one.
func (h *HeldGroup) Held() []*Held { return slices.Clone(h.heldLocks()) }

// Token is a fencing token of the group: the greatest of the locks' tokens. The
// token grows with every grant of the same locks at the server; see
// [Held.Token]. A resource protected also by other groups, or by a single lock,
// needs the token of the shared lock: see [HeldGroup.Held].
func (h *HeldGroup) Token() int64 {
	var token int64
	for _, one := range h.heldLocks() {
		token = max(token, one.Token())
	}
	return token
}

// Guard is a single check for a transaction; the transaction fails if any of
// the locks is not held any more; see [Held.Guard] and [session.AllOf].
func (h *HeldGroup) Guard() session.Op {
	guards := make([]session.Op, len(h.heldLocks()))
	for i, one := range h.held {
		guards[i] = one.Guard()
	}
	return session.AllOf(guards...)
}

// Unlock releases all the locks, the last one first; see [Held.Unlock].
func (h *HeldGroup) Unlock(ctx context.Context) error {
	h = receiver.OrZero(h)
	if err := holding.BeginHeld(ctx, len(h.held) > 0, "lock.HeldGroup", "lock.Group", ErrInvalidArgument); err != nil {
		return failure(ctx, "release", "group", err)
	}
	h.cancel(session.ErrReleased)
	return h.unlockAll(ctx)
}

// Release is Unlock, under the method name common to everything held; see
// [session.Held].
func (h *HeldGroup) Release(ctx context.Context) error { return h.Unlock(ctx) }

func (h *HeldGroup) unlockAll(ctx context.Context) error {
	var errs []error
	for _, one := range slices.Backward(h.held) {
		errs = append(errs, one.Unlock(ctx))
	}
	return errors.Join(errs...)
}

// unlockTaken releases the locks taken so far. Locks that cannot be released before
// ctx ends are released in the background; that is not an error here.
func (h *HeldGroup) unlockTaken(ctx context.Context) error {
	if err := h.unlockAll(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
