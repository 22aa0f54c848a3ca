//go:build unix

package apache

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// servesHere reports that this system has the shell, the signals and the
// process groups required to start, pause and clean up servers.
const servesHere = true

// Signals to stop a process and to continue the process.
const (
	signalStop     = syscall.SIGSTOP
	signalContinue = syscall.SIGCONT
)

// ownGroup starts cmd in a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// claimFile locks a file against other processes until closed.
func claimFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
