package holding

import (
	"context"
	"errors"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/session"
)

// Release is the giving back of something held, which happens once.
type Release struct {
	// mu guards over, err and confirmed. over is nil until the giving back begins, and
	// closed when it has ended, with err if that was a loss, or else confirmed if it has
	// succeeded.
	mu        sync.Mutex
	over      chan struct{}
	err       error
	confirmed bool

	observed *observing.Hold
}

// Observe has the giving back reported as the end of h. It is for the time before the
// owner of the hold has it.
func (r *Release) Observe(h *observing.Hold) { r.observed = h }

// Begin reports the beginning of the hold, for a recipe that has not reported it before.
func (r *Release) Begin() { r.observed.Begin() }

// HandOver reports the giving back in progress as a hand-over in this process.
func (r *Release) HandOver() { r.observed.HandedOver() }

// Once runs give, and lets explain name it in its error. All later calls wait
// for the first, within their ctx, and report the same loss, or notHeld.
//
// ctx may be derived from the context of the hold that is released, which ends with the
// giving back: give and explain get one that does not end with that
// ([session.WithoutRelease]).
func (r *Release) Once(ctx context.Context, notHeld error, explain func(context.Context, error) error, give func(context.Context) error) (err error) {
	ctx, stop := session.WithoutRelease(ctx)
	defer stop()
	r.mu.Lock()
	over, first := r.over, r.over == nil
	if first {
		over = make(chan struct{})
		r.over = over
	}
	r.mu.Unlock()
	if !first {
		return r.resultAgain(ctx, notHeld, explain, over)
	}
	r.observed.Ending()
	defer func() { r.reportEnd(err, notHeld) }() // last: an observer may call Once
	defer close(over)
	if err = give(ctx); err != nil {
		err = explain(ctx, err)
	}
	r.setResult(err)
	return err
}

func (r *Release) setResult(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.confirmed = err == nil; IsLoss(err) {
		r.err = err
	}
}

// Confirmed reports whether the giving back has succeeded: a server has confirmed that the
// hold was given back.
func (r *Release) Confirmed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.confirmed
}

// Settle takes the result of a giving back that may not have been the first. confirmed is
// false if the hold was given back before, and no server has confirmed that yet.
func (r *Release) Settle(err, notHeld error) (confirmed bool, _ error) {
	if !errors.Is(err, notHeld) {
		return true, err
	}
	return r.Confirmed(), nil
}

// reportEnd reports the end of the hold, unless another call has ended the hold.
func (r *Release) reportEnd(err, notHeld error) {
	if errors.Is(err, notHeld) {
		r.observed.NotEnding()
		return
	}
	r.observed.End(err)
}

func (r *Release) resultAgain(ctx context.Context, notHeld error, explain func(context.Context, error) error, over <-chan struct{}) error {
	if err := await.Closed(ctx, over); err != nil {
		return explain(ctx, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	return explain(ctx, notHeld)
}

// IsLoss reports whether err says that a hold had been lost.
func IsLoss(err error) bool { return errors.Is(err, session.ErrLost) }
