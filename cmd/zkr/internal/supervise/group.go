package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
)

// errNeedsUnix is why a system without process groups runs no command under a hold.
//
// read only
var errNeedsUnix = errors.New("running a command while something is held needs Unix (Linux, macOS, WSL): " +
	"Windows has no process groups and signals to stop the command in time")

// processGroup is a command's process group.
type processGroup struct {
	id int // process group, and process id of the command
}

// group is a command's process group as the parent of the command sees it.
type group struct {
	processGroup

	exited  chan syscall.WaitStatus // cap 1: the command has ended
	stopped chan syscall.Signal     // cap 1: the command was stopped
	reaped  chan struct{}           // closed when this process has no child left
	reaper  sync.WaitGroup
}

// CheckCommand returns an error if the command does not exist, may not be
// executed, or if this system cannot run commands under a hold.
func CheckCommand(name string) error {
	if !RunsCommands {
		return &exit.Failure{Code: exit.CodeCannotRun, Err: errNeedsUnix}
	}
	if _, err := exec.LookPath(name); err != nil {
		return cannotRun(name, err)
	}
	return nil
}

// cannotRun says why a command cannot be run.
func cannotRun(name string, err error) error {
	code := exit.CodeCannotRun
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		code = exit.CodeNotFound
	}
	var look *exec.Error
	var path *os.PathError
	if errors.As(err, &look) {
		err = look.Err // without the name, which stands before the state
	}
	if errors.As(err, &path) {
		err = path.Err
	}
	return &exit.Failure{Code: code, Err: fmt.Errorf("cannot run %s: %w", cli.OrElse(cli.Readable([]byte(name)), `""`), err)}
}

// stop ends the group: TERM, and KILL after grace, or as soon as hurry is
// closed. stop returns when no process is left, or some limit after KILL: a
// process that hangs in the kernel dies when the process comes out of there.
func (g processGroup) stop(grace time.Duration, hurry <-chan struct{}, limit time.Duration) (gone bool) {
	return terminate(grace, hurry, limit, g.alive, func(sig syscall.Signal) { _ = g.signal(sig) })
}

// stop is the stop of a processGroup, and also ends descendants outside the
// group, where the system can find them.
func (g *group) stop(grace time.Duration, hurry <-chan struct{}, limit time.Duration) (gone bool) {
	left := func() bool {
		select {
		case <-g.reaped:
			return false
		default:
			return adopts || g.alive()
		}
	}
	return terminate(grace, hurry, limit, left, func(sig syscall.Signal) {
		_ = g.signal(sig)
		signalDescendants(sig, g.id)
	})
}

// terminate sends TERM, and KILL after grace, or as soon as hurry is closed, to
// all processes that are left. terminate returns when no process is left, or
// some limit after KILL.
func terminate(grace time.Duration, hurry <-chan struct{}, limit time.Duration, left func() bool, send func(syscall.Signal)) (gone bool) {
	const step = 5 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	term, stopTerm := cli.NewTimer(grace)
	defer stopTerm()
	if grace > 0 {
		send(syscall.SIGTERM)
		send(signals.Cont) // a stopped process does not see TERM
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
	end, stopEnd := cli.NewTimer(limit)
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
