package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// runner carries an errand out.
type runner struct {
	app     *app
	errand  *errand
	signals chan os.Signal
	client  *session.Client // nil until it is connected
	plan    plan

	grant   *grant // what is held now
	group   *group // the command that runs, or the last one
	tty     *terminal
	ownStop bool // the command's next stop is zkr's doing
	toEnd   bool // a signal that ends commands was passed on: somebody wants this one to end
}

// carryOut is all of an errand: it waits for what is to be held, runs the
// command, and gives back.
func (a *app) carryOut(ctx context.Context, e *errand) error {
	if err := canRun(e.argv[0]); err != nil {
		return err // rather than after a long wait
	}
	r := &runner{app: a, errand: e, signals: listen()}
	defer signal.Stop(r.signals)
	// A remark that nobody reads must not end zkr before it has stopped what
	// must stop.
	defer listenForBrokenPipes()()
	err := r.once(ctx)
	for e.again && isLoss(err) && !r.toEnd && r.group.over(killLimit) {
		a.note("%v; waiting for it again", err)
		err = r.once(ctx)
	}
	if r.client == nil {
		return err
	}
	// Closing waits for the deletion of znodes, and the session takes along
	// what remains.
	bad := hangUp(ctx, r.client)
	var by endedBy
	switch {
	case bad == nil:
	case err == nil:
		a.note("%s may stay taken for up to %v: %v", e.name, r.plan.timeout, bad)
	case errors.As(err, &by):
		a.note("%v", bad)
	}
	return err
}

// isLoss reports whether err says that something was lost, and not that a
// command chose the exit code that stands for this.
func isLoss(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.code == exitLost && errors.Is(err, session.ErrLost)
}

// once waits for what is to be held, and runs the command.
func (r *runner) once(ctx context.Context) error {
	waiting, stop := untilSignal(ctx, r.signals)
	err := r.acquire(waiting)
	if cause := stop(); cause != nil {
		// Whatever came of it, nothing of it is left.
		return interrupted(cause, "gave up waiting for %s", r.errand.name)
	}
	if err != nil {
		return err
	}
	return r.command(ctx)
}

// interrupted is the error of a wait that somebody ended.
func interrupted(cause error, format string, args ...any) error {
	var by endedBy
	if !errors.As(cause, &by) {
		return cause
	}
	return signaled(by.sig, "%s: %w", fmt.Sprintf(format, args...), cause)
}

// acquire connects, the first time, and gets what is to be held.
func (r *runner) acquire(ctx context.Context) error {
	e := r.errand
	if e.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.timeout)
		defer cancel()
	}
	if r.client == nil {
		client, p, err := r.app.connectFor(ctx, e)
		if err != nil {
			if e.timeout > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = r.app.noConnection(e.timeout, err)
			}
			return err
		}
		r.client, r.plan = client, p
	}
	var err error
	r.grant, err = r.get(ctx)
	switch {
	case err == nil:
		return nil
	case busy(err):
		return &failure{code: exitBusy, err: fmt.Errorf("%s is taken: %w", e.name, err), hint: e.look + " says by whom"}
	case e.timeout > 0 && errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &failure{code: exitBusy, err: fmt.Errorf("did not get %s within %v", e.name, e.timeout), hint: e.look + " says who has it"}
	}
	return err
}

// get gets it. What does not wait for others waits for the servers, as long as
// a connection may take.
func (r *runner) get(ctx context.Context) (*grant, error) {
	if e := r.errand; e.try && e.timeout == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.app.flags.connectTimeout+e.delay)
		defer cancel()
	}
	return r.errand.get(ctx, r.client)
}

// environment is what the command sees of what is held, beside zkr's own
// environment.
func (g *grant) environment(prefix string) []string {
	out := append(os.Environ(), prefix+"_PATH="+g.Path())
	if s := g.Session(); s != nil {
		out = append(out, fmt.Sprintf("%s_SESSION=%#x", prefix, s.ID()))
	}
	if g.token != 0 {
		out = append(out, fmt.Sprintf("%s_TOKEN=%d", prefix, g.token))
	}
	return append(out, g.vars...)
}

// timer is a channel that fires after d, and how to let go of it.
func timer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}
