package exit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// Failure is an error with an exit code, and advice for people.
type Failure struct {
	Code int
	Err  error
	Hint string
	Mute bool // no message is printed
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error.
func (f *Failure) Unwrap() error { return f.Err }

// Usage is a wrong argument.
func Usage(format string, args ...any) error {
	return &Failure{Code: CodeUsage, Err: fmt.Errorf(format, args...)}
}

// BySignal is the exit of a run that sig has ended.
func BySignal(sig syscall.Signal, format string, args ...any) error {
	return &Failure{Code: CodeSignal + int(sig), Err: fmt.Errorf(format, args...)}
}

// Silent is an exit code without a message.
func Silent(code int) error {
	return &Failure{Code: code, Err: fmt.Errorf("exit code %d", code), Mute: true}
}

// Worst joins the errors of several steps. The exit code is that of the worst
// error, in any order: an unknown outcome comes first, because the user must check
// the outcome before a repetition.
func Worst(all []error) error {
	var worst *Failure
	for _, err := range all {
		if err == nil {
			continue
		}
		if f := Classify(err); worst == nil || isWorse(f.Code, worst.Code) {
			worst = f
		}
	}
	if worst == nil {
		return nil
	}
	return &Failure{Code: worst.Code, Hint: worst.Hint, Err: errors.Join(all...)}
}

// isWorse reports whether code a is worse than b: an unknown outcome first, and
// a conflict with another client last.
func isWorse(a, b int) bool {
	rank := func(code int) int {
		switch code {
		case CodeUnknown:
			return 1000
		case CodeBusy:
			return -1
		}
		return code
	}
	return rank(a) > rank(b)
}

// Classify gives err its exit code.
func Classify(err error) *Failure {
	f := &Failure{Code: CodeFailed, Err: err}
	if errors.As(err, &f) {
		return f
	}
	switch {
	case errors.Is(err, workerctl.ErrNotRemoved) && !errors.Is(err, session.ErrNoAuth):
		// The caller's request was carried out; only the removal afterwards
		// failed.
	case errors.Is(err, session.ErrUnknownOutcome):
		f.Code, f.Hint = CodeUnknown, "check the outcome before you repeat the change: it may have been made"
	case errors.Is(err, session.ErrInvalidArgument):
		f.Code = CodeUsage
	case errors.Is(err, session.ErrTimeoutRefused), errors.Is(err, session.ErrTimeoutTooShort):
		f.Code, f.Hint = CodeUsage, "choose another --session-timeout (ZKR_SESSION_TIMEOUT), or leave it out"
	case errors.Is(err, session.ErrAuthFailed), errors.Is(err, session.ErrNoAuth):
		f.Code, f.Hint = CodeDenied, "credentials come from ZKR_AUTH, --auth-file or --user, as user:password"
	case errors.Is(err, counter.ErrCorrupt):
		f.Hint = "check --format; \"zkr counter set\" replaces the data, whatever it is"
	case errors.Is(err, lock.ErrPermits):
		f.Code, f.Hint = CodeUsage, "all clients of a semaphore must use the same -n"
	case errors.Is(err, barrier.ErrParties):
		f.Code, f.Hint = CodeUsage, "all parties of a barrier must use the same -n"
	case errors.Is(err, rebalanser.ErrMode):
		f.Code, f.Hint = CodeUsage, "all members of a group must use the same --mode, or none"
	case IsBusy(err):
		f.Code = CodeBusy
	case errors.Is(err, session.ErrUnreachable):
		f.Code = CodeUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		f.Code, f.Hint = CodeUnavailable, "no server answered in time: check the ensemble; --connect-timeout sets how long to wait"
	}
	return f
}

// IsBusy reports whether err means that another client has the hold or the name.
func IsBusy(err error) bool {
	return isAny(err, lock.ErrBusy, rwlock.ErrBusy, barrier.ErrTooMany, discovery.ErrConflict, dispatch.ErrConflict, dispatch.ErrFull, node.ErrConflict, rebalanser.ErrInstanceInUse, workerctl.ErrRunning,
		workerctl.ErrFull)
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}
