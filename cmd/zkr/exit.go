package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
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

// gravest joins what went wrong with several things that were done one after the
// other. The exit code is that of the worst, wherever it stands: what may have been
// done comes first, since that is what nobody may repeat unseen.
func gravest(all []error) error {
	var worst *failure
	for _, err := range all {
		if err == nil {
			continue
		}
		if f := classify(err); worst == nil || graver(f.code, worst.code) {
			worst = f
		}
	}
	if worst == nil {
		return nil
	}
	return &failure{code: worst.code, hint: worst.hint, err: errors.Join(all...)}
}

// graver reports whether code a is worse than b: an unknown outcome before all, and
// that nothing but somebody else is in the way after all.
func graver(a, b int) bool {
	rank := func(code int) int {
		switch code {
		case exitUnknown:
			return 1000
		case exitBusy:
			return -1
		}
		return code
	}
	return rank(a) > rank(b)
}

// classify gives err the exit code that it deserves.
func classify(err error) *failure {
	f := &failure{code: exitFailed, err: err}
	if errors.As(err, &f) {
		return f
	}
	switch {
	case errors.Is(err, workerctl.ErrNotRemoved) && !errors.Is(err, session.ErrNoAuth):
		// What was asked for is done, whatever kept the rest from being done.
	case errors.Is(err, session.ErrUnknownOutcome):
		f.code, f.hint = exitUnknown, "look before you repeat it: it may have been done"
	case errors.Is(err, session.ErrInvalidServers), errors.Is(err, session.ErrInvalidOption),
		errors.Is(err, session.ErrInvalidPath), isArgument(err):
		f.code = exitUsage
	case errors.Is(err, session.ErrTimeoutRefused), errors.Is(err, session.ErrTimeoutTooShort):
		f.code, f.hint = exitUsage, "choose another --session-timeout (ZKR_SESSION_TIMEOUT), or leave it out"
	case errors.Is(err, session.ErrAuthFailed), errors.Is(err, session.ErrNoAuth):
		f.code, f.hint = exitDenied, "credentials come from ZKR_AUTH, --auth-file or --user, as user:password"
	case errors.Is(err, counter.ErrCorrupt):
		f.hint = "is --format right? \"zkr counter set\" replaces whatever is there"
	case errors.Is(err, lock.ErrPermits):
		f.code, f.hint = exitUsage, "all who use a semaphore must say the same -n"
	case errors.Is(err, barrier.ErrParties):
		f.code, f.hint = exitUsage, "all who use a barrier must say the same -n"
	case errors.Is(err, rebalanser.ErrMode):
		f.code, f.hint = exitUsage, "all members of a group must say the same --mode, or none"
	case busy(err):
		f.code = exitBusy
	case errors.Is(err, session.ErrUnreachable):
		f.code = exitUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		f.code, f.hint = exitUnavailable, "no server answered in time; is the ensemble healthy? --connect-timeout says how long to wait"
	}
	return f
}

// isArgument reports whether a package says that an argument is none.
func isArgument(err error) bool {
	return isAny(err, barrier.ErrArgument, cache.ErrArgument, counter.ErrArgument, discovery.ErrArgument, dispatch.ErrArgument, election.ErrArgument,
		lock.ErrArgument, rebalanser.ErrArgument, rwlock.ErrArgument, workerctl.ErrArgument)
}

// busy reports whether err says that somebody else has it.
func busy(err error) bool {
	return isAny(err, lock.ErrBusy, rwlock.ErrBusy, barrier.ErrTooMany, discovery.ErrConflict, dispatch.ErrConflict, dispatch.ErrFull, rebalanser.ErrInstanceInUse, workerctl.ErrRunning,
		workerctl.ErrFull)
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
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
		line, _ := encode(struct {
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
