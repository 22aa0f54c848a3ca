package apache

import (
	"os"
	"os/exec"
	"syscall"
)

// servesHere reports that Windows lacks the shell and the signals required to
// pause and clean up servers. A running ensemble can be used.
const servesHere = false

// Windows has no signals to stop and continue a process; these are refused.
const (
	signalStop     = syscall.Signal(0x13)
	signalContinue = syscall.Signal(0x12)
)

// ownGroup starts cmd in a process group of its own, out of reach of Ctrl-C.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// claimFile locks a file against other processes until closed: an unshared file
// cannot be opened twice.
func claimFile(name string) (*os.File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "claim", Path: name, Err: err}
	}
	return os.NewFile(uintptr(h), name), nil
}
