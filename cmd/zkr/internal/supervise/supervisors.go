package supervise

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
)

// Supervisors run commands concurrently, each with a supervisor of its own.
type Supervisors struct {
	// mu guards All, by process id. A supervisor is in All before its process is
	// visible.
	mu  sync.Mutex
	All map[int]*Supervised
}

// NewSupervisor is a supervisor to be started: zkr itself, with these flags, the command behind
// them, and this added to the environment.
func NewSupervisor(grace time.Duration, flags, argv, env []string) (*exec.Cmd, error) {
	self, err := ownFile()
	if err != nil {
		return nil, err
	}
	args := append([]string{SupervisorName, "--grace", grace.String()}, flags...)
	cmd := exec.Command(self, append(append(args, "--"), argv...)...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), env...)
	// Ctrl-C is for zkr, which then ends the commands gracefully.
	subprocess.OwnGroup(cmd)
	return cmd, nil
}

// Start starts a supervisor that gets its orders on stdin. With p, which may be
// nil, the command has input, and its output is wanted: all bytes have been
// copied when the supervisor is gone.
func (ks *Supervisors) Start(cmd *exec.Cmd, p *Pipes) (*Supervised, error) {
	k := &Supervised{cmd: cmd, Done: make(chan struct{})}
	if p != nil {
		cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{p.theirs[0]}, p.theirs[1], p.theirs[2]
	}
	var err error
	if k.orders, err = cmd.StdinPipe(); err == nil {
		err = ks.launch(k, p)
	}
	if p != nil && err != nil {
		p.startCopying()
		p.end(0)
	}
	if err != nil {
		return nil, fmt.Errorf("start a supervisor: %w", err)
	}
	return k, nil
}

// launch starts the process of a supervisor.
func (ks *Supervisors) launch(k *Supervised, p *Pipes) error {
	ks.mu.Lock()
	err := k.cmd.Start()
	if err == nil {
		ks.All[k.cmd.Process.Pid] = k
	}
	ks.mu.Unlock()
	if err != nil {
		return err
	}
	if p != nil {
		p.startCopying()
	}
	// The caller that runs the command waits for over; ends with the supervisor.
	go ks.attend(k, p)
	return nil
}

// attend waits for the end of a supervisor, which outlives its processes,
// unless the supervisor is killed.
func (ks *Supervisors) attend(k *Supervised, p *Pipes) {
	defer close(k.Done)
	_ = k.cmd.Wait() // the status says everything
	k.Status, _ = k.cmd.ProcessState.Sys().(syscall.WaitStatus)
	ks.mu.Lock()
	delete(ks.All, k.cmd.Process.Pid)
	limit := time.Duration(0) // no writer is left
	if k.Status.Signaled() {
		ks.endOrphansLocked()
		limit = killLimit
	}
	ks.mu.Unlock()
	if p != nil {
		p.end(limit)
	}
}

// endOrphansLocked ends the processes that a killed supervisor has left behind:
// zkr has become the parent. All of zkr's other children are supervisors.
func (ks *Supervisors) endOrphansLocked() {
	end, stop := cli.NewTimer(killLimit)
	defer stop()
	for {
		left := 0
		for _, pid := range descendants(func(child int) bool { return ks.All[child] == nil }) {
			if !killOrphan(pid) {
				left++
			}
		}
		if left == 0 {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-end:
			return
		}
	}
}

// Pass passes a signal on to the commands.
func (ks *Supervisors) Pass(sig syscall.Signal) {
	if sig == signals.Resize {
		return // they have no terminal
	}
	ks.mu.Lock()
	defer ks.mu.Unlock()
	for _, k := range ks.All {
		_, _ = fmt.Fprintln(k.orders, orderSignal, int(sig)) // an error means that the supervisor is over
	}
}

// Supervised is a command that runs for a resource. A process of its own, the
// supervisor, stands between zkr and the command: the system then knows the
// owner of each descendant, also of descendants that have left the process
// group, and when zkr dies the supervisor ends all of them.
type Supervised struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	Done   chan struct{}      // closed when the supervisor, and all its processes, are gone
	Status syscall.WaitStatus // of the command; to be read after over
}

// Stop makes the supervisor ask the command to end and, if grace is not
// negative, kill the command when grace is over. Stop may be called again with
// a shorter grace.
func (k *Supervised) Stop(grace time.Duration, kills bool) {
	if !kills {
		grace = -1
	}
	_, _ = fmt.Fprintln(k.orders, orderStop, grace) // an error means that the supervisor is over
}

// DescribeEnd is how a command has ended, for people.
func DescribeEnd(status syscall.WaitStatus) string {
	if status.Signaled() {
		return fmt.Sprintf("signal %d", int(status.Signal()))
	}
	return fmt.Sprintf("exit code %d", status.ExitStatus())
}
