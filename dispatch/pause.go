package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// A pause is a part of the data of admission, which every master reads before it assigns, and
// watches. Each transaction that assigns tasks depends on the version of admission, and each
// pause changes the version: so no assignment of a master that has not heard of the pause is
// applied behind it.
//
// Rejected: a znode of its own. A transaction cannot depend on its absence, each Stats and each
// change of a schedule would take one more read, and its absence would have to be proved.

// maxReason bounds the name and the reason: clients read admission often.
const maxReason = 1024

// Pause pauses the queue until [Queue.Resume]: once Pause has returned, no task is assigned to
// a worker. The queue accepts tasks as before, until it is full, and the slots of schedules are
// run. Tasks that are assigned go on, also those that their worker has not begun; none is taken
// back for another worker. Cancellations, deadlines, retention and the tasks of dead workers
// are taken care of. The pause lasts whatever masters and clients end.
//
// by names who pauses the queue; "" means the host name and the process id. reason is required.
// Each has up to 1,024 bytes of UTF-8. [Queue.Stats] shows both, and the time.
//
// If the queue was paused already, that pause stays with its name and reason, and isNew is
// false: of several calls at a time, one pauses the queue.
//
// If a reply is lost, Pause finds out whether it has paused the queue, also if another client has
// resumed the queue since, and never pauses a second time. If other clients have paused the queue
// and resumed it meanwhile, the error wraps session.ErrUnknownOutcome.
//
// Masters of former versions ignore the pause. Pause takes two requests.
func (q *Queue) Pause(ctx context.Context, by, reason string) (isNew bool, err error) {
	q = receiver.OrZero(q)
	const op = "pause"
	c := pausing{q: q, op: op, next: taskformat.Pause{By: cmp.Or(by, processID()), Reason: reason, Since: truncateTime(time.Now())}, call: session.NewID()}
	if err = q.checkCall(ctx); err == nil {
		err = checkReason(c.next.By, c.next.Reason)
	}
	if err == nil {
		err = c.apply(ctx, c.pause)
	}
	if err != nil {
		return false, q.reportUnknown(ctx, op, wrapError(ctx, op, q.Path(), err))
	}
	return c.made, nil
}

// Resume ends the pause of the queue, whichever client has paused it: the leading master assigns
// tasks at once. existed reports whether the queue was paused at some time during the call.
//
// If a reply is lost, Resume finds out whether the pause has ended, and never ends a later pause
// of another client. Resume takes two requests.
func (q *Queue) Resume(ctx context.Context) (existed bool, err error) {
	q = receiver.OrZero(q)
	const op = "resume"
	c := pausing{q: q, op: op}
	if err = q.checkCall(ctx); err == nil {
		err = c.apply(ctx, c.resume)
	}
	if err != nil {
		return false, q.reportUnknown(ctx, op, wrapError(ctx, op, q.Path(), err))
	}
	return c.made, nil
}

// checkReason checks who does something, and why.
func checkReason(by, reason string) error {
	if reason == "" {
		return fmt.Errorf("%w: the reason is empty", ErrInvalidArgument)
	}
	for field, text := range map[string]string{"by": by, "the reason": reason} {
		if len(text) > maxReason {
			return fmt.Errorf("%w: %s has %d bytes; it must have up to %d", ErrInvalidArgument, field, len(text), maxReason)
		}
		if err := checkText(field, text); err != nil {
			return err
		}
	}
	return nil
}

// pausing is one call of Pause or Resume.
type pausing struct {
	q  *Queue
	op string
	// next and call are the pause of Pause, and its id.
	next taskformat.Pause
	call string
	// last is the id of the last pause, as the last attempt has read it, and unanswered: the
	// reply to an attempt is missing.
	last       string
	unanswered bool
	// made: the call has made the present pause, or there was a pause to end.
	made bool
}

// errPausesChanged: a pause was not answered, and other clients have paused and resumed the
// queue meanwhile.
var errPausesChanged = errors.New("other clients have paused and resumed the queue meanwhile")

// apply changes the limits of the queue as change does, which reports whether it has changed
// them. A queue that does not exist is not created by a call that changes nothing.
func (c *pausing) apply(ctx context.Context, change func(l *limits) (bool, error)) error {
	err := retryConflicts(ctx, c.q.client, func(*session.Session) error {
		missing := false
		err := c.q.applyTxn(ctx, func(tx *stm.Tx) error {
			c.unanswered = c.unanswered || tx.Unanswered()
			node, err := tx.Get(c.q.at(admissionDir))
			if err != nil {
				return err
			}
			l := limits{}
			if node.Exists {
				l, err = c.q.decodeLimits(node.Data)
			}
			if err != nil {
				return err
			}
			changed, err := change(&l)
			if missing = changed && !node.Exists; err != nil || !changed || missing {
				return err
			}
			l.Format, l.MaxTasks = format, cmp.Or(l.MaxTasks, c.q.opts.MaxTasks, defaultMaxTasks)
			return tx.Set(node.Path, encode(l))
		})
		if err == nil && missing {
			if err = c.q.ensureFolders(ctx); err == nil {
				err = optimistic.ErrChanged
			}
		}
		return err
	})
	if err != nil && c.unanswered && !errors.Is(err, session.ErrUnknownOutcome) {
		err = &session.UnknownOutcomeError{Op: c.op, Path: c.q.at(admissionDir), Reason: err}
	}
	return err
}

// pause pauses the queue.
func (c *pausing) pause(l *limits) (changed bool, err error) {
	switch {
	case c.unanswered && l.LastPause == c.call: // also if it has ended since
		return false, nil
	case l.Paused != nil:
		c.made = false
		return false, nil
	case c.unanswered && l.LastPause != c.last:
		return false, errPausesChanged
	}
	c.last, c.made = l.LastPause, true
	l.Paused, l.LastPause = &c.next, c.call
	return true, nil
}

// resume ends the pause of the queue.
func (c *pausing) resume(l *limits) (changed bool, err error) {
	if l.Paused == nil || c.unanswered && l.LastPause != c.last {
		return false, nil // by another pause, the one of the last attempt has ended
	}
	c.last, c.made = l.LastPause, true
	l.Paused = nil
	return true, nil
}
