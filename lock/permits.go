package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Permits are held permits of a semaphore. Give them back with Release, even
// after a loss.
type Permits struct {
	client *session.Client
	path   string
	count  int
	holds  []held
	ctx    context.Context
	cancel context.CancelCauseFunc

	end holding.Release
}

var _ session.Held = (*Permits)(nil)

// held is the hold of a znode of permits, and its token.
type held struct {
	hold  *session.Hold
	token int64
}

func newPermits(client *session.Client, path string, count int, holds []held) *Permits {
	p := &Permits{client: client, path: path, count: count, holds: holds}
	others := make([]context.Context, 0, len(holds))
	for _, h := range holds[1:] {
		others = append(others, h.hold.Context())
	}
	p.ctx, p.cancel = session.WithHolds(holds[0].hold.Context(), others...)
	return p
}

// firstHold returns the hold of the permits, or of the first permit; zero Permits have
// no hold.
func (p *Permits) firstHold() held {
	holding.MustBeMade(p != nil && len(p.holds) > 0, "lock.Permits", "lock.Semaphore")
	return p.holds[0]
}

// Count returns the number of permits.
func (p *Permits) Count() int { return receiver.OrZero(p).count }

// Context ends on release and on loss of any of the permits; see
// [Held.Context].
func (p *Permits) Context() context.Context {
	_ = p.firstHold()
	return p.ctx
}

// Token is a fencing token that grows with every grant of the path; see
// [Held.Token].
func (p *Permits) Token() int64 { return p.firstHold().token }

// Guard is a single check for a transaction; the transaction fails if any of
// the permits is not held any more; see [Held.Guard].
func (p *Permits) Guard() session.Op {
	if guard := p.firstHold().hold.Guard(); len(p.holds) == 1 {
		return guard
	}
	guards := make([]session.Op, len(p.holds))
	for i, h := range p.holds {
		guards[i] = h.hold.Guard()
	}
	return session.AllOf(guards...)
}

// Session returns the session in which the permits were won.
func (p *Permits) Session() *session.Session { return p.firstHold().hold.Session() }

// Path returns the path of the znode of the permits; with several permits in
// Curator's layout, the path of the first permit's znode.
func (p *Permits) Path() string { return p.firstHold().hold.Path() }

// Release gives the permits back; see [Held.Unlock].
func (p *Permits) Release(ctx context.Context) error {
	p = receiver.OrZero(p)
	if err := holding.BeginHeld(ctx, len(p.holds) > 0, "lock.Permits", "lock.Semaphore", ErrInvalidArgument); err != nil {
		return failure(ctx, "release", p.path, err)
	}
	return releaseOnce(ctx, &p.end, p.path, func(ctx context.Context) error {
		p.cancel(session.ErrReleased)
		return releaseAll(ctx, p.holds)
	})
}

// Do runs fn while it holds n permits; see [Mutex.Do].
func (s *Semaphore) Do(ctx context.Context, n int, fn func(ctx context.Context, p *Permits) error) error {
	s = receiver.OrZero(s)
	if err := s.checkCall(ctx, n); err == nil && fn == nil {
		return failure(ctx, "do", s.path, fmt.Errorf("%w: fn is nil", ErrInvalidArgument))
	}
	p, err := s.Acquire(ctx, n)
	if err != nil {
		return err
	}
	return holding.Run(ctx, p.ctx, s.opts.Grace, ErrNotHeld, func(ctx context.Context) error { return fn(ctx, p) }, p.Release)
}

// releaseAll ends the holds and deletes their nodes, except nodes deleted by
// another client: a foreign node of the same name may exist by now. The error is the
// loss of the holds lost before, otherwise the failure of a deletion.
func releaseAll(ctx context.Context, holds []held) error {
	var lost, failed error
	for _, h := range holds {
		h.hold.End(session.ErrReleased)
	}
	for _, h := range holds {
		// The first end of a hold counts, so the answer is the same at each look.
		reason := h.hold.Err()
		if !errors.Is(reason, session.ErrReleased) {
			lost = errors.Join(lost, reason)
		}
		switch s := h.hold.Session(); {
		case errors.Is(reason, session.ErrNodeDeleted):
		case s.Err() != nil:
			s.EnsureRemainsDeleted(h.hold.Path())
			failed = errors.Join(failed, s.Err())
		default:
			failed = errors.Join(failed, holding.Delete(ctx, s, h.hold.Path()))
		}
	}
	if lost != nil {
		return lost
	}
	return failed
}
