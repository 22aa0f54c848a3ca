package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// Group is several locks as one.
type Group struct {
	locks []*Mutex
	err   error
}

// All makes one lock of several, which must be on different paths. They are
// taken in the order of their paths, so that groups that share locks cannot
// wait for each other for ever, and released in reverse. A wrong argument is
// reported by Lock.
func All(locks ...*Mutex) *Group {
	g := &Group{locks: slices.Clone(locks)}
	if len(locks) == 0 || slices.Contains(locks, nil) {
		g.err = fmt.Errorf("%w: a group needs at least one lock, and none that is nil", ErrArgument)
		return g
	}
	slices.SortStableFunc(g.locks, func(a, b *Mutex) int { return strings.Compare(a.place(), b.place()) })
	for i, m := range g.locks[1:] {
		if m.place() == g.locks[i].place() {
			g.err = fmt.Errorf("%w: %s is in the group twice", ErrArgument, m.path)
		}
	}
	return g
}

// place is where the lock is on its servers, whatever its client's chroot.
func (m *Mutex) place() string {
	if m.client == nil {
		return m.path
	}
	return m.client.Chroot() + m.path
}

// Lock waits until it holds all the locks; ctx bounds the whole wait. If one of
// them cannot be had, or is lost before all are held, those that are held are
// released, and the error names the one.
func (g *Group) Lock(ctx context.Context) (*HeldGroup, error) {
	if ctx.Err() != nil {
		return nil, failure(ctx, "acquire", "group", context.Cause(ctx))
	}
	if g.err != nil {
		return nil, failure(ctx, "acquire", "group", g.err)
	}
	h := &HeldGroup{}
	for _, m := range g.locks {
		one, err := m.Lock(ctx)
		if err != nil {
			return nil, errors.Join(err, h.abandon(ctx))
		}
		h.held = append(h.held, one)
	}
	for _, one := range h.held {
		if one.ctx.Err() != nil {
			err := failure(ctx, "acquire", one.claim.m.path, context.Cause(one.ctx))
			return nil, errors.Join(err, h.abandon(ctx))
		}
	}
	inner, cancel := h.held[0].claim.hold.Derive()
	all := make([]context.Context, len(h.held))
	for i, one := range h.held {
		all[i] = one.ctx
		h.stops = append(h.stops, context.AfterFunc(one.ctx, func() { cancel(context.Cause(one.ctx)) }))
	}
	h.ctx, h.cancel = holding.Looking(inner, cancel, all...), cancel
	return h, nil
}

// HeldGroup is several locks that are held.
type HeldGroup struct {
	held   []*Held
	ctx    context.Context
	cancel context.CancelCauseFunc
	stops  []func() bool
}

// Context ends on release and on loss of any of the locks; see [Held.Context].
func (h *HeldGroup) Context() context.Context { return h.ctx }

// Held returns the locks, in the order of their paths: for tokens and guards.
// They are released with the group, not one by one.
func (h *HeldGroup) Held() []*Held { return slices.Clone(h.held) }

// Guards are the guards of all the locks, for a transaction.
func (h *HeldGroup) Guards() []session.Op {
	ops := make([]session.Op, len(h.held))
	for i, one := range h.held {
		ops[i] = one.Guard()
	}
	return ops
}

// Unlock gives all the locks back, the last one first; see [Held.Unlock].
func (h *HeldGroup) Unlock(ctx context.Context) error {
	for _, stop := range h.stops {
		stop()
	}
	h.cancel(session.ErrReleased)
	return h.release(ctx)
}

func (h *HeldGroup) release(ctx context.Context) error {
	var errs []error
	for _, one := range slices.Backward(h.held) {
		errs = append(errs, one.Unlock(ctx))
	}
	return errors.Join(errs...)
}

// abandon releases what was taken so far. What cannot be released before ctx
// ends is deleted in the background, which is no error here.
func (h *HeldGroup) abandon(ctx context.Context) error {
	if err := h.release(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
