//go:build unix

package exit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
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

// TestEveryErrorHasItsExitCode, however deep it is wrapped.
func TestEveryErrorHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{errors.New("anything"), CodeFailed},
		{Usage("wrong"), CodeUsage},
		{session.ErrInvalidServers, CodeUsage},
		{session.ErrInvalidOption, CodeUsage},
		{session.ErrInvalidPath, CodeUsage},
		{lock.ErrInvalidArgument, CodeUsage},
		{session.ErrTimeoutRefused, CodeUsage},
		{session.ErrTimeoutTooShort, CodeUsage},
		{lock.ErrPermits, CodeUsage},
		{session.ErrUnreachable, CodeUnavailable},
		{context.DeadlineExceeded, CodeUnavailable},
		{lock.ErrBusy, CodeBusy},
		{rwlock.ErrBusy, CodeBusy},
		{barrier.ErrTooMany, CodeBusy},
		{discovery.ErrConflict, CodeBusy},
		{barrier.ErrInvalidArgument, CodeUsage},
		{cache.ErrInvalidArgument, CodeUsage},
		{counter.ErrInvalidArgument, CodeUsage},
		{discovery.ErrInvalidArgument, CodeUsage},
		{election.ErrInvalidArgument, CodeUsage},
		{rwlock.ErrInvalidArgument, CodeUsage},
		{barrier.ErrParties, CodeUsage},
		{barrier.ErrRecord, CodeFailed},
		{counter.ErrCorrupt, CodeFailed},
		{counter.ErrOverflow, CodeFailed},
		{rebalanser.ErrInvalidArgument, CodeUsage},
		{rebalanser.ErrMode, CodeUsage},
		{rebalanser.ErrInstanceInUse, CodeBusy},
		{rebalanser.ErrNoGroup, CodeFailed},
		{rebalanser.ErrRecord, CodeFailed},
		{workerctl.ErrInvalidArgument, CodeUsage},
		{workerctl.ErrRunning, CodeBusy},
		{workerctl.ErrFull, CodeBusy},
		{workerctl.ErrNoJob, CodeFailed},
		{workerctl.ErrOver, CodeFailed},
		{workerctl.ErrRecord, CodeFailed},
		{workerctl.ErrNotRemoved, CodeFailed},
		{errors.Join(workerctl.ErrNotRemoved, session.ErrUnknownOutcome, context.DeadlineExceeded), CodeFailed},
		{errors.Join(workerctl.ErrNotRemoved, session.ErrNoAuth), CodeDenied},
		{dispatch.ErrInvalidArgument, CodeUsage},
		{dispatch.ErrFull, CodeBusy},
		{dispatch.ErrConflict, CodeBusy},
		{dispatch.ErrNoTask, CodeFailed},
		{dispatch.ErrState, CodeFailed},
		{session.ErrNoNode, CodeFailed},
		{session.ErrUnknownOutcome, CodeUnknown},
		{&session.UnknownOutcomeError{Op: "set", Path: "/a", Reason: context.DeadlineExceeded}, CodeUnknown},
		{session.ErrAuthFailed, CodeDenied},
		{session.ErrNoAuth, CodeDenied},
		{BySignal(syscall.SIGHUP, "hung up"), 129},
		{Silent(42), 42},
		{&Failure{Code: CodeLost, Err: session.ErrLost}, CodeLost},
		// The chosen code counts, not the wrapped error.
		{&Failure{Code: CodeBusy, Err: context.DeadlineExceeded}, CodeBusy},
		{errors.Join(&Failure{Code: CodeNotFound, Err: errors.New("no such command")}, session.ErrLost), CodeNotFound},
	} {
		assert.Equal(t, c.code, Classify(c.err).Code, c.err)
		assert.Equal(t, c.code, Classify(fmt.Errorf("operation: %w", c.err)).Code, c.err)
		assert.Equal(t, c.code, Classify(c.err).Code, c.err)
	}
}

// TestSeveralFailuresExitWithTheGravest, in whatever order they come.
func TestSeveralFailuresExitWithTheGravest(t *testing.T) {
	unknown, denied := fmt.Errorf("a: %w", session.ErrUnknownOutcome), fmt.Errorf("b: %w", session.ErrNoAuth)
	taken, advised := fmt.Errorf("c: %w", dispatch.ErrConflict), &Failure{Code: CodeFailed, Err: errors.New("d"), Hint: "look"}
	for _, c := range []struct {
		code int
		all  []error
	}{
		{CodeUnknown, []error{unknown, denied, nil, taken, advised}}, {CodeDenied, []error{denied, taken, advised, nil}},
		{CodeFailed, []error{advised, taken}}, {CodeBusy, []error{nil, taken}},
	} {
		for range c.all {
			c.all = append(c.all[1:], c.all[0])
			back := slices.Clone(c.all)
			slices.Reverse(back)
			for _, list := range [][]error{c.all, back} {
				f := Classify(Worst(list))
				assert.Equal(t, c.code, f.Code, list)
				for _, err := range list {
					if err != nil {
						assert.ErrorIs(t, f, err)
					}
				}
			}
		}
	}
	assert.NoError(t, Worst([]error{nil, nil}))
}
