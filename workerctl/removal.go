package workerctl

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// together is how many requests are in flight at a time.
const together = 256

// Kill ends the job and removes it. All its workers lose their holds, and no worker can
// join any more. A job that is over is just removed. Killing a removed job is not an
// error. A job whose status is not a record of this package is ended too, unless a newer
// version of this package wrote the status.
//
// If the job was ended, but could not be removed within ctx, the error wraps
// ErrNotRemoved.
func (j *Job) Kill(ctx context.Context) error {
	j = receiver.OrZero(j)
	const op = "kill"
	if err := j.checkCall(ctx); err != nil {
		return wrapError(ctx, op, j.Path(), err)
	}
	if err := j.endJob(ctx, killed); err != nil && !errors.Is(err, ErrOver) {
		return j.reportUnknown(ctx, op, wrapError(ctx, op, j.Path(), err))
	}
	if err := j.completeRemoval(ctx); err != nil {
		return wrapError(ctx, op, j.Path(), err)
	}
	return nil
}

// Remove completes the removal of a job that is over. The error wraps ErrRunning
// if the job is not over. Removing a removed job is not an error.
func (j *Job) Remove(ctx context.Context) error {
	j = receiver.OrZero(j)
	const op = "remove"
	info, err := j.currentInfo(ctx)
	switch {
	case errors.Is(err, ErrOver): // already removed, by a client or, in part, by hand
	case err != nil:
		return err
	case !info.State.Over():
		return wrapError(ctx, op, j.Path(), ErrRunning)
	}
	if err := j.completeRemoval(ctx); err != nil {
		return wrapError(ctx, op, j.Path(), err)
	}
	return nil
}

// completeRemoval is removeJob, with an error for a failure that another client can repair.
func (j *Job) completeRemoval(ctx context.Context) error {
	if err := j.removeJob(ctx); err != nil {
		return errors.Join(ErrNotRemoved, err)
	}
	return nil
}

// endJob ends a job that has not finished, for the reason why.
func (j *Job) endJob(ctx context.Context, why jobformat.State) error {
	_, err := j.applyTxn(ctx, func(tx *stm.Tx) error {
		st, err := j.readEnding(tx, why)
		if err != nil || st.State.Over() {
			return err
		}
		return j.setEnd(tx, st, why)
	})
	return err
}

// readEnding reads the status of a job that is to end. An unreadable status
// must not keep a killed job, and its name, indefinitely.
func (j *Job) readEnding(tx *stm.Tx, why jobformat.State) (status, error) {
	st, _, err := j.readStatus(tx)
	if !errors.Is(err, ErrRecord) || why != killed {
		return st, err
	}
	node, unread := tx.Get(j.run.statePath())
	if unread != nil || checkFormat(node.Data) != nil {
		return st, errors.Join(err, unread)
	}
	return status{Workers: 1}, nil
}

// setEnd ends the job in a transaction that has read the status. It sets the size to the
// same number, which wakes the callers that wait for others.
func (j *Job) setEnd(tx *stm.Tx, st status, why jobformat.State) error {
	return errors.Join(j.setStatus(tx, st.endWith(why)), j.setSize(tx, st.Workers))
}

// removeJob deletes a job that is over: first its workers' live nodes, so that the workers
// stop; last, in one transaction, the status and the job itself. Any number of clients may
// remove a job concurrently, and continue a removal that another client has begun: the
// paths are never used again, so a deletion can be repeated, and hits no other job.
func (j *Job) removeJob(ctx context.Context) error {
	return retryConflicts(ctx, j.client, func(s *session.Session) error {
		if err := j.recordEnd(ctx, s); err != nil {
			return err
		}
		for _, name := range jobformat.Folders() {
			if err := optimistic.DeleteBelow(ctx, s, j.run.at(name)); err != nil {
				return err
			}
		}
		if err := optimistic.DeleteBelow(ctx, s, string(j.run), jobformat.NodeState); err != nil {
			return err
		}
		err := j.txs.Apply(ctx, func(tx *stm.Tx) error {
			return errors.Join(tx.Delete(j.run.statePath()), tx.Delete(string(j.run)), tx.Delete(j.Path()))
		})
		switch path, refused := optimistic.Culprit(err); {
		case errors.Is(refused, session.ErrNoNode):
			return j.removeRest(ctx, s) // another client was faster
		case errors.Is(refused, session.ErrNotEmpty) && path != j.Path():
			if err := optimistic.DeleteBelow(ctx, s, path, jobformat.NodeState); err != nil {
				return err
			}
			return optimistic.ErrChanged
		}
		// Any other znode below the job is a stranger's, and cannot be told from the
		// run of the next job of this name: the znode stays, and so does the job.
		return err
	})
}

// removeRest removes the rest of a job without a state: nothing, or the znodes that remain
// after a removal by hand. It never hits the next job of the name, which has its run from
// the beginning.
func (j *Job) removeRest(ctx context.Context, s *session.Session) error {
	for tries, refused := 0, error(nil); ; tries++ {
		r := newReading(ctx, s)
		seen := r.Get(j.Path())
		if r.Err != nil || !seen.Exists || !j.wroteRecord(seen.Data) {
			return r.Err
		}
		if tries > 0 {
			return refused // not by the next job: this read would show the next job
		}
		if refused = optimistic.DeleteAll(ctx, s, string(j.run)); refused == nil {
			refused = optimistic.DeleteAll(ctx, s, j.Path())
		}
		if refused == nil || !errors.Is(refused, session.ErrNotEmpty) {
			return refused
		}
	}
}

// wroteRecord reports whether data is this job's record, rather than the record of the next
// job of its name, or no record.
func (j *Job) wroteRecord(data []byte) bool {
	record, err := jobOf(session.EscapeName(j.Name()), data)
	return err == nil && record.ID == j.ID()
}
