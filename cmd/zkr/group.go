package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// group is a command's process group.
type group struct {
	id int // process group, and process id of the command

	exited  chan syscall.WaitStatus // cap 1: the command has ended
	stopped chan syscall.Signal     // cap 1: the command was stopped
	reaped  chan struct{}           // closed when zkr has no child left
	reaper  sync.WaitGroup
}

// startGroup starts argv in a process group of its own. The calling goroutine
// must be locked to its thread until the command has ended: Linux kills the
// command with the thread that started it.
func startGroup(argv, env []string, in, out, errs *os.File) (*group, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, in, out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	adoptOrphans()
	if err := cmd.Start(); err != nil {
		return nil, cannotRun(argv[0], err)
	}
	g := &group{
		id: cmd.Process.Pid, exited: make(chan syscall.WaitStatus, 1),
		stopped: make(chan syscall.Signal, 1), reaped: make(chan struct{}),
	}
	// The reaper waits for the command, and for orphans, by process id.
	_ = cmd.Process.Release()
	// Nobody waits for it but those who wait for reaped; it ends when zkr has
	// no child left, at the latest with zkr.
	g.reaper.Go(g.reap)
	return g, nil
}

// canRun is an error if there is no such command, or nobody may run it.
func canRun(name string) error {
	if _, err := exec.LookPath(name); err != nil {
		return cannotRun(name, err)
	}
	return nil
}

// cannotRun says why a command cannot be run.
func cannotRun(name string, err error) error {
	code := exitCannotRun
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		code = exitNotFound
	}
	var look *exec.Error
	var path *os.PathError
	if errors.As(err, &look) {
		err = look.Err // without the name, which stands before it
	}
	if errors.As(err, &path) {
		err = path.Err
	}
	return &failure{code: code, err: fmt.Errorf("cannot run %s: %w", or(readable([]byte(name)), `""`), err)}
}

// reap waits for the command, and on Linux for its orphaned descendants.
func (g *group) reap() {
	defer close(g.reaped)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return // no child is left
		case pid != g.id:
		case status.Stopped():
			select {
			case g.stopped <- status.StopSignal():
			default: // the last stop has not been looked at yet
			}
		default:
			g.exited <- status
		}
	}
}

// signal sends sig to the whole group. An error means that nobody is left.
func (g *group) signal(sig syscall.Signal) error { return syscall.Kill(-g.id, sig) }

// alive reports whether anybody of the group is left.
func (g *group) alive() bool { return !errors.Is(g.signal(0), syscall.ESRCH) }

// survive says why processes are left that were killed.
func (g *group) survive() string {
	if errors.Is(g.signal(0), syscall.EPERM) {
		return "are another user's, and cannot be killed by this one"
	}
	return "hang in the kernel, and die when they come out of there"
}

// over reports whether zkr has no child left, so that another group can be
// started. It waits for that up to limit.
func (g *group) over(limit time.Duration) bool {
	late, stop := timer(limit)
	defer stop()
	select {
	case <-g.reaped:
		return true
	case <-late:
		return false
	}
}

// stop ends the group: TERM, and KILL after grace, or as soon as hurry is
// closed. With all it also ends descendants outside the group, where the system
// can find them. It returns when nobody is left, or some limit after KILL: a
// process that hangs in the kernel dies when it comes out of there.
func (g *group) stop(grace time.Duration, hurry <-chan struct{}, limit time.Duration, all bool) (gone bool) {
	left := func() bool {
		select {
		case <-g.reaped:
			return false
		default:
			return all && adopts || g.alive()
		}
	}
	send := func(sig syscall.Signal) {
		_ = g.signal(sig)
		if all {
			signalDescendants(sig, g.id)
		}
	}
	const step = 5 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	term, stopTerm := timer(grace)
	defer stopTerm()
	if grace > 0 {
		send(syscall.SIGTERM)
		send(syscall.SIGCONT) // who is stopped does not see TERM
	}
	for killing := false; !killing && left(); {
		select {
		case <-tick.C:
		case <-term:
			killing = true
		case <-hurry:
			killing = true
		}
	}
	end, stopEnd := timer(limit)
	defer stopEnd()
	for left() {
		send(syscall.SIGKILL) // again: some may have been forked meanwhile
		select {
		case <-tick.C:
		case <-end:
			return !left()
		}
	}
	return true
}
