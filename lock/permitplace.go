package lock

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/standing"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// PermitPlace is a place in the queue of a [Semaphore], bound to one session. Give it up with
// Withdraw, or with [Permits.Release] after the grant.
type PermitPlace struct {
	s     *Semaphore
	place *standing.Place[Permits]
}

// Enqueue takes a place in the queue for n permits, and does not wait for them; see
// [Mutex.Enqueue]. With [Options.CuratorV2] there is no such queue, and the error wraps
// ErrInvalidArgument: Curator's contenders wait for a lock, and then count the leases.
func (s *Semaphore) Enqueue(ctx context.Context, n int) (*PermitPlace, error) {
	s = receiver.OrZero(s)
	const op = "enqueue"
	err := s.checkCall(ctx, n)
	if err == nil && s.opts.CuratorV2 {
		err = fmt.Errorf("%w: CuratorV2: a semaphore of Curator has no queue of permits to enqueue in", ErrInvalidArgument)
	}
	if err != nil {
		return nil, failure(ctx, op, s.path, err)
	}
	place, err := standing.Take(ctx, standing.Recipe[Permits]{
		Client: s.client, Kind: observe.Permit, Path: s.path, Withdrawn: ErrWithdrawn, Failure: failure,
		Entered: s.checkEntered,
		Hold: func(ctx context.Context, c *contender.Contender, waiting *observing.Wait) (*Permits, error) {
			p, err := s.holdPermits(ctx, c, n)
			if err == nil {
				p.end.Observe(waiting.NewHold(p, false))
			}
			return p, err
		},
		Begin:    func(p *Permits) { p.end.Begin() },
		GiveBack: func(ctx context.Context, p *Permits) (bool, error) { return p.end.Settle(p.Release(ctx), ErrNotHeld) },
	}, s.queue(n))
	if err != nil {
		return nil, failure(ctx, op, s.path, err)
	}
	return &PermitPlace{s: s, place: place}, nil
}

// mustPlace returns the place; a zero PermitPlace has none.
func (p *PermitPlace) mustPlace() *standing.Place[Permits] {
	holding.MustBeMade(p != nil && p.place != nil, "lock.PermitPlace", "lock.Semaphore.Enqueue")
	return p.place
}

// checkCall is the first check of all methods with a context.
func (p *PermitPlace) checkCall(ctx context.Context, op string) error {
	err := holding.BeginHeld(ctx, p.place != nil, "lock.PermitPlace", "lock.Semaphore.Enqueue", ErrInvalidArgument)
	switch {
	case err == nil:
		return nil
	case p.s == nil:
		return failure(ctx, op, "", err)
	}
	return failure(ctx, op, p.s.path, err)
}

// Path returns the path of the contender's znode; see [Place.Path].
func (p *PermitPlace) Path() string { return p.mustPlace().Contender().Node().Path }

// Session returns the session of the place.
func (p *PermitPlace) Session() *session.Session { return p.mustPlace().Contender().Session() }

// Watching returns the name of the nearest contender ahead that the place watches at present;
// see [Place.Watching].
func (p *PermitPlace) Watching() string { return p.mustPlace().Watching() }

// Ahead returns the number of contenders ahead in the queue, holders included, whatever the
// number of their permits; 0 once the permits are granted. See [Place.Ahead].
func (p *PermitPlace) Ahead(ctx context.Context) (int, error) {
	p = receiver.OrZero(p)
	if err := p.checkCall(ctx, "look ahead"); err != nil {
		return 0, err
	}
	return p.place.Ahead(ctx)
}

// Await waits until the permits are granted; see [Place.Await].
func (p *PermitPlace) Await(ctx context.Context) (*Permits, error) {
	p = receiver.OrZero(p)
	if err := p.checkCall(ctx, "await"); err != nil {
		return nil, err
	}
	return p.place.Await(ctx)
}

// Withdraw gives up the place, and releases the permits if Await has returned them; see
// [Place.Withdraw].
func (p *PermitPlace) Withdraw(ctx context.Context) error {
	p = receiver.OrZero(p)
	if err := p.checkCall(ctx, "withdraw"); err != nil {
		return err
	}
	return p.place.Withdraw(ctx)
}
