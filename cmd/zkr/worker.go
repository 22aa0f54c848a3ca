package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const workerHelp = `Takes tasks from QUEUE, and runs CMD for each: up to --concurrency beside each other,
each in a process group of its own. It goes on over lost sessions, as a new worker,
until it is ended.

CMD reads the task's payload from stdin. If it ends with 0, what it has written to
stdout, up to 1,000,000 bytes, is the result. Otherwise the attempt has failed, for the
reason that the end of its stderr tells, and another one is made later, as far as the
task allows, unless the exit code is one of --permanent: then the task has failed. What
CMD writes to stderr is also written to zkr's. Whatever else CMD has started is ended
with it, daemons too.

In CMD's environment are ZKR_TASK_ID, ZKR_ATTEMPT (from 1 up), ZKR_MAX_ATTEMPTS,
ZKR_TOKEN (a fencing token: of two attempts of a task the later one has the greater;
what CMD writes to should refuse a lower one than it has seen), ZKR_DEADLINE (if the
task has one), ZKR_QUEUE (the path), ZKR_ASSIGNMENT (the znode that stands for the
attempt) and ZKR_SESSION. Signals USR1 and USR2 are passed on to all of them.

CMD gets TERM, and KILL after --grace, when its task is canceled and when the deadline
is over. When the worker is lost, and others may get the task soon, it does too, and is
gone before a server can let the master know; "zkr lock --help" has the limits.

INT (Ctrl-C) and TERM drain the worker: it takes no more tasks, gives back those that
have not begun, and exits with 0 when the others have ended. A second signal ends these
at once, gives them back, without counting the attempt, and zkr exits with 128+n.

Each attempt is shown on stdout when it begins and when it ends.
`

// taskWorker is what "zkr worker" is asked to do.
type taskWorker struct {
	taskCommand
	errand    // its flags and command only
	opts      dispatch.WorkerOptions
	permanent []int // exit codes
	signals   chan os.Signal

	plan    plan
	client  *session.Client
	works   *dispatch.Worker
	keepers keepers
	rush    chan struct{}  // closed when nothing is waited for any more
	asked   syscall.Signal // what drains it; to be read when it is over
}

// worker is "zkr worker".
func (a *app) worker() *cobra.Command {
	w := &taskWorker{taskCommand: taskCommand{app: a}, rush: make(chan struct{}), keepers: keepers{all: map[int]*keeping{}}}
	cmd := &cobra.Command{
		Use:   "worker QUEUE [flags] -- CMD [ARGS...]",
		Short: "Run a command for each task of a queue",
		Long:  workerHelp,
		Example: "  zkr worker /queues/mail --concurrency 4 -- ./send\n" +
			"  zkr worker /queues/images --label gpu --permanent 65 -- sh -c 'convert - png:-'",
		Args: beforeCommand("queue", "QUEUE"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			w.argv = args[1:]
			if err := w.checkAll(cmd, args[0]); err != nil {
				return err
			}
			return w.run(cmd.Context())
		}),
	}
	f := cmd.Flags()
	f.StringVar(&w.opts.Name, "name", "", "`text` that says to people who the worker is; default: host:pid")
	f.IntVar(&w.opts.Concurrency, "concurrency", 1, "how many commands run beside each other, at most")
	f.IntVar(&w.opts.Prefetch, "prefetch", 0, "how many more tasks the worker is given, so that the next is there when one ends; if it dies, their attempts count")
	f.StringArrayVar(&w.opts.Labels, "label", nil, "`text`, such as gpu or zone=a: tasks that ask for it can be given to this worker; may be repeated")
	f.IntSliceVar(&w.permanent, "permanent", nil, "exit `codes` that say that another attempt would fail too")
	f.DurationVar(&w.grace, "grace", defaultGrace, "time between TERM and KILL when a command must stop, and for what it leaves running")
	return cmd
}

// checkAll checks what can be checked without a server.
func (w *taskWorker) checkAll(cmd *cobra.Command, queue string) error {
	if err := w.taskCommand.check(queue); err != nil {
		return err
	}
	if err := w.errand.check(cmd); err != nil {
		return err
	}
	if err := isText("name", w.opts.Name); err != nil {
		return err
	}
	for _, code := range w.permanent {
		if code < 1 || code > 255 {
			return usage("--permanent is %d; it must be an exit code from 1 to 255", code)
		}
	}
	switch {
	case w.opts.Concurrency < 1:
		return usage("--concurrency is %d; it must be 1 or more", w.opts.Concurrency)
	case w.opts.Prefetch < 0:
		return usage("--prefetch is %d; it must be 0 (none) or more", w.opts.Prefetch)
	case w.opts.Prefetch == 0:
		w.opts.Prefetch = -1 // none, to the library
	}
	return checkLabels(w.opts.Labels)
}

// run takes tasks until a signal comes.
func (w *taskWorker) run(ctx context.Context) error {
	if err := canRun(w.argv[0]); err != nil {
		return err // each task would fail for it
	}
	defer listenForBrokenPipes()() // a remark that nobody reads must not end zkr
	adoptOrphans()
	w.signals = listen()
	signal.Notify(w.signals, syscall.SIGTSTP)
	defer signal.Stop(w.signals)
	connecting, stop := untilSignal(ctx, w.signals)
	client, p, err := w.app.connectFor(connecting, &w.errand)
	cause := stop()
	if err == nil {
		defer func() { _ = hangUp(ctx, client) }()
	}
	switch {
	case cause != nil:
		return interrupted(cause, "gave up connecting")
	case err != nil:
		return err
	}
	w.plan, w.client = p, client
	w.works = dispatch.NewWorker(client, w.path, w.handle, &w.opts)
	return w.verdict(w.take(ctx))
}

// take is the worker's life. second is the signal that has ended it, if there was a
// second one.
func (w *taskWorker) take(ctx context.Context) (second, err error) {
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	var listener sync.WaitGroup
	over := make(chan struct{})
	// Waited for below; ends with over.
	listener.Go(func() { w.heed(working, end, over) })
	err = w.works.Run(working)
	close(over)
	listener.Wait()
	return context.Cause(working), err
}

// heed does what signals say: the first that ends things drains the worker, the second
// waits for nothing.
func (w *taskWorker) heed(ctx context.Context, end context.CancelCauseFunc, over <-chan struct{}) {
	draining, cancel := context.WithCancel(ctx)
	var drainer sync.WaitGroup
	defer drainer.Wait()
	defer cancel()
	for {
		select {
		case sig := <-w.signals:
			switch {
			case sig == syscall.SIGTSTP:
				// Its commands would go on, and others be given their tasks.
				w.app.note("cannot be stopped: it must watch over its commands")
			case !ends(sig):
				w.keepers.pass(sig.(syscall.Signal))
			case w.asked == 0:
				w.asked = sig.(syscall.Signal)
				w.app.note("draining: what has begun is finished; a second signal ends it at once")
				// Waited for above; ends when the worker is drained, or at the end.
				drainer.Go(func() { _ = w.works.Drain(draining) })
			case ctx.Err() == nil:
				close(w.rush)
				end(endedBy{sig.(syscall.Signal)})
			}
		case <-over:
			return
		}
	}
}

// verdict is what zkr's end means.
func (w *taskWorker) verdict(second, err error) error {
	drained := err == nil || w.asked != 0 && errors.Is(err, dispatch.ErrRunning) // before it began
	switch {
	case drained && (w.asked == syscall.SIGINT || w.asked == syscall.SIGTERM):
		return nil
	case drained:
		return interrupted(endedBy{w.asked}, "drained")
	case errors.As(second, new(endedBy)):
		return interrupted(second, "gave back what was not finished")
	case errors.Is(err, session.ErrLost):
		return &failure{code: exitLost, err: err}
	}
	return w.advised("", err)
}
