package workerctl

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// States iterates over the state of the job: first the present state, then the
// state after workers have joined, come back or left, or the number of workers
// has changed. The death of a worker alone makes no element. A slow reader skips
// states. An element is never older than the element before.
//
// The end of the job is never skipped, however slow the reader and the servers'
// replies are: the last element has a State that is over, even if the job has
// been removed, as in [Job.Wait]. Otherwise the last element is an error; the
// error wraps ErrOver if the record of the outcome is gone (see
// Options.Retention).
func (j *Job) States(ctx context.Context) iter.Seq2[Info, error] {
	j = receiver.OrZero(j)
	return func(yield func(Info, error) bool) {
		const op = "follow the state of"
		if err := j.checkCall(ctx); err != nil {
			yield(Info{}, wrapError(ctx, op, j.Path(), err))
			return
		}
		for at := int64(0); ; {
			in, changed, err := j.stateAfter(ctx, at)
			if errors.Is(err, ErrOver) || err == nil && in.State.Over() {
				in, err = j.readOutcome(ctx)
			}
			if err != nil {
				yield(Info{}, wrapError(ctx, op, j.Path(), err))
				return
			}
			if !yield(in, nil) || in.State.Over() {
				return
			}
			at = changed
		}
	}
}

// stateAfter waits for a state made by a transaction later than the zxid after,
// and returns the state with the zxid of its transaction. With 0, stateAfter
// returns the present state.
func (j *Job) stateAfter(ctx context.Context, after int64) (in Info, changed int64, err error) {
	read := func(s *session.Session) error {
		r := newReading(ctx, s)
		r.Sync(j.run.statePath())
		state := s.StartGet(j.run.statePath(), after > 0)
		defer optimistic.StopWatch(state)
		alive := r.StatAll(j.run.at(jobformat.DirLive))[0]
		seen, _ := r.IfThere(state)
		st, _ := r.decodeStatus(j, seen)
		if r.Err != nil {
			return r.Err
		}
		if changed = seen.Stat.Mzxid; changed <= after {
			return firstOf(ctx, seen.Watch)
		}
		in = j.describeJob(st, int(alive.Stat.NumChildren))
		return nil
	}
	if after == 0 {
		err = readFresh(ctx, j.client, read)
	} else {
		err = retryConflicts(ctx, j.client, read)
	}
	return in, changed, err
}

// orFault runs wait; with Options.FailFast the wait ends when a worker has died
// or failed: the error is then a MissingError with this worker.
func (j *Job) orFault(ctx context.Context, wait func(ctx context.Context) error) error {
	if !j.opts.FailFast {
		return wait(ctx)
	}
	both, end := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	// Waited for below; ends with both.
	looking.Go(func() { end(j.awaitFault(both)) })
	err := wait(both)
	why := context.Cause(both)
	end(nil)
	looking.Wait()
	var faulty *MissingError
	if err != nil && !errors.Is(err, ErrOver) && errors.As(why, &faulty) {
		return faulty
	}
	return err
}
