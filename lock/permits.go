package lock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// Permits are permits of a semaphore that are held. They must be given back
// with Release, also when they were lost.
type Permits struct {
	path   string
	count  int
	holds  []held
	ctx    context.Context
	cancel context.CancelCauseFunc
	stops  []func() bool

	end holding.Release
}

// held is one znode that stands for permits, and its token.
type held struct {
	hold  *session.Hold
	token int64
}

func newPermits(path string, count int, holds []held) *Permits {
	p := &Permits{path: path, count: count, holds: holds}
	p.ctx, p.cancel = holds[0].hold.Derive()
	for _, other := range holds[1:] {
		h := other.hold
		p.stops = append(p.stops, context.AfterFunc(h.Context(), func() { p.cancel(h.Err()) }))
	}
	return p
}

// Count is how many permits these are.
func (p *Permits) Count() int { return p.count }

// Context ends on release and on loss of any of the permits; see
// [Held.Context].
func (p *Permits) Context() context.Context { return p.ctx }

// Token is a fencing token that grows with every grant of the path; see
// [Held.Token].
func (p *Permits) Token() int64 { return p.holds[0].token }

// Guard is a check for a transaction; see [Held.Guard]. With several permits of
// Curator's layout it guards the first.
func (p *Permits) Guard() session.Op { return p.holds[0].hold.Guard() }

// Session is the session in which the permits were won.
func (p *Permits) Session() *session.Session { return p.holds[0].hold.Session() }

// Path is the znode that stands for the permits, for the first of several in
// Curator's layout.
func (p *Permits) Path() string { return p.holds[0].hold.Path() }

// Release gives the permits back; see [Held.Unlock].
func (p *Permits) Release(ctx context.Context) error {
	return release(ctx, &p.end, p.path, func() error {
		var lost error
		for _, h := range p.holds {
			lost = errors.Join(lost, h.hold.Err())
		}
		for _, stop := range p.stops {
			stop()
		}
		p.cancel(session.ErrReleased)
		if err := releaseAll(ctx, p.holds); lost == nil {
			return err
		}
		return lost
	})
}

// releaseAll ends the holds and deletes their nodes.
func releaseAll(ctx context.Context, holds []held) error {
	var errs []error
	for _, h := range holds {
		h.hold.End(session.ErrReleased)
	}
	for _, h := range holds {
		if h.hold.Session().Err() == nil {
			errs = append(errs, holding.Delete(ctx, h.hold.Session(), h.hold.Path()))
		}
	}
	return errors.Join(errs...)
}
