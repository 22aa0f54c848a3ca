package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// killLimit is how long zkr waits for processes that it has killed. They may
// hang in the kernel, where a signal does not reach them.
const killLimit = 5 * time.Second

// runner runs a job's command while its lock is held.
type runner struct {
	app     *app
	job     *job
	plan    plan
	grant   *grant
	group   *group
	tty     *terminal
	signals chan os.Signal
	ownStop bool // the command's next stop is zkr's doing
}

// runCommand runs the command and releases the lock.
func (a *app) runCommand(ctx context.Context, j *job, p plan, g *grant, signals chan os.Signal) error {
	// The command dies with the thread that starts it; this one stays until
	// zkr ends.
	runtime.LockOSThread()
	r := &runner{app: a, job: j, plan: p, grant: g, tty: terminalOf(a.stdin), signals: signals}
	for _, sig := range stopSignals {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	foreground := r.tty.on && r.tty.ours()
	var err error
	if r.group, err = startGroup(j.argv, g.environment(), a.stdin, a.stdout, a.stderr); err != nil {
		return errors.Join(err, r.release(ctx))
	}
	r.tty.ignoreStops()
	if foreground {
		r.tty.give(int32(r.group.id))
	}
	for {
		select {
		case <-g.ctx.Done():
			return r.lost()
		case status := <-r.group.exited:
			return r.ended(ctx, status)
		case sig := <-r.group.stopped:
			r.commandStopped(sig)
		case sig := <-signals:
			r.signal(sig.(syscall.Signal))
		}
	}
}

// lost ends a command whose lock is lost. When trust ran out, the session lives
// on for the reserve, and the lock with it; otherwise somebody else may have
// the lock already, and every moment counts.
func (r *runner) lost() error {
	cause := context.Cause(r.grant.ctx)
	var grace time.Duration
	var hurry <-chan struct{}
	switch delay := r.job.opts.LockDelay; {
	case errors.Is(cause, session.ErrTrustRanOut) && r.grant.session.Err() == nil:
		grace, hurry = r.plan.grace, r.grant.session.Context().Done()
	case delay > 0:
		grace = min(r.plan.grace, delay/2) // the others wait so long, and longer
	}
	note(r.app.stderr, "losing %s: stopping the command, KILL after %v", r.job.what(), grace)
	gone := r.group.stop(grace, hurry, killLimit, true)
	r.takeTerminal()
	if !gone {
		note(r.app.stderr, "some of the command's processes hang in the kernel, and die when they come out of there")
	}
	return &failure{code: exitLost, err: fmt.Errorf("lost %s, and stopped the command: %w", r.job.what(), cause)}
}

// ended is what follows when the command has ended by itself.
func (r *runner) ended(ctx context.Context, status syscall.WaitStatus) error {
	r.takeTerminal()
	for warned := false; r.group.alive() && !r.group.stop(r.plan.grace, r.grant.ctx.Done(), killLimit, false); warned = true {
		if !warned {
			note(r.app.stderr, "still holding %s: processes of the command's group hang in the kernel", r.job.what())
		}
	}
	if r.grant.ctx.Err() == nil {
		err := r.release(ctx)
		switch {
		case err == nil:
			return exitOf(status)
		case !errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrNodeDeleted):
			note(r.app.stderr, "%v", err) // the session's end is left, and comes next
			return exitOf(status)
		}
	}
	return &failure{code: exitLost, err: fmt.Errorf("lost %s before the command had ended: %w", r.job.what(), context.Cause(r.grant.ctx))}
}

// release gives the lock back.
func (r *runner) release(ctx context.Context) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return r.grant.release(limited)
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
		r.ownStop = true
		_ = r.group.signal(syscall.SIGSTOP)
		r.suspend(false)
	case syscall.SIGCONT:
		r.resume()
	default:
		_ = r.group.signal(sig)
	}
}

// commandStopped decides what a stop of the command means. On the terminal it
// is the whole job's: the shell sees zkr, and waits for that. A zkr that is
// stopped keeps no lock, but a command that is stopped does no harm, and zkr
// looks whether the lock is still there before it lets the command go on.
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
	if controlled() {
		continued := make(chan os.Signal, 1)
		signal.Notify(continued, syscall.SIGCONT)
		if job {
			// Zkr is the one that it must not reach: a runtime that has
			// once caught it does not stop by it any more.
			signal.Ignore(syscall.SIGTSTP)
			_ = syscall.Kill(0, syscall.SIGTSTP)
			signal.Notify(r.signals, syscall.SIGTSTP)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		// The stop may take other threads before this one.
		over, stopTimer := timer(time.Second)
		select {
		case <-continued:
		case <-over:
		}
		stopTimer()
		signal.Stop(continued)
	}
	r.resume()
}

// resume continues the command, unless the lock was lost while zkr did not run.
func (r *runner) resume() {
	if r.grant.ctx.Err() != nil {
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
