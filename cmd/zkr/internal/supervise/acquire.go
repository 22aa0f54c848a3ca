package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/session"
)

// runner carries out a run.
type runner struct {
	app     *cli.App
	spec    *RunSpec
	signals chan os.Signal
	client  *session.Client // nil before the connection
	plan    Plan

	hold    *Hold           // the present hold
	group   *guardedCommand // the running command, or the last one
	tty     *terminal
	ownStop bool // the command's next stop is zkr's doing
	toEnd   bool // an ending signal was passed on: this command is to end
}

// Run waits for the target of e, runs the command, and gives back the hold.
func Run(ctx context.Context, a *cli.App, e *RunSpec) error {
	if err := CheckCommand(e.Argv[0]); err != nil {
		return err // rather than after a long wait
	}
	r := &runner{app: a, spec: e, signals: signals.Listen()}
	defer signal.Stop(r.signals)
	// A note without a reader must not end zkr before zkr has stopped the
	// command.
	defer cli.IgnoreBrokenPipes()()
	err := r.once(ctx)
	for e.Again && isLoss(err) && !r.toEnd && r.group.over(killLimit) {
		a.Note("%v; waiting for it again", err)
		err = r.once(ctx)
	}
	if r.client == nil {
		return err
	}
	// Closing waits for the deletion of znodes, and ends the session with
	// everything that remains.
	bad := cli.CloseClient(ctx, r.client)
	if bad != nil && errors.As(err, new(signals.EndedBySignal)) {
		a.Note("%v", bad)
	}
	return err
}

// isLoss reports whether err is a loss, and not a command's choice of the same
// exit code.
func isLoss(err error) bool {
	var f *exit.Failure
	return errors.As(err, &f) && f.Code == exit.CodeLost && errors.Is(err, session.ErrLost)
}

// once waits for the hold, and runs the command.
func (r *runner) once(ctx context.Context) error {
	waiting, stop := signals.UntilSignal(ctx, r.signals)
	err := r.acquire(waiting)
	if cause := stop(); cause != nil {
		// Whatever the outcome, no part of the target is left.
		return signals.Interrupted(cause, "gave up waiting for %s", r.spec.Name)
	}
	if err != nil {
		return err
	}
	return r.command(ctx)
}

// acquire connects, the first time, and gets the hold.
func (r *runner) acquire(ctx context.Context) error {
	e := r.spec
	if e.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.timeout)
		defer cancel()
	}
	if r.client == nil {
		client, p, err := ConnectFor(ctx, r.app, e)
		if err != nil {
			if e.timeout > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = r.app.NoConnection(e.timeout, err)
			}
			return err
		}
		r.client, r.plan = client, p
	}
	var err error
	r.hold, err = r.acquireOnce(ctx)
	err = cli.WithOutage(r.client, err)
	var away *cli.ConnectionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &away):
		return &exit.Failure{Code: exit.CodeUnavailable, Err: fmt.Errorf("did not get %s: %w", e.Name, err)}
	case e.timeout > 0 && errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded):
		// First: the error may also name the holder at the end of the time.
		return &exit.Failure{Code: exit.CodeBusy, Err: fmt.Errorf("did not get %s within %v", e.Name, e.timeout), Hint: e.ListCommand + " shows the holders"}
	case exit.IsBusy(err):
		return &exit.Failure{Code: exit.CodeBusy, Err: fmt.Errorf("%s is taken: %w", e.Name, err), Hint: e.ListCommand + " shows the holders"}
	}
	return err
}

// acquireOnce acquires the target. With --try zkr does not wait for other holders, only
// for the servers, as long as a connection may take.
func (r *runner) acquireOnce(ctx context.Context) (*Hold, error) {
	if e := r.spec; e.Try && e.timeout == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.app.Flags.ConnectTimeout+e.Delay)
		defer cancel()
	}
	if !r.spec.Try && r.spec.WaitsFor != nil {
		defer r.app.NoteWait(ctx, r.spec.WaitsFor(ctx, r.client))()
	}
	return r.spec.Acquire(ctx, r.client)
}

// environment is the part of the command's environment about the hold, beside
// zkr's own environment.
func (g *Hold) environment(prefix string) []string {
	out := append(os.Environ(), prefix+"_PATH="+g.Path())
	if s := g.Session(); s != nil {
		out = append(out, fmt.Sprintf("%s_SESSION=%#x", prefix, s.ID()))
	}
	if g.Token != 0 {
		out = append(out, fmt.Sprintf("%s_TOKEN=%d", prefix, g.Token))
	}
	return append(out, g.Vars...)
}
