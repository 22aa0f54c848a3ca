package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Handler runs a task. ctx ends when the task is canceled, its deadline has
// passed, or the worker is lost or ends; context.Cause says why. The handler
// should return soon then: until it does, it takes one of the worker's slots. A
// result is refused if the assignment is gone. At the deadline, and when the
// worker ends, the assignment is not gone at once, and a nil error still counts.
//
// With a nil error the task is done, and the bytes are its result's output, up to
// some 1,000,000. With an error that wraps [ErrPermanent] the task has failed;
// with any other error, and after a panic, the attempt has failed. If the worker
// dies or is cut off before it can report the end, a task may be begun again
// after its handler has done its work: protect work that must not happen twice
// with [Attempt.Guard] or [Attempt.Token].
//
// WorkerOptions.Middleware runs around the handler, on the same goroutine: a panic of the
// handler passes through the middleware like any other panic, and the worker recovers it
// outside. A middleware should pass on a context that it derives from its own, since
// [Attempt.Context] stays the outer context. If the payload cannot be read, neither the
// handler nor the middleware is called, and the attempt has failed.
type Handler func(ctx context.Context, a *Attempt) ([]byte, error)

// Attempt is one attempt of a task, for its handler. The handler gives it back by its
// return, or by Release.
type Attempt struct {
	// ID and Payload are those of the task.
	ID      string
	Payload []byte
	// Number counts the attempts from 1; the last one is MaxAttempts.
	Number, MaxAttempts int
	// Submitted is the time of the submission. ctx ends at Deadline; zero: never.
	Submitted, Deadline time.Time
	// LastFailure is the error of the previous attempt, if it has failed.
	LastFailure string

	held *heldTask // nil for an Attempt that a test of a handler has made
}

// Worker runs a handler for each task that is assigned to it.
type Worker struct {
	store
	handler Handler
	about   WorkerOptions
	// slots has an element for each handler that may begin, over all sessions.
	slots chan struct{}

	// mu guards the fields below: running while Run is, drain is closed when it is to
	// end, over when it has.
	mu      sync.Mutex
	running bool
	drained bool
	drain   chan struct{}
	over    chan struct{}
}

// ErrRunning: Run was called before and has not returned, or the worker was drained.
var ErrRunning = errors.New("the worker is running, or was drained")

// NewWorker makes a worker of the queue at path, which is created with its first
// use. NewWorker sends nothing; Run reports an invalid argument. o may be nil.
func NewWorker(client *session.Client, path string, handler Handler, o *WorkerOptions) *Worker {
	about, err := o.withDefaults()
	w := &Worker{
		store: newStore(client, path, &Options{ACL: about.ACL}), handler: handler, about: about,
		drain: make(chan struct{}), over: make(chan struct{}),
	}
	if handler == nil {
		err = fmt.Errorf("%w: handler is nil", ErrInvalidArgument)
	}
	if err == nil {
		w.handler, err = wrapHandler(handler, about.Middleware)
	}
	if err != nil {
		w.err = err
	}
	w.slots = make(chan struct{}, max(about.Concurrency, 1))
	return w
}

// Run takes tasks and runs their handlers, until ctx ends or [Worker.Drain] is called. When
// the session is lost, the contexts of the handlers end before the master can give their
// tasks to other workers. Run then continues in the next session, under a new worker id.
//
// When ctx ends, the worker takes no more tasks and gives back the tasks that have not
// begun. The handlers' contexts end after WorkerOptions.Grace; tasks whose handlers then
// return an error are given back too, without counting the attempt. Run waits for the
// handlers. It returns nil when everything is given back, confirmed by a server, and
// otherwise an error that wraps the reason: session.ErrLost if the session was lost
// meanwhile, session.ErrUnreachable if no server answers a worker that has no task. While
// servers cannot be reached, Run ends when the session is given up, at most the session
// timeout later than the handlers; a worker without a task ends at once, or after one
// second if a server does not answer, and its znodes are deleted in the background.
//
// A ctx that had ended before the call is an error that wraps the context's. Other errors,
// such as session.ErrClosed, end Run too. It blocks; the goroutine is the caller's.
//
// A task takes it two reads and one transaction; tasks at the same time share requests.
func (w *Worker) Run(ctx context.Context) error {
	w = receiver.OrZero(w)
	const op = "work for"
	if err := w.store.checkCall(ctx, "dispatch.NewWorker"); err != nil {
		return wrapError(ctx, op, string(w.layout), err)
	}
	if !w.markRunning() {
		return wrapError(ctx, op, string(w.layout), ErrRunning)
	}
	err := w.runSessions(ctx)
	w.mu.Lock()
	w.running = false
	if w.drained {
		close(w.over)
	}
	w.mu.Unlock()
	if err != nil {
		// That ctx has ended is not why.
		return wrapError(context.WithoutCancel(ctx), op, string(w.layout), err)
	}
	return nil
}

func (w *Worker) markRunning() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running || w.drained {
		return false
	}
	w.running = true
	return true
}

// runSessions works in one session after the other.
func (w *Worker) runSessions(ctx context.Context) error {
	var handlers sync.WaitGroup
	defer handlers.Wait() // those of former sessions too
	wanted, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer cancel()
	// Waited for above; ends with wanted.
	watcher.Go(func() {
		select {
		case <-w.drain: // a drained worker needs no further session
			cancel()
		case <-wanted.Done():
		}
	})
	var end *workerEnd
	err := w.client.Retry(wanted, func(s *session.Session) (err error) {
		end, err = w.workIn(ctx, s, &handlers)
		return err
	})
	if end != nil {
		return end.err
	}
	return unlessEnded(wanted, err) // nothing is held while there is no session
}

// workerEnd is the end of a worker that was told to end.
type workerEnd struct{ err error }

// workIn works in s until the session is lost, or until the worker's end.
func (w *Worker) workIn(ctx context.Context, s *session.Session, handlers *sync.WaitGroup) (*workerEnd, error) {
	for {
		left, err := w.workInSession(ctx, s, handlers)
		switch {
		case left || w.mustEnd(ctx, err):
			return &workerEnd{err}, nil
		case s.Err() != nil:
			return nil, s.Err()
		case err != nil && !errors.Is(err, session.ErrLost):
			return nil, err
		}
		// Only the worker was lost, not the session: its znode or its folder was deleted by hand.
	}
}

// mustEnd reports whether a worker whose session has ended with err must not begin in
// another session: Run's context has ended, or a worker that is drained has lost its
// session.
func (w *Worker) mustEnd(ctx context.Context, err error) bool {
	return ctx.Err() != nil || w.isDraining() && errors.Is(err, session.ErrLost)
}

// isDraining reports whether Drain was called.
func (w *Worker) isDraining() bool {
	select {
	case <-w.drain:
		return true
	default:
		return false
	}
}

// Drain lets the worker take no more tasks: the worker gives back the tasks that have not
// begun, finishes the others, and leaves; its Run returns nil when a server has confirmed
// all this. The end of Run's context does the same, but bounded by Grace; if that context
// ends too, Grace counts from then. Drain waits for the worker's end, within ctx; if ctx
// ends first, the draining goes on. A worker that does not run is drained at once.
//
// If the session is lost while the worker is drained, Run ends with session.ErrLost, and
// does not wait for the next session. A worker that is drained between two sessions holds
// nothing: its Run returns nil.
func (w *Worker) Drain(ctx context.Context) error {
	w = receiver.OrZero(w)
	const op = "drain a worker of"
	if err := w.store.checkCall(ctx, "dispatch.NewWorker"); err != nil {
		return wrapError(ctx, op, string(w.layout), err)
	}
	w.mu.Lock()
	if !w.drained {
		w.drained = true
		close(w.drain)
		if !w.running {
			close(w.over)
		}
	}
	w.mu.Unlock()
	if err := await.Closed(ctx, w.over); err != nil {
		return wrapError(ctx, op, string(w.layout), err)
	}
	return nil
}
