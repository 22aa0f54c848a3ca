package workerctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// Barrier waits until all workers of the job wait at the barrier of that name, and
// returns the number of the round in which they passed together, from 1. The next
// round begins at once; there can be any number of them. A barrier needs no
// preparation; its name is any text.
//
// A worker counts as one, by its id, however often it was started, and only while
// it waits: one whose time has run out, or whose death the servers have noticed, is
// not counted; until they do, a former self that waited counts for its next one,
// also if that has joined already. Two calls of one worker for the same barrier at
// the same time are one, and only one of them passes.
//
// It waits for at most Options.BarrierWait; then, and when ctx ends by its deadline,
// the error is a [MissingError], and may take a second longer. When the worker is
// lost the error wraps session.ErrLost; session.ErrUnknownOutcome has the meaning
// that it has for barrier.Barrier.
//
// When the number of workers changes ([Job.Scale]), those who wait move on to the
// barrier of the new number, unless they have all passed before; there the rounds
// are counted anew. So everybody passes with all workers of a number that was in
// force while they waited, those who come in addition as soon as the others come to
// the barrier next.
//
// A worker that was restarted does not know which rounds its former self has
// passed; see Worker.Phase.
func (w *Worker) Barrier(ctx context.Context, name string) (round int64, err error) {
	const op = "wait at barrier"
	err = w.meet(ctx, name, session.EscapeName(name), op, func(ctx context.Context, place string) error {
		round, err = w.pass(ctx, place)
		return err
	})
	return round, err
}

// Phase ends a phase of the job, which its name, any text, tells from all others:
// it waits until all workers have come to its end, once and for all. A worker that
// was restarted passes at once where its former self, or another worker, has
// passed: so it can go through the phases from the beginning, and stops at the one
// that is not over. How long it waits, and its errors, are those of
// Worker.Barrier.
func (w *Worker) Phase(ctx context.Context, name string) error {
	const op = "end phase"
	return w.meet(ctx, name, phaseMark+session.EscapeName(name), op, w.end)
}

// meet runs wait at place within what bounds it, and explains its error.
func (w *Worker) meet(ctx context.Context, name, place, op string, wait func(ctx context.Context, place string) error) error {
	if ctx.Err() != nil {
		return failure(ctx, op, w.job.run.at(barriersDir, place), context.Cause(ctx))
	}
	if name == "" {
		return failure(ctx, op, w.job.Path(), fmt.Errorf("%w: the name is empty", ErrArgument))
	}
	limited, cancel := limit(ctx, w.job.opts.BarrierWait)
	defer cancel()
	both, end := context.WithCancelCause(limited)
	defer end(nil)
	stop := context.AfterFunc(w.Context(), func() { end(context.Cause(w.Context())) })
	defer stop()
	err := wait(both, place)
	switch {
	case err == nil:
		return nil
	case w.hold.Err() != nil && !errors.Is(err, w.hold.Err()):
		err = errors.Join(w.hold.Err(), err)
	case errors.Is(limited.Err(), context.DeadlineExceeded) && !errors.Is(err, session.ErrUnknownOutcome):
		err = w.job.missing(ctx, err, func(ctx context.Context, st status) ([]int, error) {
			return w.absent(ctx, place, st)
		})
	}
	return failure(ctx, op, w.job.run.at(barriersDir, place), err)
}

// absent are the workers that do not wait, but for this one, which has just given
// up.
func (w *Worker) absent(ctx context.Context, place string, st status) ([]int, error) {
	parties, err := w.barrier(place, st.Workers).Waiting(ctx)
	if err != nil {
		return nil, err
	}
	ids := slices.DeleteFunc(idsFrom(0, st.Workers), func(id int) bool {
		return id == w.ID() || slices.ContainsFunc(parties, func(p barrier.Party) bool { return p.ID == strconv.Itoa(id) })
	})
	return ids, nil
}

func (w *Worker) barrier(place string, workers int) *barrier.Barrier {
	return barrier.New(w.job.client, w.job.run.barrier(place, workers), workers, &barrier.Options{
		ID: strconv.Itoa(w.ID()), Data: []byte(w.hold.Path()), ACL: w.job.opts.ACL, InTree: true,
	})
}

// Why a wait at a barrier is broken off.
var (
	errResized = errors.New("the job has another number of workers")
	errReady   = errors.New("the phase is over")
)

// pass waits at the barrier of the present number of workers, whatever that
// becomes.
func (w *Worker) pass(ctx context.Context, place string) (round int64, err error) {
	for {
		n, err := w.job.size(ctx)
		if err != nil {
			return 0, err
		}
		while, end := context.WithCancelCause(ctx)
		watching := make(chan struct{})
		// Waited for below; ends with while.
		go func() {
			defer close(watching)
			end(w.job.watchSize(while, n))
		}()
		round, err = w.barrier(place, n).Await(while)
		why := context.Cause(while)
		end(nil)
		<-watching
		switch {
		case err == nil:
			return round, nil
		case errors.Is(err, session.ErrNoNode), errors.Is(why, ErrOver):
			return 0, ErrOver
		case ctx.Err() != nil || !errors.Is(why, errResized) || errors.Is(err, session.ErrUnknownOutcome):
			return 0, err
		}
	}
}

// end waits at the phase's barrier until somebody says that it is over. Whoever
// passes says so before it goes on: once anybody has, everybody else will see it;
// and if all die who could have said it, all come to the barrier again.
func (w *Worker) end(ctx context.Context, place string) error {
	name := place[len(phaseMark):]
	while, end := context.WithCancelCause(ctx)
	watching := make(chan error, 1)
	// Waited for below; ends with while.
	go func() {
		err := w.job.awaitNode(while, phasesDir, name)
		if err == nil {
			end(errReady)
		}
		watching <- err
	}()
	_, err := w.pass(while, place)
	// Whether this one was counted may be unknown: then whoever was let through
	// with it says so, and otherwise it comes again.
	for errors.Is(err, session.ErrUnknownOutcome) && while.Err() == nil && !errors.Is(err, session.ErrClosed) {
		_, err = w.pass(while, place)
	}
	if err == nil {
		err = w.job.mark(ctx, w.job.run.at(phasesDir, name))
	}
	end(nil)
	if <-watching == nil {
		return nil
	}
	return err
}

// mark makes a persistent node that many want to be there.
func (j *Job) mark(ctx context.Context, path string) error {
	return persist(ctx, j.client, func(s *session.Session) error {
		_, err := s.Create(ctx, path, nil, session.Persistent, j.opts.create())
		switch {
		case errors.Is(err, session.ErrNodeExists):
			return nil
		case errors.Is(err, session.ErrNoNode):
			return ErrOver
		}
		return err
	})
}

// size is how many workers the job has: not fewer or more than when this began, or
// who came after a change could pass with those who do not know of it yet.
func (j *Job) size(ctx context.Context) (n int, err error) {
	err = persist(ctx, j.client, func(s *session.Session) (err error) {
		r := newReading(ctx)
		synced, read := j.sync(s), s.StartGet(j.run.at(sizeNode), false)
		r.Synced(synced)
		seen, there := r.IfThere(read)
		switch {
		case r.Err != nil:
			return r.Err
		case !there:
			return ErrOver
		}
		n, err = parseID(string(seen.Data))
		return err
	})
	return n, err
}

// watchSize waits until the job has another size than n, and says so.
func (j *Job) watchSize(ctx context.Context, n int) error {
	return persist(ctx, j.client, func(s *session.Session) error {
		data, _, watch, err := s.GetW(ctx, j.run.at(sizeNode))
		switch {
		case errors.Is(err, session.ErrNoNode):
			return ErrOver
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
