package holding

import (
	"context"
	"errors"
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// Release is the giving back of something held, which happens once.
type Release struct {
	// mu guards over and err. over is nil until the giving back begins, and
	// closed when it has ended, with err if that was a loss.
	mu   sync.Mutex
	over chan struct{}
	err  error
}

// Once runs give, and lets explain name it in its error. All later calls wait
// for the first, within their ctx, and report the same loss, or notHeld.
func (r *Release) Once(ctx context.Context, notHeld error, explain func(error) error, give func() error) error {
	r.mu.Lock()
	over, first := r.over, r.over == nil
	if first {
		over = make(chan struct{})
		r.over = over
	}
	r.mu.Unlock()
	if !first {
		return r.again(ctx, notHeld, explain, over)
	}
	defer close(over)
	err := give()
	if err == nil {
		return nil
	}
	err = explain(err)
	if IsLoss(err) {
		r.mu.Lock()
		r.err = err
		r.mu.Unlock()
	}
	return err
}

func (r *Release) again(ctx context.Context, notHeld error, explain func(error) error, over <-chan struct{}) error {
	select {
	case <-over: // also when ctx has ended: there is nothing to wait for
	default:
		select {
		case <-over:
		case <-ctx.Done():
			return explain(context.Cause(ctx))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	return explain(notHeld)
}

// IsLoss reports whether err says that what was held had been lost.
func IsLoss(err error) bool { return errors.Is(err, session.ErrLost) }
