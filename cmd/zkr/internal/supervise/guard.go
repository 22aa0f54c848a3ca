package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// File descriptors of a supervisor with --guard. Its stdin is the command's.
const (
	ordersFD  = 3
	reportsFD = 4
)

// The reports of a supervisor with --guard, one per line: the process id of the
// started command, or the exit code and the text of the failure to start; a
// stop of the command, as a signal; its end, as a wait status.
const (
	reportStarted = "started"
	reportFailed  = "failed"
	reportStopped = "stopped"
	reportExited  = "exited"
)

// orderLeave ends a supervisor with --guard, without the processes that the
// command has left running.
const orderLeave = "leave"

// guardedCommand is a command under a hold. A supervisor stands between zkr and
// the command: if zkr is killed with KILL, the supervisor ends the command and
// all its descendants before the session of zkr can expire.
type guardedCommand struct {
	processGroup
	supervisor *Supervised

	exited  chan syscall.WaitStatus // cap 1: the command has ended, or was killed with its supervisor
	stopped chan syscall.Signal     // cap 1: the command was stopped
}

// startGuarded starts the command under a supervisor.
func (r *runner) startGuarded(env []string) (*guardedCommand, error) {
	a := r.app
	cmd, err := NewSupervisor(r.plan.Grace, []string{"--guard", "--output", a.Flags.Output}, r.spec.Argv, nil)
	if err != nil {
		return nil, err
	}
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, a.Stdin, a.Stdout, a.Stderr
	theirs, orders, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a supervisor: %w", err)
	}
	reports, ours, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a supervisor: %w", err), theirs.Close(), orders.Close())
	}
	cmd.ExtraFiles = []*os.File{theirs, ours} // ordersFD and reportsFD
	AdoptOrphans()                            // the descendants of a killed supervisor
	k := &Supervised{cmd: cmd, orders: orders, Done: make(chan struct{})}
	err = (&Supervisors{All: map[int]*Supervised{}}).launch(k, nil)
	_, _ = theirs.Close(), ours.Close() // the supervisor has its own
	if err != nil {
		return nil, errors.Join(err, orders.Close(), reports.Close())
	}
	g := &guardedCommand{supervisor: k, exited: make(chan syscall.WaitStatus, 1), stopped: make(chan syscall.Signal, 1)}
	lines := bufio.NewScanner(reports)
	if err := g.awaitStart(lines); err != nil {
		_, _ = orders.Close(), reports.Close()
		return nil, err
	}
	// Waited for by the waits for the command; ends with the supervisor.
	go g.watch(reports, lines)
	return g, nil
}

// awaitStart waits until the command has started.
func (g *guardedCommand) awaitStart(lines *bufio.Scanner) error {
	if lines.Scan() {
		var code int
		var why string
		if _, err := fmt.Sscanf(lines.Text(), reportStarted+" %d", &g.id); err == nil {
			return nil
		}
		if _, err := fmt.Sscanf(lines.Text(), reportFailed+" %d %q", &code, &why); err == nil {
			return &exit.Failure{Code: code, Err: errors.New(why)}
		}
	}
	<-g.supervisor.Done
	return fmt.Errorf("start a supervisor: it has ended: %s", DescribeEnd(g.supervisor.Status))
}

// watch passes on the reports of the supervisor, until the supervisor is gone.
func (g *guardedCommand) watch(reports *os.File, lines *bufio.Scanner) {
	defer func() { _ = reports.Close() }()
	ended := false
	for lines.Scan() {
		var what string
		var value uint32
		if _, err := fmt.Sscan(lines.Text(), &what, &value); err != nil {
			continue
		}
		switch what {
		case reportExited:
			ended = true
			g.exited <- statusFrom(value)
		case reportStopped:
			select {
			case g.stopped <- syscall.Signal(value):
			default: // the last stop has not been handled yet
			}
		}
	}
	<-g.supervisor.Done
	if !ended {
		g.exited <- g.supervisor.Status
	}
}

// over reports whether the supervisor, and all its processes, are gone, so that
// another command can be started. over waits up to limit.
func (g *guardedCommand) over(limit time.Duration) bool {
	late, stop := cli.NewTimer(limit)
	defer stop()
	select {
	case <-g.supervisor.Done:
		return true
	case <-late:
		return false
	}
}

// stop ends the command and all its descendants, where the system can find
// them: TERM, and KILL after grace, or as soon as hurry is closed. stop returns
// when no process is left, or some limit after KILL.
func (g *guardedCommand) stop(grace time.Duration, hurry <-chan struct{}, limit time.Duration) (gone bool) {
	g.supervisor.Stop(grace, true)
	term, stopTerm := cli.NewTimer(grace)
	defer stopTerm()
	select {
	case <-g.supervisor.Done:
		return true
	case <-term:
	case <-hurry:
	}
	g.supervisor.Stop(0, true)
	return g.over(limit)
}

// leave ends the supervisor of a command that has ended by itself.
func (g *guardedCommand) leave() {
	_, _ = fmt.Fprintln(g.supervisor.orders, orderLeave, 0) // an error means that the supervisor is over
	g.over(killLimit)
	_ = g.supervisor.orders.Close()
}
