package stm

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/backoff"
	"github.com/zkrecipes/zkrecipes/session"
)

// noteConflict counts a conflict and waits: after the first conflict in the
// queue of [Options.Queue], if any, and otherwise for a random time.
// noteConflict returns again, which requests another attempt, unless the call
// has ended.
func (r *run) noteConflict(ctx context.Context, s *session.Session, again error) (err error) {
	r.conflicts++
	if r.t.opts.Queue == nil || r.queued {
		backoff.Wait(ctx, s, r.backoff.Lost())
		return again
	}
	r.queued = true
	if r.leave, err = r.t.opts.Queue(ctx); err != nil {
		return r.endCall(fmt.Errorf("queue after a conflict: %w", err), false)
	}
	return again
}

// leaveQueue leaves the queue, if entered.
func (r *run) leaveQueue() {
	if r.leave != nil {
		r.leave()
	}
}
