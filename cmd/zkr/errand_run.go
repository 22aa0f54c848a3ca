package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// killLimit is how long zkr waits for processes that it has killed. They may
// hang in the kernel, where a signal does not reach them.
const killLimit = 5 * time.Second

// command runs the command while it is held what the errand wants, and gives
// that back.
func (r *runner) command(ctx context.Context) error {
	// The command dies with the thread that starts it; this one stays until
	// zkr ends.
	runtime.LockOSThread()
	a, g := r.app, r.grant
	r.tty, r.ownStop = terminalOf(a.stdin), false
	for _, sig := range stopSignals {
		if !signal.Ignored(sig) {
			signal.Notify(r.signals, sig)
		}
	}
	if r.group != nil {
		r.tty.heedStops() // which zkr ignores since the last command was started
	}
	foreground := r.tty.on && r.tty.ours()
	var err error
	if r.group, err = startGroup(r.errand.argv, g.environment(r.errand.env), a.stdin, a.stdout, a.stderr); err != nil {
		if g.patient {
			return err // others are not waited for; closing the session gives it back
		}
		return errors.Join(err, r.release(ctx))
	}
	r.tty.ignoreStops()
	if foreground {
		r.tty.give(int32(r.group.id))
	}
	for {
		select {
		case <-g.Context().Done():
			return r.lost()
		case status := <-r.group.exited:
			return r.ended(ctx, status)
		case sig := <-r.group.stopped:
			r.commandStopped(sig)
		case sig := <-r.signals:
			r.signal(sig.(syscall.Signal))
		}
	}
}

// lost ends a command that must not go on. When trust ran out, the session lives
// on for the reserve, and what is held with it; otherwise somebody else may have
// that already, and every moment counts.
func (r *runner) lost() error {
	cause := context.Cause(r.grant.Context())
	var grace time.Duration
	var hurry <-chan struct{}
	switch delay := r.errand.delay; {
	case errors.Is(cause, session.ErrTrustRanOut) && r.grant.Session().Err() == nil:
		grace, hurry = r.plan.grace, r.grant.Session().Context().Done()
	case delay > 0:
		grace = min(r.plan.grace, delay/2) // the others wait so long, and longer
	}
	finish := r.app.beginNote("losing %s: stopping the command, KILL after %v", r.errand.name, grace)
	gone := r.group.stop(grace, hurry, killLimit, true)
	finish()
	r.takeTerminal()
	if !gone {
		return &failure{code: exitLost, err: fmt.Errorf("lost %s, and the command is not gone: its processes %s: %w", r.errand.name, r.group.survive(), cause)}
	}
	return &failure{code: exitLost, err: fmt.Errorf("lost %s, and stopped the command: %w", r.errand.name, cause)}
}

// ended is what follows when the command has ended by itself.
func (r *runner) ended(ctx context.Context, status syscall.WaitStatus) error {
	r.takeTerminal()
	for warned := false; r.group.alive() && !r.group.stop(r.plan.grace, r.grant.Context().Done(), killLimit, false); warned = true {
		if !warned {
			r.app.note("still holding %s: processes of the command's group %s", r.errand.name, r.group.survive())
		}
	}
	if r.grant.Context().Err() == nil {
		if r.grant.finishes && status != 0 {
			return exitOf(status)
		}
		err := r.release(ctx)
		switch {
		case err == nil:
			return exitOf(status)
		case errors.As(err, new(*failure)):
			return err
		case r.errand.kept || !errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrNodeDeleted):
			r.app.note("%v", err) // the session's end is left, and comes next
			return exitOf(status)
		}
	}
	return &failure{code: exitLost, err: fmt.Errorf("lost %s before the command had ended: %w", r.errand.name, context.Cause(r.grant.Context()))}
}

// release gives back what is held. What waits for others then waits until a
// signal comes.
func (r *runner) release(ctx context.Context) error {
	if !r.grant.patient {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		return r.grant.release(limited)
	}
	waiting, stop := untilSignal(ctx, r.signals)
	err := r.grant.release(waiting)
	if cause := stop(); cause != nil && err != nil {
		what := "waiting for the others to leave"
		if r.grant.finishes {
			what = "recording that"
		}
		return interrupted(cause, "the command has ended; gave up %s", what)
	}
	return err
}

// exitOf passes a command's end on.
func exitOf(status syscall.WaitStatus) error {
	switch {
	case status.Signaled():
		return quietly(exitSignal + int(status.Signal()))
	case status.ExitStatus() != 0:
		return quietly(status.ExitStatus())
	}
	return nil
}

// signal is a signal that zkr got while the command runs.
func (r *runner) signal(sig syscall.Signal) {
	switch sig {
	case syscall.SIGTSTP:
		r.stopCommand()
		r.suspend(false)
	case syscall.SIGCONT:
		r.resume()
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT:
		r.toEnd = true
		_ = r.group.signal(sig)
	default:
		_ = r.group.signal(sig)
	}
}

// stopCommand stops the command, and sees it stopped: a zkr that is stopped
// itself looks after nothing.
func (r *runner) stopCommand() {
	_ = r.group.signal(syscall.SIGSTOP)
	late, stopTimer := timer(200 * time.Millisecond)
	defer stopTimer()
	select {
	case <-r.group.stopped:
	case status := <-r.group.exited:
		r.group.exited <- status // for the loop
	case <-late:
		r.ownStop = true // it hangs in the kernel, and stops when it comes out of there
	}
}

// commandStopped decides what a stop of the command means. On the terminal it
// is the whole job's: the shell sees zkr, and waits for that. A zkr that is
// stopped holds nothing for long, but a command that is stopped does no harm, and
// zkr looks whether it is still held before it lets the command go on.
func (r *runner) commandStopped(sig syscall.Signal) {
	if r.ownStop && sig == syscall.SIGSTOP {
		r.ownStop = false
		return
	}
	front, ok := r.tty.foreground()
	ahead := ok && front == int32(r.group.id)
	switch {
	case !r.tty.on:
	case (sig == syscall.SIGTTIN || sig == syscall.SIGTTOU) && ahead:
		// It looked at the terminal before that was handed over.
		_ = r.group.signal(syscall.SIGCONT)
	case ahead || sig == syscall.SIGTTIN || sig == syscall.SIGTTOU:
		r.suspend(true)
	}
}

// suspend stops zkr, and with job its whole process group, as the terminal
// would, and goes on when somebody continues it. Where nobody could, in a group
// that no shell controls, it goes on at once.
func (r *runner) suspend(job bool) {
	r.takeTerminal()
	stopSelf(func() {
		if job {
			// Zkr is the one that it must not reach: a runtime that has
			// once caught it does not stop by it any more.
			signal.Ignore(syscall.SIGTSTP)
			_ = syscall.Kill(0, syscall.SIGTSTP)
			signal.Notify(r.signals, syscall.SIGTSTP)
		}
	})
	r.resume()
}

// resume continues the command, unless all was lost while zkr did not run.
func (r *runner) resume() {
	if r.grant.Context().Err() != nil {
		return // the loop hears of it next
	}
	if r.tty.on && r.tty.ours() {
		r.tty.give(int32(r.group.id))
	}
	_ = r.group.signal(syscall.SIGCONT)
}

// takeTerminal takes the terminal back from the command.
func (r *runner) takeTerminal() {
	if front, ok := r.tty.foreground(); r.tty.on && ok && front == int32(r.group.id) {
		r.tty.give(r.tty.own)
	}
}
