package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// jobWait is what "zkr job wait" is asked to do.
type jobWait struct {
	*jobCommand
	what    string // joined or finished
	timeout time.Duration
}

const waitHelp = `Waits until all workers of the job NAME have joined, whatever has become of them
since; with --for finished until all have joined and left. On a terminal zkr shows
on stderr how far they are. If it takes longer than --timeout zkr says which ids
are missing, and exits with 75.

If the job ends otherwise, by "zkr job kill" or since it was abandoned, zkr exits
with 1. So it does if there is no such job: one that is finished is removed, so wait
for it before its last worker leaves. When zkr comes too late to see how the job has
ended, since the machine or the connection was slow, it exits with 74.
`

// wait is "zkr job wait".
func (c *jobCommand) wait() *cobra.Command {
	w := &jobWait{jobCommand: c}
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until all workers of a job have joined, or until it is finished",
		Long:  waitHelp,
		Example: "  zkr job wait words --timeout 1m || zkr job workers words\n" +
			"  zkr job wait words --for finished && ./publish",
		Args: arguments("job", "NAME"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd, args[0]); err != nil {
				return err
			}
			if err := checkTimeout(w.timeout); err != nil {
				return err
			}
			name := readable([]byte(args[0]))
			switch {
			case w.what == "finished":
				return c.app.await(cmd.Context(), w.timeout, "the job "+name+" to be finished", c.on(args[0], w.finished))
			case w.what != "joined":
				return usage("--for is %q; it must be joined or finished", w.what)
			case c.opts.JoinWait > 0 && !cmd.Flags().Changed("timeout"):
				w.timeout = c.opts.JoinWait
			}
			c.opts.JoinWait = -1 // the timeout holds from the beginning on
			return c.app.await(cmd.Context(), w.timeout, "the workers of the job "+name, c.on(args[0], w.joined))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&w.what, "for", "joined", "the `event` to wait for: joined or finished")
	oneOf(cmd, "for", "joined", "finished")
	f.DurationVar(&w.timeout, "timeout", 0, "how long to wait, connecting included; 0: for ever (with --for joined: ZKR_JOB_JOIN_WAIT)")
	return cmd
}

// joined waits for all to join.
func (w *jobWait) joined(ctx context.Context, client *session.Client, job *workerctl.Job) error {
	p := newJobProgress(w.app.stderr)
	if p.out == nil {
		return job.WaitAll(ctx)
	}
	watching, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer cancel()
	// Waited for above; ends with watching. What keeps it from showing how far
	// they are, WaitAll tells.
	watcher.Go(func() {
		defer p.clear()
		_ = followStatus(watching, client, job, func(s jobStatus) (bool, error) { p.show(s); return false, nil })
	})
	return job.WaitAll(ctx)
}

// finished waits for the job to be over.
func (w *jobWait) finished(ctx context.Context, client *session.Client, job *workerctl.Job) error {
	p := newJobProgress(w.app.stderr)
	defer p.clear()
	err := followStatus(ctx, client, job, func(s jobStatus) (bool, error) {
		p.show(s)
		if s.State.Over() && s.State != "finished" {
			return true, fmt.Errorf("the job %s was not finished, but %s", readable([]byte(job.Name())), readable([]byte(s.State)))
		}
		return s.State.Over(), nil
	})
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return notLeft(ctx, job, err)
	case errors.Is(err, workerctl.ErrOver):
		return &failure{code: exitUnknown, err: err, hint: "it may have been finished, or killed: look for what it has made"}
	}
	return err
}

// notLeft says which workers have not left yet, as far as that can be found out in
// a second.
func notLeft(ctx context.Context, job *workerctl.Job, reason error) error {
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	list, err := job.Members(over)
	if err != nil {
		return reason
	}
	info, err := job.Info(over)
	if err != nil {
		return reason
	}
	left := map[int]bool{}
	for _, m := range list {
		left[m.ID] = m.State == "left"
	}
	who := &workerctl.MissingError{Workers: info.Workers, Reason: reason}
	for id := range info.Workers {
		if !left[id] {
			who.IDs = append(who.IDs, id)
		}
	}
	return who
}

// missingIn says who is missing, if err says so.
func missingIn(err error) string {
	var who *workerctl.MissingError
	if !errors.As(err, &who) || len(who.IDs) == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of %d are missing: %s", len(who.IDs), who.Workers, spans(who.IDs))
}

// jobProgress tells people on a terminal how far a job is.
type jobProgress struct {
	out  *os.File // nil: nobody looks
	some bool     // something stands there
}

func newJobProgress(out *os.File) *jobProgress {
	if !isTerminal(out) {
		return &jobProgress{}
	}
	return &jobProgress{out: out}
}

func (p *jobProgress) show(s jobStatus) {
	if p.out != nil {
		p.some = true
		fmt.Fprintf(p.out, "\r%s\x1b[K", s.text())
	}
}

// clear takes away what stands there.
func (p *jobProgress) clear() {
	if p.some {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
