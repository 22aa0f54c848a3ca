package supervise

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/session"
)

// killLimit is how long zkr waits for killed processes. They may hang in the
// kernel, out of reach of signals.
const killLimit = 5 * time.Second

// command runs the command while zkr has the hold, and gives the hold back.
func (r *runner) command(ctx context.Context) error {
	a, g := r.app, r.hold
	r.tty, r.ownStop = terminalOf(a.Stdin), false
	for _, sig := range signals.JobControl {
		if !signal.Ignored(sig) {
			signal.Notify(r.signals, sig)
		}
	}
	if r.group != nil {
		r.tty.heedStops() // which zkr ignores since the start of the last command
	}
	foreground := r.tty.on && r.tty.ours()
	var err error
	if r.group, err = r.startGuarded(g.environment(r.spec.EnvPrefix)); err != nil {
		if g.Patient {
			return err // zkr does not wait for other clients; closing the session gives the hold back
		}
		return errors.Join(err, r.release(ctx))
	}
	r.tty.ignoreStops()
	if foreground {
		r.tty.give(r.group.id)
	}
	asked, stop := r.hold.watchRequests()
	defer stop()
	for {
		select {
		case <-g.Context().Done():
			return r.lost()
		case <-asked:
			asked = nil
			a.Note("another client asks for %s: the command gets TERM", r.spec.Name)
			r.signal(syscall.SIGTERM)
		case status := <-r.group.exited:
			return r.giveBackAtEnd(ctx, status)
		case sig := <-r.group.stopped:
			r.commandStopped(sig)
		case sig := <-r.signals:
			r.signal(sig.(syscall.Signal))
		}
	}
}

// watchRequests reports that another client asks for the hold, until stop is called.
func (g *Hold) watchRequests() (asked <-chan struct{}, stop func()) {
	if g.AwaitRequest == nil {
		return nil, func() {}
	}
	came := make(chan struct{})
	return came, cli.Background(g.Context(), func(ctx context.Context) {
		if g.AwaitRequest(ctx) == nil {
			close(came)
		}
	})
}

// lost ends a command that must not go on. When trust ran out, the session, and
// with it the hold, lives on for the stop margin; otherwise another client may
// have the hold already, and every moment counts.
func (r *runner) lost() error {
	cause := context.Cause(r.hold.Context())
	var grace time.Duration
	var hurry <-chan struct{}
	switch delay := r.spec.Delay; {
	case errors.Is(cause, session.ErrTrustRanOut) && r.hold.Session().Err() == nil:
		grace, hurry = r.plan.Grace, r.hold.Session().Context().Done()
	case delay > 0:
		grace = min(r.plan.Grace, delay/2) // the others wait so long, and longer
	}
	finish := r.app.BeginNote("losing %s: stopping the command, KILL after %v", r.spec.Name, grace)
	gone := r.group.stop(grace, hurry, killLimit)
	finish()
	r.takeTerminal()
	if !gone {
		return &exit.Failure{Code: exit.CodeLost, Err: fmt.Errorf("lost %s, and the command is not gone: its processes %s: %w", r.spec.Name, r.group.survive(), cause)}
	}
	return &exit.Failure{Code: exit.CodeLost, Err: fmt.Errorf("lost %s, and stopped the command: %w", r.spec.Name, r.explainLoss(cause))}
}

// recordLimit bounds the search for the record of a loss, which is worth no more.
const recordLimit = 2 * time.Second

// explainLoss adds to the cause of a loss who took the hold away.
func (r *runner) explainLoss(cause error) error {
	if r.hold.TakenBy == nil || r.hold.Session().Err() != nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordLimit)
	defer cancel()
	if by := r.hold.TakenBy(ctx); by != "" {
		return fmt.Errorf("%s: %w", by, cause)
	}
	return cause
}

// giveBackAtEnd gives the hold back when the command has ended by itself.
func (r *runner) giveBackAtEnd(ctx context.Context, status syscall.WaitStatus) error {
	r.takeTerminal()
	group := r.group.processGroup
	for warned := false; group.alive() && !group.stop(r.plan.Grace, r.hold.Context().Done(), killLimit); warned = true {
		if !warned {
			r.app.Note("still holding %s: processes of the command's group %s", r.spec.Name, r.group.survive())
		}
	}
	r.group.leave()
	if r.hold.Context().Err() != nil {
		return &exit.Failure{Code: exit.CodeLost, Err: fmt.Errorf("lost %s before the command had ended: %w", r.spec.Name, r.explainLoss(context.Cause(r.hold.Context())))}
	}
	if r.hold.Finishes && ExitOf(status) != nil {
		return ExitOf(status)
	}
	err := r.release(ctx)
	lost := errors.Is(err, session.ErrLost) || errors.Is(err, session.ErrNodeDeleted)
	switch {
	case err == nil:
		return ExitOf(status)
	case errors.As(err, new(*exit.Failure)):
		return err
	case lost && r.hold.Patient:
		return &exit.Failure{Code: exit.CodeLost, Err: fmt.Errorf("the command has ended, but %s was lost before zkr had given it back: %w", r.spec.Name, err)}
	case lost && !r.spec.Renewed && !errors.Is(err, session.ErrTrustRanOut):
		// The hold may have been taken away while the command ran. Trust, which
		// existed when the command had ended, proves the hold until then.
		return &exit.Failure{Code: exit.CodeLost, Err: fmt.Errorf("lost %s, perhaps before the command had ended: %w", r.spec.Name, r.explainLoss(err))}
	}
	r.noteUnreleased(err)
	return ExitOf(status)
}

// noteUnreleased notes that no server has confirmed the release.
func (r *runner) noteUnreleased(err error) {
	until := fmt.Sprintf("for up to %v", r.plan.timeout)
	if r.spec.Outlasts {
		until = "until its znode is deleted"
	}
	r.app.Note("no server has confirmed that %s was given back; it may stay taken %s: %v", r.spec.Name, until, err)
}

// release gives back the hold. A release that waits for other clients waits
// until a signal comes.
func (r *runner) release(ctx context.Context) error {
	if !r.hold.Patient {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), cli.CloseLimit)
		defer cancel()
		return r.hold.Release(limited)
	}
	waiting, stop := signals.UntilSignal(ctx, r.signals)
	err := r.hold.Release(waiting)
	if cause := stop(); cause != nil && err != nil {
		what := "waiting for the others to leave"
		if r.hold.Finishes {
			what = "recording that"
		}
		return signals.Interrupted(cause, "the command has ended; gave up %s", what)
	}
	return err
}

// ExitOf passes a command's end on.
func ExitOf(status syscall.WaitStatus) error {
	switch {
	case status.Signaled():
		return exit.Silent(exit.CodeSignal + int(status.Signal()))
	case status.ExitStatus() != 0:
		return exit.Silent(status.ExitStatus())
	}
	return nil
}

// signal handles a signal that comes while the command runs.
func (r *runner) signal(sig syscall.Signal) {
	switch sig {
	case signals.TerminalStop:
		r.stopCommand()
		r.suspend(false)
	case signals.Cont:
		r.resume()
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT:
		r.toEnd = true
		_ = r.group.signal(sig)
	default:
		_ = r.group.signal(sig)
	}
}

// stopCommand stops the command, and waits until the command is stopped: a
// stopped zkr supervises nothing.
func (r *runner) stopCommand() {
	_ = r.group.signal(signals.Stop)
	late, stopTimer := cli.NewTimer(200 * time.Millisecond)
	defer stopTimer()
	select {
	case <-r.group.stopped:
	case status := <-r.group.exited:
		r.group.exited <- status // for the loop
	case <-late:
		r.ownStop = true // the command hangs in the kernel, and stops when it comes out of there
	}
}

// commandStopped decides the meaning of a stopped command. On the terminal, the
// whole job stops: the shell sees zkr, and waits for zkr. A stopped zkr holds
// nothing for long, but a stopped command does no harm, and zkr verifies the
// hold before the command goes on.
func (r *runner) commandStopped(sig syscall.Signal) {
	if r.ownStop && sig == signals.Stop {
		r.ownStop = false
		return
	}
	front, ok := r.tty.foreground()
	ahead := ok && front == r.group.id
	switch {
	case !r.tty.on:
	case (sig == signals.TerminalInput || sig == signals.TerminalOutput) && ahead:
		// The command used the terminal before zkr handed the terminal over.
		_ = r.group.signal(signals.Cont)
	case ahead || sig == signals.TerminalInput || sig == signals.TerminalOutput:
		r.suspend(true)
	}
}

// suspend stops zkr, and with job its whole process group, like the terminal
// would, until another process continues zkr. In a group without a shell no
// process would continue zkr, and suspend returns at once.
func (r *runner) suspend(job bool) {
	r.takeTerminal()
	signals.StopSelf(func() {
		if job {
			// The signal must not reach zkr itself: a runtime that has once caught
			// the signal does not stop by it any more.
			signal.Ignore(signals.TerminalStop)
			stopJob()
			signal.Notify(r.signals, signals.TerminalStop)
		}
	})
	r.resume()
}

// resume continues the command, unless all was lost while zkr did not run.
func (r *runner) resume() {
	if r.hold.Context().Err() != nil {
		return // the loop receives the signal next
	}
	if r.tty.on && r.tty.ours() {
		r.tty.give(r.group.id)
	}
	_ = r.group.signal(signals.Cont)
}

// takeTerminal takes the terminal back from the command.
func (r *runner) takeTerminal() {
	if front, ok := r.tty.foreground(); r.tty.on && ok && front == r.group.id {
		r.tty.give(r.tty.own)
	}
}
