package kubelock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Run runs fn, which uses the lock with client-go's leaderelection: leaderelection.RunOrDie,
// or the Start of a manager of controller-runtime. Run blocks; the caller owns the
// goroutine.
//
// fn's context has ctx's values. It ends with ctx, and when a leadership that the lock has
// won meanwhile is lost, before the servers can let another candidate lead. When fn has
// returned, Run gives the leadership back, if there is one, and waits until a server has
// confirmed that, at most a session timeout after the last reply of a server. If fn panics,
// too, and the panic continues.
//
// Run returns fn's error, joined with the failure to give back; after a loss the error
// wraps session.ErrLost and the reason. If ctx has ended, and fn's error says no more than
// that, Run returns nil when a server has confirmed.
func (l *Lock[Record]) Run(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	l = receiver.OrZero(l)
	err = l.check(ctx)
	switch {
	case err != nil:
	case fn == nil:
		err = fmt.Errorf("%w: fn is nil", ErrInvalidArgument)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	r := &run{lost: make(chan struct{})}
	if err == nil {
		err = l.beginRun(r)
	}
	if err != nil {
		return failure(ctx, "run", l.e.Path(), err)
	}
	own, cancel := session.WithHolds(ctx, acquired{ctx, r})
	defer func() {
		cancel(nil)
		gave := l.finish(context.WithoutCancel(ctx), r)
		if ctx.Err() != nil && (holding.IsContextEnd(ctx, err) || holding.IsContextEnd(own, err)) {
			err = nil
		}
		if err == nil || gave != nil {
			err = errors.Join(err, gave)
		}
	}()
	return fn(own)
}

// Held returns the leadership that the lock has, for its token and its guard and for
// health.Held, and nil without one.
func (l *Lock[Record]) Held() session.Held {
	if r := receiver.OrZero(l).running(); r != nil {
		if lead := r.leadership(); lead != nil && lead.Context().Err() == nil {
			return lead
		}
	}
	return nil
}

func (l *Lock[Record]) running() *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run
}

func (l *Lock[Record]) beginRun(r *run) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != nil {
		return fmt.Errorf("%w: another Run of this lock is in progress", ErrInvalidArgument)
	}
	l.run = r
	return nil
}

// finish ends the run, and gives the leadership back. ctx does not end.
func (l *Lock[Record]) finish(ctx context.Context, r *run) error {
	lead := r.end()
	l.mu.Lock()
	l.run = nil
	l.mu.Unlock()
	if lead == nil {
		return nil
	}
	if err := lead.Resign(ctx); !errors.Is(err, election.ErrNotLeader) {
		return err
	}
	return nil // the caller has given it back, by Held
}

// tryLead wins the election, if there is no other candidate.
func (l *Lock[Record]) tryLead(ctx context.Context, r *run) (*election.Leadership, error) {
	switch leader, err := l.e.Leader(ctx); {
	case err == nil:
		return nil, fmt.Errorf("%w: %s", ErrHeld, leader.ID)
	case !errors.Is(err, election.ErrNoLeader):
		return nil, err
	}
	k, err := l.e.Stand(ctx)
	if err != nil {
		return nil, err
	}
	lead, err := l.awaitFirst(ctx, k)
	if err == nil && !r.win(lead) {
		err = ErrNotRunning
	}
	if err != nil {
		// The deletion continues in the background if ctx ends; its error says no more.
		_ = k.Withdraw(ctx)
		return nil, err
	}
	return lead, nil
}

// awaitFirst wins the election if k is the first candidate. It does not wait behind others.
func (l *Lock[Record]) awaitFirst(ctx context.Context, k *election.Candidacy) (*election.Leadership, error) {
	leader, err := l.e.Leader(ctx)
	if errors.Is(err, election.ErrNoLeader) {
		return nil, fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted) // of the candidate
	}
	if err != nil {
		return nil, err
	}
	if leader.Path != k.Path() {
		return nil, fmt.Errorf("%w: %s", ErrHeld, leader.ID)
	}
	return k.Await(ctx)
}

// run is a Run in progress.
type run struct {
	lost chan struct{} // closed when the leadership has ended

	// mu guards the fields below. Invariant: lead is set once, and not after over.
	mu   sync.Mutex
	lead *election.Leadership
	over bool
	stop func() bool // the closing of lost
}

// win notes the leadership. It is false if the run is over, or has a leadership.
func (r *run) win(lead *election.Leadership) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.lead != nil {
		return false
	}
	r.lead = lead
	r.stop = context.AfterFunc(lead.Context(), func() { close(r.lost) })
	return true
}

// end ends the run, and returns its leadership; nil without one.
func (r *run) end() *election.Leadership {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.stop != nil {
		r.stop()
	}
	return r.lead
}

func (r *run) leadership() *election.Leadership {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lead
}

// acquired is the context of the leadership that a run may win: that of a hold for
// session.WithHolds, which does not end before it is won.
type acquired struct {
	context.Context // only for its type: all methods are replaced
	r               *run
}

// Done is closed when the leadership has ended.
func (a acquired) Done() <-chan struct{} { return a.r.lost }

// Err compares the clock, as that of the leadership does.
func (a acquired) Err() error {
	if lead := a.r.leadership(); lead != nil {
		return lead.Context().Err()
	}
	return nil
}

// Value is that of the leadership's context: it leads session.ContextErr to the clock, and
// context.Cause to the reason.
func (a acquired) Value(key any) any {
	if lead := a.r.leadership(); lead != nil {
		return lead.Context().Value(key)
	}
	return nil
}
