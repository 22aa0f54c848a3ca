package serving

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

// Run stands in the election, and admits requests while it leads. Run blocks; the caller
// owns the goroutine. After a loss, Run waits for the admitted requests, whose contexts have
// ended, and campaigns again.
//
// When ctx ends, Run admits no further request, waits for the admitted ones
// ([Options.DrainTimeout]), calls Stop, and gives the leadership back. Run returns nil when
// a server has confirmed that; see [election.Elector.Run] for the errors. If a request had to
// be told to end, the error wraps ErrDrainTimeout, besides these.
//
// An error of Start, Stop or Issuer ends Run, unless the leadership was lost meanwhile.
func (l *Leader) Run(ctx context.Context) error {
	l = receiver.OrZero(l)
	err := l.check(ctx)
	if err == nil {
		err = l.beginRun()
	}
	if err != nil {
		return fmt.Errorf("serving: run: %w", err)
	}
	defer l.finish()
	stop := l.followLeader(ctx)
	defer stop()
	return l.e.Run(ctx, func(own context.Context, lead *election.Leadership) error { return l.lead(ctx, own, lead) })
}

// beginRun notes that Run is in progress.
func (l *Leader) beginRun() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return fmt.Errorf("%w: another Run of this leader is in progress", ErrInvalidArgument)
	}
	l.running = true
	return nil
}

// finish notes that Run has ended.
func (l *Leader) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = false
}

// lead admits requests until ctx or the leadership ends, and returns when no work is left.
// own is the context of the function of the elector's Run.
func (l *Leader) lead(ctx, own context.Context, lead *election.Leadership) error {
	t := newTerm(ctx, lead)
	defer t.end(nil)
	if l.opts.Issuer != nil {
		token, err := l.opts.Issuer.Token(own, lead)
		if err != nil {
			return fmt.Errorf("serving: run: %w", err)
		}
		t.token = &token
	}
	if l.opts.Start != nil {
		if err := l.opts.Start(t.values(own), lead); err != nil {
			return err
		}
	}
	l.admitDuring(t, lead)
	select {
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	err := l.drain(t)
	if l.opts.Stop != nil {
		err = errors.Join(err, l.opts.Stop(t.values(context.WithoutCancel(ctx)), lead))
	}
	return err
}

// admitDuring admits requests in the term.
func (l *Leader) admitDuring(t *term, lead *election.Leadership) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = t
	l.known.own = lead.Path()
	l.changed.Announce()
}

// drain admits no further request, and waits for those that were admitted.
func (l *Leader) drain(t *term) error {
	t.refuse()
	l.mu.Lock()
	l.current = nil
	l.changed.Announce()
	t.closed = true
	t.closeIfIdle()
	l.mu.Unlock()
	if l.opts.DrainTimeout > 0 {
		limit := time.NewTimer(l.opts.DrainTimeout)
		defer limit.Stop()
		select {
		case <-t.idle:
			return nil
		case <-t.ctx.Done(): // lost: the requests know
		case <-limit.C:
			n := l.requests(t)
			t.end(ErrDrainTimeout)
			<-t.idle
			if n == 0 {
				return nil // in the same moment
			}
			return fmt.Errorf("serving: drain: %w: %d requests took longer than %v", ErrDrainTimeout, n, l.opts.DrainTimeout)
		}
	}
	<-t.idle
	return nil
}

// requests is the number of requests of the term that are in progress.
func (l *Leader) requests(t *term) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.requests
}
