package jobcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// jobWait has the arguments of "zkr job wait".
type jobWait struct {
	*jobCommand
	what     string // joined or finished
	timeout  time.Duration
	failFast bool
}

const waitHelp = `Waits until all workers of the job NAME have joined, whatever their state is now;
with --for finished until all have joined and left. On a terminal zkr shows
progress on stderr. After --timeout zkr exits with 75, and says which ids are
missing, and which of them are dead. With --fail-fast zkr exits with 1 as soon as
a worker has died, or has left with a failure, and says which, and the reason.

If the job ends in another way (a worker failed, "zkr job kill", abandoned), zkr exits
with 1, and says how. zkr does not miss a job that ends while the servers answer
slowly. With --for finished this also works for 24 hours after the job has ended: zkr
then reports the last job of that name. If no such job exists or has ended, zkr exits
with 1. If the job is over and its outcome is unknown, zkr exits with 74.
`

// wait is "zkr job wait".
func (c *jobCommand) wait() *cobra.Command {
	w := &jobWait{jobCommand: c}
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.CanBeBusy, cli.AwaitsJob),
		Use:         "wait NAME",
		Short:       "Wait until all workers of a job have joined, or until it is finished",
		Long:        waitHelp,
		Example: "  zkr job wait words --timeout 1m || zkr job workers words\n" +
			"  zkr job wait words --for finished && ./publish",
		Args: cli.Arguments("job", "NAME"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd, args[0]); err != nil {
				return err
			}
			if err := cli.CheckTimeout(w.timeout); err != nil {
				return err
			}
			name := cli.Readable([]byte(args[0]))
			c.opts.FailFast = w.failFast
			switch {
			case w.what == "finished":
				return c.app.Await(cmd.Context(), w.timeout, "the job "+name+" to be finished", namingMissing(w.untilFinished(args[0])))
			case w.what != "joined":
				return exit.Usage("--for is %q; it must be joined or finished", w.what)
			case c.opts.JoinWait > 0 && !cmd.Flags().Changed("timeout"):
				w.timeout = c.opts.JoinWait
			}
			c.opts.JoinWait = -1 // the timeout holds from the beginning on
			return c.app.Await(cmd.Context(), w.timeout, "the workers of the job "+name, namingMissing(c.on(args[0], w.joined)))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&w.what, "for", "joined", "the `event` to wait for: joined or finished")
	cli.OneOf(cmd, "for", "joined", "finished")
	f.BoolVar(&w.failFast, "fail-fast", false, "stop waiting when a worker has died or failed")
	f.DurationVar(&w.timeout, "timeout", 0, "how long to wait, connecting included; 0: no limit (with --for joined: ZKR_JOB_JOIN_WAIT)")
	return cmd
}

// joined waits for all to join.
func (w *jobWait) joined(ctx context.Context, _ *session.Client, job *workerctl.Job) error {
	stop := newJobProgress(w.app.Stderr).follow(ctx, job)
	err := job.WaitAll(ctx)
	stop()
	if errors.Is(err, workerctl.ErrOver) {
		if out, e := job.Info(ctx); e == nil && out.State.Over() {
			return fmt.Errorf("the workers of the job %s have not all joined: it was %s", cli.Readable([]byte(out.Name)), cli.Readable([]byte(out.State)))
		}
	}
	return faulty(job, err)
}

// untilFinished waits for the end of the job of that name. If the job has ended
// before, zkr notes that, and how the job ended.
func (w *jobWait) untilFinished(name string) cli.Action {
	attached := w.on(name, w.finished)
	return func(ctx context.Context, client *session.Client) error {
		err := attached(ctx, client)
		if !errors.Is(err, workerctl.ErrNoJob) {
			return err
		}
		ended, e := workerctl.NewJanitor(client, w.opts).Ended(ctx, name)
		if e != nil || len(ended) == 0 {
			return err
		}
		out := ended[len(ended)-1]
		w.app.Note("the job %s ended at %s: there is no job of this name now", cli.Readable([]byte(name)), cli.LocalTime(out.Ended))
		return outcomeError(out)
	}
}

// outcomeError is nil for a finished job.
func outcomeError(out workerctl.Info) error {
	switch name := cli.Readable([]byte(out.Name)); out.State {
	case "finished":
		return nil
	case "failed":
		return fmt.Errorf("the job %s was not finished, but failed: %d of %s failed", name, out.Failed, cli.Count(out.Workers, "worker"))
	default:
		return fmt.Errorf("the job %s was not finished, but %s", name, cli.Readable([]byte(out.State)))
	}
}

// finished waits for the job to be over.
func (w *jobWait) finished(ctx context.Context, _ *session.Client, job *workerctl.Job) error {
	stop := newJobProgress(w.app.Stderr).follow(ctx, job)
	out, err := job.Wait(ctx)
	stop()
	switch {
	case err == nil:
		return outcomeError(out)
	case errors.Is(err, workerctl.ErrOver):
		return &exit.Failure{Code: exit.CodeUnknown, Err: err, Hint: "the job may have been finished or killed: check its results"}
	}
	return faulty(job, err)
}

// faulty names the workers that have died or failed if a fault has ended a
// wait.
func faulty(job *workerctl.Job, err error) error {
	var absent *workerctl.MissingError
	if !errors.As(err, &absent) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%s of the job %s died or failed%s", cli.Count(len(absent.IDs), "worker"), cli.Readable([]byte(job.Name())), faults(absent))
}

// faults lists, of the missing workers, those that have died, failed and left.
func faults(absent *workerctl.MissingError) string {
	var out strings.Builder
	for _, part := range []struct {
		what string
		ids  []int
	}{{"dead", absent.Dead}, {"failed", absent.Failed}, {"left", absent.Left}} {
		if len(part.ids) > 0 {
			fmt.Fprintf(&out, "; %s: %s", part.what, formatRanges(part.ids))
		}
	}
	if len(absent.Failed) > 0 {
		fmt.Fprintf(&out, "; %d failed: %s", absent.Failed[0], cli.Readable([]byte(absent.Failures[absent.Failed[0]])))
	}
	return out.String()
}

// namingMissing is do with errors that name the missing workers.
func namingMissing(do cli.Action) cli.Action {
	return func(ctx context.Context, client *session.Client) error {
		if err := do(ctx, client); err != nil {
			return missingWorkers{err}
		}
		return nil
	}
}

// missingWorkers adds the missing workers to an error of a wait.
type missingWorkers struct{ error }

// Unwrap returns the error.
func (m missingWorkers) Unwrap() error { return m.error }

// Detail names the missing workers, if the error has them.
func (m missingWorkers) Detail() string {
	var absent *workerctl.MissingError
	if !errors.As(m.error, &absent) || len(absent.IDs) == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of %d are missing: %s%s", len(absent.IDs), absent.Workers, formatRanges(absent.IDs), faults(absent))
}

// jobProgress shows the progress of a job on a terminal.
type jobProgress struct {
	out  *os.File // nil: no terminal
	some bool     // a line is shown
}

func newJobProgress(out *os.File) *jobProgress {
	if !cli.IsTerminal(out) {
		return &jobProgress{}
	}
	return &jobProgress{out: out}
}

// follow shows the progress of the job until stop is called.
func (p *jobProgress) follow(ctx context.Context, job *workerctl.Job) (stop func()) {
	if p.out == nil {
		return func() {}
	}
	watching, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	// Waited for by stop; ends with watching. Errors need no report: the
	// caller's own wait meets them too.
	watcher.Go(func() {
		defer p.clear()
		for in, err := range job.States(watching) {
			if err == nil {
				p.show(in)
			}
		}
	})
	return func() { cancel(); watcher.Wait() }
}

func (p *jobProgress) show(in workerctl.Info) {
	p.some = true
	fmt.Fprintf(p.out, "\r%s\x1b[K", progressOf(in))
}

// progressOf is the progress of the job, for people.
func progressOf(in workerctl.Info) string {
	text := fmt.Sprintf("%d of %s joined, %d left", in.Joined, cli.Count(in.Workers, "worker"), in.Left-in.Failed)
	if in.Failed > 0 {
		text += fmt.Sprintf(", %d failed", in.Failed)
	}
	return text
}

// clear clears the line.
func (p *jobProgress) clear() {
	if p.some {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
