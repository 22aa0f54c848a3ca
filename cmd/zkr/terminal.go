package main

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

// terminal is the controlling terminal on stdin, if there is one.
type terminal struct {
	fd  uintptr
	own int32 // zkr's process group
	on  bool  // stdin is the controlling terminal
}

func terminalOf(in *os.File) *terminal {
	t := &terminal{fd: in.Fd(), own: int32(syscall.Getpgrp())}
	_, t.on = t.foreground()
	return t
}

// foreground is the process group that has the terminal.
func (t *terminal) foreground() (group int32, ok bool) {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, t.fd, syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	return group, errno == 0
}

// ours reports whether zkr has the terminal.
func (t *terminal) ours() bool {
	group, ok := t.foreground()
	return ok && group == t.own
}

// terminalWidth is how many columns the terminal at f has; 0 if there is none.
func terminalWidth(f *os.File) int {
	var size struct{ rows, columns, _, _ uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0
	}
	return int(size.columns)
}

// give makes group the foreground group.
func (t *terminal) give(group int32) {
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, t.fd, syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&group)))
}

// ignoreStops keeps the terminal from stopping zkr when it writes, or takes the
// terminal back, from the background. To be called after the command has been
// started, which would inherit it.
func (t *terminal) ignoreStops() { signal.Ignore(syscall.SIGTTOU) }

// heedStops takes ignoreStops back before another command is started. Only a
// handler does that: the runtime never sets a signal that was ignored to its
// default again, but it does so in the processes that it starts if there is one.
func (t *terminal) heedStops() { signal.Notify(make(chan os.Signal, 1), syscall.SIGTTOU) }

// controlled reports whether a shell with job control may continue zkr's
// process group when it is stopped: somebody in it has a parent outside it, in
// the same session. Others are orphaned, and stops have no effect on them.
func controlled() bool {
	own := syscall.Getpgrp()
	for pid, ok := os.Getppid(), true; ok && pid > 1; pid, ok = parentOf(pid) {
		if group, err := syscall.Getpgid(pid); err != nil || group != own {
			return err == nil && sessionOf(pid) == sessionOf(0)
		}
	}
	return false
}

// sessionOf is the terminal session of a process; 0 is zkr's own.
func sessionOf(pid int) int {
	id, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	return int(id)
}
