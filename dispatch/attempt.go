package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

var _ session.Held = (*Attempt)(nil)

// zeroAttempt is the error of an Attempt that no worker has made: a guard without a check
// would let unprotected writes through.
const zeroAttempt = "a nil or zero dispatch.Attempt has no task: get one from a dispatch.Worker, which passes it to its Handler"

// mustHeld is the held task of the attempt; an Attempt that no worker has made has none.
func (a *Attempt) mustHeld() *heldTask {
	if a == nil || a.held == nil {
		panic(zeroAttempt)
	}
	return a.held
}

// Context returns the handler's context: see [Handler]. After the handler has returned,
// and after Release, its cause is session.ErrReleased, unless it ended before.
func (a *Attempt) Context() context.Context { return a.mustHeld().ctx }

// Token is a fencing token, the zxid of the assignment: of two attempts of a task, the
// later attempt has the greater token. A store that the handler writes to can refuse a
// token below the greatest that the store has seen. The token is 0 for an Attempt that a
// test of a handler has made.
func (a *Attempt) Token() int64 {
	a = receiver.OrZero(a)
	if a.held == nil {
		return 0
	}
	return a.held.token
}

// Guard is a check for a transaction, which fails if the assignment is gone:
// s.Txn(ctx, a.Guard(), ...), where s is [Attempt.Session].
func (a *Attempt) Guard() session.Op { return a.mustHeld().ws.s.CheckOp(a.Path(), -1) }

// Path returns the path of the assignment's znode. A child below it keeps the
// task from ending.
func (a *Attempt) Path() string {
	a = receiver.OrZero(a)
	if a.held == nil {
		return ""
	}
	return a.held.ws.assignmentPath(a.held.ws.id, a.held.name)
}

// Session returns the worker's session.
func (a *Attempt) Session() *session.Session {
	a = receiver.OrZero(a)
	if a.held == nil {
		return nil
	}
	return a.held.ws.s
}

// Release gives the task back for another worker, by the name that everything held
// shares; see [session.Held]. The task is neither done nor failed, and the attempt does
// not count: the task waits without a delay, and this worker may get it again. The
// handler's context ends first, with the cause session.ErrReleased; the handler should
// return then, and its result is ignored. Until it returns, it takes one of the worker's
// slots.
//
// If the assignment or the worker was lost before, the error wraps session.ErrLost. If
// ctx, which may be the handler's, ends first, the giving back continues in the
// background. A second call returns the result of the first call; after the handler has
// returned, the error wraps session.ErrReleased. Release takes one transaction.
func (a *Attempt) Release(ctx context.Context) error {
	const op = "release a task of"
	switch {
	case ctx == nil:
		return wrapError(ctx, op, "a queue", fmt.Errorf("%w: the context is nil", ErrInvalidArgument))
	case a == nil || a.held == nil:
		return wrapError(ctx, op, "a queue", fmt.Errorf("%w: %s", ErrInvalidArgument, zeroAttempt))
	}
	ctx, stop := session.WithoutRelease(ctx)
	defer stop()
	if err := a.held.releaseTask(ctx); err != nil {
		return wrapError(ctx, op, string(a.held.ws.layout), err)
	}
	return nil
}

// release is the return of a task before its handler has returned. done is closed when the
// return has ended, with err.
type release struct {
	done chan struct{}
	err  error
}

// releaseTask gives the task back once, and waits within ctx until that is done.
func (h *heldTask) releaseTask(ctx context.Context) error {
	h.mu.Lock()
	r, first := h.release, h.release == nil
	if first && h.returned {
		h.mu.Unlock()
		if err := context.Cause(h.ctx); errors.Is(err, session.ErrLost) {
			return err
		}
		return session.ErrReleased
	}
	if first {
		r = &release{done: make(chan struct{})}
		h.release = r
	}
	h.mu.Unlock()
	if first {
		lost := h.loss()
		if lost == nil {
			h.observed.ending()
		} else {
			h.observed.lost(lost)
		}
		h.cancel(session.ErrReleased)
		// Waited for by awaitRelease; ends with the write, or with the worker's hold.
		go func() {
			defer close(r.done)
			if r.err = lost; lost == nil {
				r.err = h.writeReturned()
				h.observed.end(h)
			}
		}()
	}
	if err := await.Closed(ctx, r.done); err != nil {
		return err
	}
	return r.err
}

// loss is the reason why the assignment is lost, as far as the worker knows; nil if it
// is not.
func (h *heldTask) loss() error {
	if err := context.Cause(h.ctx); errors.Is(err, session.ErrLost) {
		return err
	}
	return h.ws.hold.Err()
}

// writeReturned writes that the task waits again.
func (h *heldTask) writeReturned() error {
	h.writeOutcome(h.Task.returned(), nil)
	return cmp.Or(h.lost, h.kept)
}

// awaitRelease notes that the handler has returned, and waits until the task is given
// back, if the handler has released it.
func (h *heldTask) awaitRelease() (released bool) {
	h.mu.Lock()
	h.returned = true
	r := h.release
	h.mu.Unlock()
	if r == nil {
		return false
	}
	<-r.done
	return true
}
