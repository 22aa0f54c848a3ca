package taskcmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const workerHelp = `Takes tasks from QUEUE, and runs CMD for each task: up to --concurrency commands
concurrently, each in a process group of its own. If the session is lost, zkr continues
as a new worker, until a signal ends zkr.

CMD reads the task's payload from stdin. If CMD ends with 0, its stdout, up to
1,000,000 bytes, is the result. Otherwise the attempt has failed, and the end of CMD's
stderr is recorded as the reason. As far as the task allows, another attempt follows;
if the exit code is one of --permanent, the task has failed instead. zkr passes CMD's
stderr on to its own. When CMD ends, zkr also ends all processes that CMD has started,
daemons included.

CMD's environment has ZKR_TASK_ID, ZKR_ATTEMPT (from 1 up), ZKR_MAX_ATTEMPTS, ZKR_TOKEN
(a fencing token, which grows with each attempt of a task: storage should refuse writes
with a token lower than the greatest it has seen), ZKR_DEADLINE (if the task has one),
ZKR_QUEUE (the path), ZKR_ASSIGNMENT (the znode that stands for the attempt) and
ZKR_SESSION. zkr passes the signals USR1 and USR2 on to all commands.

When the task is canceled, and when its deadline is over, zkr stops CMD: CMD gets TERM,
then KILL after --grace. If the worker is lost, other workers may get the task soon:
zkr stops CMD as well, and CMD is gone before a server can tell the master of the loss.
"zkr lock --help" describes the limits.

INT (Ctrl-C) and TERM drain the worker: it takes no more tasks, gives back the tasks
that have not begun, and exits when the running commands have ended. A second signal
kills the running commands and gives their tasks back, without counting the attempts;
zkr then exits with 128+n.
` + cli.GivenBack + `
zkr shows each attempt on stdout when the attempt begins and when it ends.
`

// taskWorker has the arguments of "zkr task worker".
type taskWorker struct {
	taskCommand
	supervise.RunSpec // its flags and command only
	opts              dispatch.WorkerOptions
	permanent         []int // exit codes
	signals           chan os.Signal

	plan    supervise.Plan
	client  *session.Client
	works   *dispatch.Worker
	keepers supervise.Supervisors
	rush    chan struct{}  // closed when zkr waits for nothing any more
	asked   syscall.Signal // the signal that drains the worker; to be read after the end
}

// taskWorker is "zkr task worker".
func (a *app) taskWorker() *cobra.Command {
	w := &taskWorker{taskCommand: taskCommand{app: a}, rush: make(chan struct{}), keepers: supervise.Supervisors{All: map[int]*supervise.Supervised{}}}
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.HasRole),
		Use:         "worker QUEUE [flags] -- CMD [ARGS...]",
		Short:       "Run a command for each task of a queue",
		Long:        workerHelp,
		Example: "  zkr task worker /queues/mail --concurrency 4 -- ./send\n" +
			"  zkr task worker /queues/images --label gpu --permanent 65 -- sh -c 'convert - png:-'",
		Args: cli.BeforeCommand("queue", "QUEUE"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			w.Argv = args[1:]
			if err := w.checkAll(cmd, args[0]); err != nil {
				return err
			}
			return w.run(cmd.Context())
		}),
	}
	f := cmd.Flags()
	f.StringVar(&w.opts.Name, "name", "", "`text` that describes the worker to people; default: host:pid")
	f.IntVar(&w.opts.Concurrency, "concurrency", 1, "how many commands run concurrently at most")
	f.IntVar(&w.opts.Prefetch, "prefetch", 0, "how many more tasks the worker gets in advance, so that the next task is present when a command ends; if the worker dies, their attempts count")
	f.StringArrayVar(&w.opts.Labels, "label", nil, "`text`, such as gpu or zone=a: tasks that require it can be given to this worker; may be repeated")
	f.IntSliceVar(&w.permanent, "permanent", nil, "exit `codes` after which no other attempt is made")
	f.DurationVar(&w.Grace, "grace", supervise.DefaultGrace, "time between TERM and KILL when a command must stop, also for processes that the command leaves running")
	return cmd
}

// checkAll checks the arguments as far as possible without a server.
func (w *taskWorker) checkAll(cmd *cobra.Command, queue string) error {
	if err := w.taskCommand.check(queue); err != nil {
		return err
	}
	if err := w.RunSpec.Check(cmd); err != nil {
		return err
	}
	if err := cli.IsText("name", w.opts.Name); err != nil {
		return err
	}
	for _, code := range w.permanent {
		if code < 1 || code > 255 {
			return exit.Usage("--permanent is %d; it must be an exit code from 1 to 255", code)
		}
	}
	switch {
	case w.opts.Concurrency < 1:
		return exit.Usage("--concurrency is %d; it must be 1 or more", w.opts.Concurrency)
	case w.opts.Prefetch < 0:
		return exit.Usage("--prefetch is %d; it must be 0 (none) or more", w.opts.Prefetch)
	case w.opts.Prefetch == 0:
		w.opts.Prefetch = -1 // none, to the library
	}
	return checkLabels(w.opts.Labels)
}

// run takes tasks until a signal comes.
func (w *taskWorker) run(ctx context.Context) error {
	if err := supervise.CheckCommand(w.Argv[0]); err != nil {
		return err // each task would fail for this error
	}
	defer cli.IgnoreBrokenPipes()() // a note without a reader must not end zkr
	supervise.AdoptOrphans()
	w.signals = signals.Listen()
	signal.Notify(w.signals, signals.TerminalStop)
	defer signal.Stop(w.signals)
	connecting, stop := signals.UntilSignal(ctx, w.signals)
	client, p, err := supervise.ConnectFor(connecting, w.app.App, &w.RunSpec)
	cause := stop()
	if err == nil {
		defer func() { _ = cli.CloseClient(ctx, client) }()
	}
	switch {
	case cause != nil:
		return signals.Interrupted(cause, "gave up connecting")
	case err != nil:
		return err
	}
	w.plan, w.client = p, client
	w.works = dispatch.NewWorker(client, w.path, w.handle, &w.opts)
	return w.exitError(w.runUntilSignal(ctx))
}

// runUntilSignal is the worker's life. second is the second signal, which has ended the
// worker, or nil.
func (w *taskWorker) runUntilSignal(ctx context.Context) (second, err error) {
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

// heed acts on signals: the first ending signal drains the worker, the second
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
			case sig == signals.TerminalStop:
				// The commands would continue while other workers get their tasks.
				w.app.Note("cannot be stopped: zkr must supervise its commands")
			case !signals.EndsWait(sig):
				w.keepers.Pass(sig.(syscall.Signal))
			case w.asked == 0:
				w.asked = sig.(syscall.Signal)
				w.app.Note("draining: waiting for the running commands; a second signal kills them")
				// Waited for above; ends when the worker is drained, or at the end.
				drainer.Go(func() { _ = w.works.Drain(draining) })
			case ctx.Err() == nil:
				close(w.rush)
				end(signals.EndedBySignal{Sig: sig.(syscall.Signal)})
			}
		case <-over:
			return
		}
	}
}

// exitError is the exit of zkr.
func (w *taskWorker) exitError(second, err error) error {
	if w.asked == 0 {
		return cli.RoleEnd(nil, second, w.advised("", err))
	}
	if errors.Is(err, dispatch.ErrRunning) {
		err = nil // the worker was drained before the first task
	}
	return cli.RoleEnd(signals.EndedBySignal{Sig: w.asked}, second, w.advised("", err))
}
