package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Exit codes of zkr itself. Those from 64 on are sysexits' numbers, which few
// commands use; a command under "zkr lock" may use them all the same.
const (
	exitFailed      = 1   // anything else; demo: an invariant did not hold
	exitUsage       = 64  // wrong arguments
	exitUnavailable = 69  // no server could be reached
	exitBusy        = 75  // not acquired in time, or busy with --try
	exitLost        = 76  // lost while the command ran; the command was killed
	exitDenied      = 77  // the servers refuse the credentials, or the znode's ACL does
	exitCannotRun   = 126 // the command exists and cannot be run
	exitNotFound    = 127 // there is no such command
	exitSignal      = 128 // plus the number of the signal that ended the command, or the wait
)

// failure is an error with an exit code, and advice for people.
type failure struct {
	code int
	err  error
	hint string
	mute bool // the command has said all there is to say
}

func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the error.
func (f *failure) Unwrap() error { return f.err }

// usage is a wrong argument.
func usage(format string, args ...any) error {
	return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// signaled is the exit of somebody whom sig ended.
func signaled(sig syscall.Signal, format string, args ...any) error {
	return &failure{code: exitSignal + int(sig), err: fmt.Errorf(format, args...)}
}

// quietly is an exit code that needs no words.
func quietly(code int) error {
	return &failure{code: code, err: fmt.Errorf("exit code %d", code), mute: true}
}

// classify gives err the exit code that it deserves.
func classify(err error) *failure {
	f := &failure{code: exitFailed, err: err}
	if errors.As(err, &f) {
		return f
	}
	switch {
	case errors.Is(err, session.ErrInvalidServers), errors.Is(err, session.ErrInvalidOption),
		errors.Is(err, session.ErrInvalidPath), errors.Is(err, lock.ErrArgument):
		f.code = exitUsage
	case errors.Is(err, session.ErrTimeoutRefused), errors.Is(err, session.ErrTimeoutTooShort):
		f.code, f.hint = exitUsage, "choose another --session-timeout (ZKR_SESSION_TIMEOUT), or leave it out"
	case errors.Is(err, session.ErrAuthFailed), errors.Is(err, session.ErrNoAuth):
		f.code, f.hint = exitDenied, "credentials come from ZKR_AUTH, --auth-file or --user, as user:password"
	case errors.Is(err, lock.ErrPermits):
		f.code, f.hint = exitUsage, "all who use a semaphore must say the same -n"
	case errors.Is(err, lock.ErrBusy):
		f.code = exitBusy
	case errors.Is(err, session.ErrUnreachable):
		f.code = exitUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		f.code, f.hint = exitUnavailable, "no server answered in time; is the ensemble healthy? --connect-timeout says how long to wait"
	}
	return f
}

// report tells people, or with JSON programs, what went wrong, and returns the
// exit code.
func report(w io.Writer, asJSON bool, err error) int {
	if err == nil {
		return 0
	}
	f := classify(err)
	switch {
	case f.mute:
	case asJSON:
		line, _ := json.Marshal(struct {
			Error string `json:"error"`
			Code  int    `json:"code"`
			Hint  string `json:"hint,omitempty"`
		}{err.Error(), f.code, f.hint})
		fmt.Fprintf(w, "%s\n", line)
	default:
		fmt.Fprintf(w, "zkr: %v\n", err)
		if f.hint != "" {
			fmt.Fprintf(w, "zkr: %s\n", f.hint)
		}
	}
	return f.code
}
