package lock

import (
	"context"
	"errors"
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// release is the giving back of something held, which happens once.
type release struct {
	// mu guards over and err. over is nil until the giving back begins, and
	// closed when it has ended, with err if that was a loss.
	mu   sync.Mutex
	over chan struct{}
	err  error
}

// once runs give, and names the path in its error. All later calls wait for the
// first, within their ctx, and report the same loss, or ErrNotHeld.
func (r *release) once(ctx context.Context, path string, give func() error) error {
	r.mu.Lock()
	over, first := r.over, r.over == nil
	if first {
		over = make(chan struct{})
		r.over = over
	}
	r.mu.Unlock()
	if !first {
		return r.again(ctx, path, over)
	}
	defer close(over)
	err := give()
	if err == nil {
		return nil
	}
	err = failure(ctx, "release", path, err)
	if isLoss(err) {
		r.mu.Lock()
		r.err = err
		r.mu.Unlock()
	}
	return err
}

func (r *release) again(ctx context.Context, path string, over <-chan struct{}) error {
	select {
	case <-over:
	case <-ctx.Done():
		return failure(ctx, "release", path, context.Cause(ctx))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	return failure(ctx, "release", path, ErrNotHeld)
}

// isLoss reports whether err says that what was held had been lost.
func isLoss(err error) bool {
	return errors.Is(err, session.ErrLost)
}
