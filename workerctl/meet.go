package workerctl

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Barrier waits until all workers of the job wait at the barrier of that name,
// and returns the number of the round in which they passed together, from 1. The
// next round begins at once; the number of rounds is not limited. A barrier needs
// no preparation; its name is any text.
//
// A worker counts once, by its id, however often it was started, and only while
// it waits. A worker whose time has run out, or whose death the servers have
// noticed, is not counted. Until the servers notice the death, a former process
// that waited counts for the worker, even if the next process has joined already.
// Two concurrent calls of one worker for the same barrier count once, and only
// one of them passes.
//
// Barrier waits for at most Options.BarrierWait. Then, and when ctx ends by its
// deadline, the error is a [MissingError], and may take a second longer. A worker
// that waited shortly before is not missing, although its own time may have run
// out at the same moment. With Options.FailFast the wait ends earlier if a worker
// has died or failed. If the worker is lost, the error wraps session.ErrLost;
// session.ErrUnknownOutcome has the meaning that it has for barrier.Barrier.
//
// When the number of workers changes ([Job.Scale]), waiting workers move to the
// barrier of the new number, unless they have all passed before; rounds are
// counted from 1 there. Every worker therefore passes together with all workers of
// a number that was in force during its wait; additional workers pass as soon as
// the other workers come to the barrier next.
//
// A worker that was restarted does not know which rounds its former process has
// passed; see Worker.Phase.
func (w *Worker) Barrier(ctx context.Context, name string) (round int64, err error) {
	w = receiver.OrZero(w)
	const op = "wait at barrier"
	if err := w.checkMeeting(ctx, name, op); err != nil {
		return 0, err
	}
	place, workers := session.EscapeName(name), 0
	waiting := w.beginWait(ctx, observe.Round, place)
	err = w.meetWorkers(ctx, place, op, func(ctx context.Context, place string) error {
		round, workers, err = w.passBarrier(ctx, place)
		return err
	})
	if err != nil {
		waiting.End(w.job.reportUnknown(ctx, op, err))
		return round, err
	}
	waiting.Passed(round, workers)
	return round, nil
}

// Phase ends a phase of the job: it waits until all workers have come to the
// end of the phase, once and for all. The name, any text, identifies the phase.
// A worker that was restarted passes at once where its former process, or
// another worker, has passed. The worker can go through the phases from the
// beginning, and waits at the first phase that is not over. Time limit and
// errors are the same as for Worker.Barrier.
func (w *Worker) Phase(ctx context.Context, name string) error {
	w = receiver.OrZero(w)
	const op = "end phase"
	if err := w.checkMeeting(ctx, name, op); err != nil {
		return err
	}
	place := jobformat.PhaseMark + session.EscapeName(name)
	waiting := w.beginWait(ctx, observe.Barrier, place)
	err := w.meetWorkers(ctx, place, op, w.endPhase)
	if errors.Is(err, errFaulty) {
		// A phase that is over stays over, whatever its workers do.
		if over, e := w.job.isPhaseOver(ctx, name); e == nil && over {
			err = nil
		}
	}
	waiting.End(w.job.reportUnknown(ctx, op, err))
	return err
}

// isPhaseOver reports whether the phase of that name is over.
func (j *Job) isPhaseOver(ctx context.Context, name string) (over bool, err error) {
	path := j.run.at(jobformat.DirPhases, session.EscapeName(name))
	err = retryConflicts(ctx, j.client, func(s *session.Session) error {
		r := newReading(ctx, s)
		over = r.Exists(path)
		return r.Err
	})
	return over, err
}

// checkMeeting checks the arguments of Barrier and Phase.
func (w *Worker) checkMeeting(ctx context.Context, name, op string) error {
	if err := w.checkCall(ctx); err != nil {
		return wrapError(ctx, op, w.errorPath(), err)
	}
	if name == "" {
		return wrapError(ctx, op, w.job.Path(), fmt.Errorf("%w: the name is empty", ErrInvalidArgument))
	}
	return nil
}

// meetWorkers runs wait at place within the time limits, and explains its error.
func (w *Worker) meetWorkers(ctx context.Context, place, op string, wait func(ctx context.Context, place string) error) error {
	limited, cancel := limitContext(ctx, w.job.opts.BarrierWait)
	defer cancel()
	both, end := context.WithCancelCause(limited)
	defer end(nil)
	stop := context.AfterFunc(w.Context(), func() { end(context.Cause(w.Context())) })
	defer stop()
	look := w.lookOut(both, place, end)
	err := wait(both, place)
	why := context.Cause(both)
	end(nil)
	seen := look()
	var faulty *MissingError
	switch {
	case err == nil:
		return nil
	case w.hold.Err() != nil && !errors.Is(err, w.hold.Err()):
		err = errors.Join(w.hold.Err(), err)
	case errors.Is(err, session.ErrUnknownOutcome):
	case errors.As(why, &faulty):
		err = faulty
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		err = w.job.missingError(ctx, err, func(ctx context.Context, st status) ([]int, error) {
			return w.findAbsent(ctx, place, st, seen)
		})
	}
	return wrapError(ctx, op, w.job.run.at(jobformat.DirBarriers, place), err)
}

func (w *Worker) newBarrier(place string, workers int) *barrier.Barrier {
	return barrier.New(w.job.client, w.job.run.barrierPath(place, workers), workers, &barrier.Options{
		ID: strconv.Itoa(w.ID()), Data: []byte(w.hold.Path()), ACL: w.job.opts.ACL, InTree: true,
	})
}

// Reasons to break off a wait at a barrier.
var (
	errResized = errors.New("the job has another number of workers")
	errReady   = errors.New("the phase is over")
)

// passBarrier waits at the barrier of the present number of workers, and moves when
// the number changes. passBarrier returns the number of workers that passed.
func (w *Worker) passBarrier(ctx context.Context, place string) (round int64, workers int, err error) {
	for {
		n, err := w.job.readSize(ctx)
		if err != nil {
			return 0, 0, err
		}
		while, end := context.WithCancelCause(ctx)
		watching := make(chan struct{})
		// Waited for below; ends with while.
		go func() {
			defer close(watching)
			end(w.job.watchSize(while, n))
		}()
		round, err = w.newBarrier(place, n).Await(observing.Silently(while))
		why := context.Cause(while)
		end(nil)
		<-watching
		switch {
		case err == nil:
			return round, n, nil
		case errors.Is(err, session.ErrNoNode):
			return 0, 0, w.job.deletedError(ctx, w.job.run.at(jobformat.DirBarriers))
		case errors.Is(why, ErrOver), errors.Is(why, ErrRecord):
			return 0, 0, why
		case ctx.Err() != nil || !errors.Is(why, errResized) || errors.Is(err, session.ErrUnknownOutcome):
			return 0, 0, err
		}
	}
}

// endPhase waits at the phase's barrier until the phase is marked as over. A worker that
// passes the barrier marks the phase before it goes on, so all other workers see the
// mark. If all workers that passed die before they set the mark, the restarted workers
// meet at the barrier again.
func (w *Worker) endPhase(ctx context.Context, place string) error {
	name := place[len(jobformat.PhaseMark):]
	while, end := context.WithCancelCause(ctx)
	watching := make(chan error, 1)
	// Waited for below; ends with while.
	go func() {
		err := w.job.awaitNode(while, jobformat.DirPhases, name)
		if err == nil {
			end(errReady)
		}
		watching <- err
	}()
	_, _, err := w.passBarrier(while, place)
	// The outcome may be unknown. If this worker was counted, another worker of the
	// round marks the phase as over; otherwise this worker arrives again.
	for errors.Is(err, session.ErrUnknownOutcome) && while.Err() == nil && !errors.Is(err, session.ErrClosed) {
		_, _, err = w.passBarrier(while, place)
	}
	if err == nil {
		err = w.job.createMark(ctx, w.job.run.at(jobformat.DirPhases, name))
	}
	end(nil)
	if <-watching == nil {
		return nil
	}
	return err
}

// createMark creates a persistent znode; many callers may create the same znode.
func (j *Job) createMark(ctx context.Context, path string) error {
	err := j.txs.Apply(ctx, func(tx *stm.Tx) error { return j.createNode(tx, path, nil) })
	switch {
	case errors.Is(err, session.ErrNodeExists):
		return nil
	case errors.Is(err, session.ErrNoNode):
		return j.deletedError(ctx, path[:strings.LastIndexByte(path, '/')])
	}
	return err
}

// readSize returns the number of workers, not older than the call. With an older
// number, a worker that comes after a change could pass together with workers
// that do not know of the change yet.
func (j *Job) readSize(ctx context.Context) (n int, err error) {
	err = readFresh(ctx, j.client, func(s *session.Session) (err error) {
		r := newReading(ctx, s)
		seen := r.Get(j.run.at(jobformat.NodeSize))
		switch {
		case r.Err != nil:
			return r.Err
		case !seen.Exists:
			return j.restoredSize(ctx)
		}
		if n, err = parseID(string(seen.Data)); err != nil {
			return j.restoredSize(ctx)
		}
		return nil
	})
	return n, err
}

// watchSize waits until the job has another size than n, and says so.
func (j *Job) watchSize(ctx context.Context, n int) error {
	return retryConflicts(ctx, j.client, func(s *session.Session) error {
		data, _, watch, err := s.GetW(ctx, j.run.at(jobformat.NodeSize))
		switch {
		case errors.Is(err, session.ErrNoNode):
			return j.restoredSize(ctx)
		case err != nil:
			return err
		}
		defer watch.Stop()
		if string(data) != strconv.Itoa(n) {
			return errResized
		}
		if _, err := watch.Wait(ctx); err != nil {
			return err
		}
		return optimistic.ErrNews
	})
}
