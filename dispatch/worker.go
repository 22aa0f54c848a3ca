package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// Handler does what a task is for. ctx ends when the task was canceled, its deadline
// has passed, the worker is lost or ends; context.Cause says why. Then it should
// return soon: until it does it takes one of the worker's places. Whatever it returns
// is refused if the assignment is gone; at the deadline, and when the worker ends, it
// is not gone at once, and a nil error still counts.
//
// With a nil error the task is done, and the bytes are its result's output, up to
// some 1,000,000. With an error that wraps [ErrPermanent] it has failed; with any
// other, and after a panic, the attempt has. A task may be begun again after a
// handler has done its work, when the worker dies, or is cut off, before it can say
// so: what must not happen twice should use [Attempt.Guard] or [Attempt.Token].
type Handler func(ctx context.Context, a *Attempt) ([]byte, error)

// Attempt is a task in the hands of a handler.
type Attempt struct {
	// ID and Payload are those of the task.
	ID      string
	Payload []byte
	// Number counts the attempts from 1; the last one is MaxAttempts.
	Number, MaxAttempts int
	// Submitted is when the task was, Deadline when ctx ends; zero: never.
	Submitted, Deadline time.Time
	// LastFailure is why the attempt before this one has failed, if one has.
	LastFailure string

	path  string
	token int64
	s     *session.Session
}

// Token is a fencing token, the zxid of the assignment: of two attempts of a task
// the later one has the greater. Whatever the handler writes to can refuse a token
// below one that it has seen.
func (a *Attempt) Token() int64 { return a.token }

// Guard is a check for a transaction, which then fails if the assignment is gone:
// session.Txn(ctx, a.Guard(), ...).
func (a *Attempt) Guard() session.Op { return a.s.CheckOp(a.path, -1) }

// Path is the znode that stands for the assignment. What somebody makes below it
// keeps the task from ending.
func (a *Attempt) Path() string { return a.path }

// Session is that of the worker.
func (a *Attempt) Session() *session.Session { return a.s }

// Worker runs the handlers of the tasks that it is given.
type Worker struct {
	store
	handler Handler
	about   WorkerOptions
	// slots has an element for each handler that may begin, over all sessions.
	slots chan struct{}

	// mu guards what follows: running while Run is, drain is closed when it is to
	// end, over when it has.
	mu      sync.Mutex
	running bool
	drained bool
	drain   chan struct{}
	over    chan struct{}
}

// ErrRunning: the worker's Run is under way already, or it was drained.
var ErrRunning = errors.New("the worker is running, or was drained")

// NewWorker makes a worker of the queue at path, which comes to be when it is first
// used. It does nothing yet; a wrong argument is reported by Run. o may be nil.
func NewWorker(client *session.Client, path string, handler Handler, o *WorkerOptions) *Worker {
	about, err := o.withDefaults()
	w := &Worker{
		store: newStore(client, path, &Options{ACL: about.ACL}), handler: handler, about: about,
		drain: make(chan struct{}), over: make(chan struct{}),
	}
	if handler == nil {
		err = fmt.Errorf("%w: handler is nil", ErrArgument)
	}
	if err != nil {
		w.err = err
	}
	w.slots = make(chan struct{}, max(about.Concurrency, 1))
	return w
}

// Run takes tasks and runs their handlers. It returns nil when [Worker.Drain] is done
// with it. In each session it is a worker of its own: when a session is lost, the
// contexts of its handlers end, before the servers can let the master give their
// tasks to others; and in the next session it begins anew.
//
// When ctx ends the handlers' contexts do, Run waits for the handlers, and gives the
// tasks back that were not finished, without counting the attempt; its error then
// wraps that of ctx. Other errors, such as session.ErrClosed, end it too. It blocks;
// the goroutine is the caller's.
//
// A task takes it two reads and one transaction.
func (w *Worker) Run(ctx context.Context) error {
	const op = "work for"
	if err := w.begin(ctx); err != nil {
		return failure(ctx, op, string(w.layout), err)
	}
	if !w.start() {
		return failure(ctx, op, string(w.layout), ErrRunning)
	}
	err := w.run(ctx)
	w.mu.Lock()
	w.running = false
	if w.drained {
		close(w.over)
	}
	w.mu.Unlock()
	if err != nil {
		return failure(ctx, op, string(w.layout), err)
	}
	return nil
}

func (w *Worker) start() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running || w.drained {
		return false
	}
	w.running = true
	return true
}

// run works in one session after the other.
func (w *Worker) run(ctx context.Context) error {
	var handlers sync.WaitGroup
	defer handlers.Wait() // those of former sessions too
	return w.client.Retry(ctx, func(s *session.Session) error {
		for {
			left, err := w.serve(ctx, s, &handlers)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case left:
				return nil
			case s.Err() != nil:
				return s.Err()
			case err != nil && !errors.Is(err, session.ErrLost):
				return err
			}
			// It alone was lost: somebody has deleted its node.
		}
	})
}

// Drain lets the worker take no more tasks: it gives back those that have not begun,
// finishes the others, leaves, and its Run returns nil. Drain waits for that, within
// ctx; if that ends first, it goes on. A worker that does not run is drained at once.
func (w *Worker) Drain(ctx context.Context) error {
	const op = "drain a worker of"
	if err := w.begin(ctx); err != nil {
		return failure(ctx, op, string(w.layout), err)
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
	select {
	case <-w.over:
		return nil
	case <-ctx.Done():
		return failure(ctx, op, string(w.layout), context.Cause(ctx))
	}
}
