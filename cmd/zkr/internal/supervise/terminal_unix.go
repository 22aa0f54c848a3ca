//go:build unix

package supervise

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal on stdin, if there is one.
type terminal struct {
	fd  int
	own int  // zkr's process group
	on  bool // stdin is the controlling terminal
}

func terminalOf(in *os.File) *terminal {
	t := &terminal{fd: int(in.Fd()), own: unix.Getpgrp()}
	_, t.on = t.foreground()
	return t
}

// foreground returns the process group that has the terminal.
func (t *terminal) foreground() (group int, ok bool) {
	group, err := foregroundGroup(t.fd)
	return group, err == nil
}

// ours reports whether zkr has the terminal.
func (t *terminal) ours() bool {
	group, ok := t.foreground()
	return ok && group == t.own
}

// give makes group the foreground group.
func (t *terminal) give(group int) {
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) // the terminal may be gone
}

// ignoreStops keeps the terminal from stopping zkr when zkr writes, or takes
// the terminal back, from the background. To be called after the start of the
// command, which would inherit the setting.
func (t *terminal) ignoreStops() { signal.Ignore(unix.SIGTTOU) }

// heedStops undoes ignoreStops before the next command is started. Only a
// handler can: the runtime never resets an ignored signal to its default,
// except in started processes if there is a handler.
func (t *terminal) heedStops() { signal.Notify(make(chan os.Signal, 1), unix.SIGTTOU) }

// stopJob stops zkr's process group, as the terminal would.
func stopJob() { _ = unix.Kill(0, unix.SIGTSTP) }
