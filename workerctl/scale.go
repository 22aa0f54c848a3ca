package workerctl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// droppedAtOnce bounds the ids removed from a job in one transaction.
const droppedAtOnce = 500

// Scale changes the number of workers of a running job to n, at least 1. The
// new number holds as soon as the job's size is changed: Job.WaitAll then waits
// for n workers, ErrFull begins at n, and workers that wait at barriers move on
// (see Worker.Barrier).
//
// If n is smaller than before, assigned ids from n on must have left; otherwise
// nothing is changed, and the error is an [InUseError]. The members of these
// ids are deleted, so the ids are assigned again if the job grows. If all
// remaining workers have left, the job is finished and removed (ErrNotRemoved).
// More than 500 ids are removed in several steps. Each step leaves a smaller
// job; an error after the first step says so.
//
// If the reply is lost, Scale finds out by the job's size. If another client has
// set another size in between, Scale does not set n again, and the error wraps
// session.ErrUnknownOutcome: the job may have had n workers for a while.
func (j *Job) Scale(ctx context.Context, n int) error {
	j = receiver.OrZero(j)
	const op = "scale"
	if err := j.checkCall(ctx); err != nil {
		return wrapError(ctx, op, j.Path(), err)
	}
	if n < 1 || n > jobformat.MaxWorkers {
		return wrapError(ctx, op, j.Path(), fmt.Errorf("%w: n is %d; it must be 1 to %d", ErrInvalidArgument, n, jobformat.MaxWorkers))
	}
	r, steps := resizing{job: j, n: n}, -1
	err := error(nil)
	for r.more = true; r.more && err == nil; steps++ {
		_, err = j.applyTxn(ctx, func(tx *stm.Tx) error {
			r.unanswered = r.unanswered || tx.Unanswered()
			return r.planStep(tx)
		})
	}
	if err != nil && r.unanswered && !errors.Is(err, session.ErrUnknownOutcome) {
		err = &session.UnknownOutcomeError{Op: op, Path: j.Path(), Reason: err}
	}
	if err != nil && steps > 0 {
		err = fmt.Errorf("smaller by %d steps, and then: %w", steps, err)
	}
	if err == nil && r.finished {
		err = j.completeRemoval(ctx)
	}
	if err != nil {
		return j.reportUnknown(ctx, op, wrapError(ctx, op, j.Path(), err))
	}
	return nil
}

// resizing is a call of Scale.
type resizing struct {
	job *Job
	n   int
	// size is the mzxid of the job's size, as the last attempt has read it: each change of the
	// size writes the znode. step is the size that the attempt was to set. unanswered: the reply
	// to an attempt is missing.
	size       int64
	step       int
	unanswered bool
	// The effect of the last attempt: finished, it finishes the job; more, another step must
	// follow.
	finished, more bool
}

// errResizedMeanwhile: a change of the size was not answered, and the size has changed since.
var errResizedMeanwhile = errors.New("another client has changed the number of workers meanwhile")

// planStep plans one step of the change to n workers.
func (r *resizing) planStep(tx *stm.Tx) error {
	j, n := r.job, r.n
	r.finished, r.more = false, false
	st, others, err := j.readStatus(tx, j.run.at(jobformat.NodeSize))
	switch {
	case err != nil:
		return err
	case st.Workers == n && (!st.State.Over() || st.State.Complete()):
		r.finished = st.State.Complete() // unchanged, or a reply was lost
		return nil
	case st.State.Over():
		return ErrOver
	case r.unanswered && others[0].Stat.Mzxid != r.size && st.Workers != r.step:
		return errResizedMeanwhile
	}
	r.size = others[0].Stat.Mzxid
	gone, forget, err := j.findLeftovers(tx, st, n)
	if err != nil {
		return err
	}
	// All of them must have left before any is forgotten.
	if _, err := st.resizeTo(n, gone); err != nil {
		return err
	}
	step := max(n, st.Next-droppedAtOnce)
	r.step = step
	next, err := st.resizeTo(step, gone)
	if err != nil {
		return err
	}
	err = errors.Join(j.setStatus(tx, next), j.setSize(tx, step))
	switch full := j.run.at(jobformat.NodeFull); {
	case st.isFull() && !next.isFull():
		err = errors.Join(err, tx.Delete(full))
	case !st.isFull() && next.isFull():
		err = errors.Join(err, j.createNode(tx, full, nil))
	}
	for id := step; id < st.Next; id++ {
		for _, path := range forget[id] {
			err = errors.Join(err, tx.Delete(path))
		}
	}
	r.finished, r.more = next.State.Complete(), step != n && !next.State.Complete()
	return err
}

// findLeftovers returns the ids from n on whose workers have left, with their
// znodes. These znodes change only together with the status.
func (j *Job) findLeftovers(tx *stm.Tx, st status, n int) (gone map[int]bool, forget map[int][]string, err error) {
	gone, forget = map[int]bool{}, map[int][]string{}
	for chunk := range slices.Chunk(idsFrom(n, st.Next), together) {
		members, err := j.peekMembers(tx, chunk)
		if err != nil {
			return nil, nil, err
		}
		for i, id := range chunk {
			m := members[i]
			switch {
			case m == nil:
				return nil, nil, errMisfit // or another client makes the job smaller
			case !m.Left:
				continue
			}
			gone[id] = m.HasFailed()
			forget[id] = []string{j.run.memberPath(id), j.run.identityPath(m.Name)}
			if j.record.ReuseIDs {
				forget[id][1] = j.run.freePath(id)
			}
		}
	}
	return gone, forget, nil
}
