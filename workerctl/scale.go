package workerctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// droppedAtOnce is how many ids one transaction takes out of a job.
const droppedAtOnce = 500

// Scale makes the job one of n workers, at least 1, while it runs. It holds from
// the transaction on that changes the job's size: Job.WaitAll waits for n then,
// ErrFull begins at n, and those who wait at barriers move on (see
// Worker.Barrier).
//
// Down: ids from n on that were given out must have left; otherwise nothing is
// changed, and the error is an [InUseError]. Their members are forgotten, so that
// the ids are given out anew if the job grows again. If all that remain have left
// the job is finished by that, and removed (ErrNotRemoved). More than 500 ids are
// taken out in several steps, each of which leaves a smaller job; an error after the
// first one says so.
//
// A lost answer is found out by the job's size. If somebody else has given it another
// size in between, it is made one of n workers again; where that fails the error
// wraps session.ErrUnknownOutcome: it may have been one for a while.
func (j *Job) Scale(ctx context.Context, n int) error {
	const op = "scale"
	if ctx.Err() != nil {
		return failure(ctx, op, j.Path(), context.Cause(ctx))
	}
	if n < 1 || n > maxWorkers {
		return failure(ctx, op, j.Path(), fmt.Errorf("%w: n is %d; it must be 1 to %d", ErrArgument, n, maxWorkers))
	}
	done, unanswered, steps := false, false, 0
	err := j.inTurn(ctx, func(ctx context.Context, s *session.Session) (err error) {
		if done, err = j.resize(ctx, s, n); errors.Is(err, optimistic.ErrNews) {
			steps++
		}
		unanswered = unanswered || errors.Is(err, session.ErrUnknownOutcome)
		return err
	})
	if err != nil && unanswered && !errors.Is(err, session.ErrUnknownOutcome) {
		err = &session.UnknownOutcomeError{Op: op, Path: j.Path(), Reason: err}
	}
	if err != nil && steps > 0 {
		err = fmt.Errorf("smaller by %d steps, and then: %w", steps, err)
	}
	if err == nil && done {
		err = j.clear(ctx)
	}
	if err != nil {
		return failure(ctx, op, j.Path(), err)
	}
	return nil
}

// resize tries once to make the job one of n workers; finish says that it is
// finished by that.
func (j *Job) resize(ctx context.Context, s *session.Session, n int) (finish bool, err error) {
	r := newReading(ctx)
	synced, state := j.sync(s), s.StartGet(j.run.at(stateNode), false)
	r.Synced(synced)
	st, version := r.status(state)
	switch {
	case r.Err != nil:
		return false, r.Err
	case st.Workers == n && (!st.State.Over() || st.State == finished):
		return st.State == finished, nil // as it is, or an answer was lost
	case st.State.Over():
		return false, ErrOver
	}
	gone, ops, err := j.leftovers(ctx, s, st, n)
	if err != nil {
		return false, err
	}
	// All of them must have left before any is forgotten.
	if _, err := st.resize(n, gone); err != nil {
		return false, err
	}
	step := max(n, st.Next-droppedAtOnce)
	next, err := st.resize(step, gone)
	if err != nil {
		return false, err
	}
	txn := []session.Op{
		session.SetOp(j.run.at(stateNode), encode(next), version),
		session.SetOp(j.run.at(sizeNode), []byte(strconv.Itoa(step)), -1),
	}
	switch {
	case st.full() && !next.full():
		txn = append(txn, session.DeleteOp(j.run.at(fullNode), -1))
	case !st.full() && next.full():
		txn = append(txn, session.CreateOp(j.run.at(fullNode), nil, session.Persistent, j.opts.create()))
	}
	for id := step; id < st.Next; id++ {
		txn = append(txn, ops[id]...)
	}
	if _, err := s.Txn(ctx, txn...); err != nil {
		return false, err
	}
	if step != n && next.State != finished {
		return false, optimistic.ErrNews
	}
	return next.State == finished, nil
}

// leftovers are the ids from n on that have left, and for each what forgets it.
func (j *Job) leftovers(ctx context.Context, s *session.Session, st status, n int) (gone []int, ops map[int][]session.Op, err error) {
	ops = map[int][]session.Op{}
	r := newReading(ctx)
	for chunk := range slices.Chunk(idsFrom(n, st.Next), together) {
		var reads []*session.Future[session.Seen]
		for _, id := range chunk {
			reads = append(reads, s.StartGet(j.run.member(id), false))
		}
		for i, id := range chunk {
			m, stat := r.member(reads[i], id)
			switch {
			case r.Err != nil:
				return nil, nil, r.Err
			case m == nil:
				return nil, nil, optimistic.ErrChanged // somebody else makes the job smaller
			case !m.Left:
				continue
			}
			gone = append(gone, id)
			ops[id] = []session.Op{session.DeleteOp(j.run.member(id), stat.Version)}
			if j.record.ReuseIDs {
				ops[id] = append(ops[id], session.DeleteOp(j.run.free(id), -1))
			} else {
				ops[id] = append(ops[id], session.DeleteOp(j.run.identity(m.Name), -1))
			}
		}
	}
	return gone, ops, nil
}
