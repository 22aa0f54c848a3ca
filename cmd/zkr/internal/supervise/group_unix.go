//go:build unix

package supervise

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/zkrecipes/zkrecipes/internal/subprocess"
)

// startGroup starts argv in a process group of its own. The calling goroutine
// must be locked to its thread until the command has ended: Linux kills the
// command with the thread that started the command.
func startGroup(argv, env []string, in, out, errs *os.File) (*group, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, in, out, errs
	subprocess.OwnGroup(cmd)
	DieWithParent(cmd.SysProcAttr)
	AdoptOrphans()
	if err := cmd.Start(); err != nil {
		return nil, cannotRun(argv[0], err)
	}
	g := &group{
		processGroup: processGroup{cmd.Process.Pid}, exited: make(chan syscall.WaitStatus, 1),
		stopped: make(chan syscall.Signal, 1), reaped: make(chan struct{}),
	}
	// The reaper waits for the command, and for orphans, by process id.
	_ = cmd.Process.Release()
	// Waited for through reaped; ends when this process has no child left, at
	// the latest with the process.
	g.reaper.Go(g.reap)
	return g, nil
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
			default: // the last stop has not been handled yet
			}
		default:
			g.exited <- status
		}
	}
}

// signal sends sig to the whole group. An error means that no process is left.
func (g processGroup) signal(sig syscall.Signal) error { return syscall.Kill(-g.id, sig) }

// alive reports whether a process of the group is left.
func (g processGroup) alive() bool { return !errors.Is(g.signal(0), syscall.ESRCH) }

// survive says why killed processes are left.
func (g processGroup) survive() string {
	if errors.Is(g.signal(0), syscall.EPERM) {
		return "belong to another user, and zkr may not kill them"
	}
	return "hang in the kernel, and end when the kernel lets them run"
}

// killOrphan kills a child of zkr, and reports whether the child is gone.
func killOrphan(pid int) (gone bool) {
	_ = syscall.Kill(pid, syscall.SIGKILL)
	reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return err == nil && reaped == pid
}
