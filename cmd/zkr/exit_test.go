package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		{errors.New("anything"), exitFailed},
		{usage("wrong"), exitUsage},
		{session.ErrInvalidServers, exitUsage},
		{session.ErrInvalidOption, exitUsage},
		{session.ErrInvalidPath, exitUsage},
		{lock.ErrArgument, exitUsage},
		{session.ErrTimeoutRefused, exitUsage},
		{session.ErrTimeoutTooShort, exitUsage},
		{lock.ErrPermits, exitUsage},
		{session.ErrUnreachable, exitUnavailable},
		{context.DeadlineExceeded, exitUnavailable},
		{lock.ErrBusy, exitBusy},
		{rwlock.ErrBusy, exitBusy},
		{barrier.ErrTooMany, exitBusy},
		{discovery.ErrConflict, exitBusy},
		{barrier.ErrArgument, exitUsage},
		{cache.ErrArgument, exitUsage},
		{counter.ErrArgument, exitUsage},
		{discovery.ErrArgument, exitUsage},
		{election.ErrArgument, exitUsage},
		{rwlock.ErrArgument, exitUsage},
		{barrier.ErrParties, exitUsage},
		{barrier.ErrRecord, exitFailed},
		{counter.ErrCorrupt, exitFailed},
		{counter.ErrOverflow, exitFailed},
		{rebalanser.ErrArgument, exitUsage},
		{rebalanser.ErrMode, exitUsage},
		{rebalanser.ErrInstanceInUse, exitBusy},
		{rebalanser.ErrNoGroup, exitFailed},
		{rebalanser.ErrRecord, exitFailed},
		{workerctl.ErrArgument, exitUsage},
		{workerctl.ErrRunning, exitBusy},
		{workerctl.ErrFull, exitBusy},
		{workerctl.ErrNoJob, exitFailed},
		{workerctl.ErrOver, exitFailed},
		{workerctl.ErrRecord, exitFailed},
		{workerctl.ErrNotRemoved, exitFailed},
		{errors.Join(workerctl.ErrNotRemoved, session.ErrUnknownOutcome, context.DeadlineExceeded), exitFailed},
		{errors.Join(workerctl.ErrNotRemoved, session.ErrNoAuth), exitDenied},
		{dispatch.ErrArgument, exitUsage},
		{dispatch.ErrFull, exitBusy},
		{dispatch.ErrConflict, exitBusy},
		{dispatch.ErrNoTask, exitFailed},
		{dispatch.ErrState, exitFailed},
		{session.ErrNoNode, exitFailed},
		{session.ErrUnknownOutcome, exitUnknown},
		{&session.UnknownOutcomeError{Op: "set", Path: "/a", Reason: context.DeadlineExceeded}, exitUnknown},
		{session.ErrAuthFailed, exitDenied},
		{session.ErrNoAuth, exitDenied},
		{signaled(syscall.SIGHUP, "hung up"), 129},
		{quietly(42), 42},
		{&failure{code: exitLost, err: session.ErrLost}, exitLost},
		// The one that was chosen counts, not what it wraps.
		{&failure{code: exitBusy, err: context.DeadlineExceeded}, exitBusy},
		{errors.Join(&failure{code: exitNotFound, err: errors.New("no such command")}, session.ErrLost), exitNotFound},
	} {
		assert.Equal(t, c.code, classify(c.err).code, c.err)
		assert.Equal(t, c.code, classify(fmt.Errorf("operation: %w", c.err)).code, c.err)
		assert.Equal(t, c.code, classify(unmark(marked{c.err})).code, c.err)
	}
}

func TestReportSaysWhatAndWhatToDo(t *testing.T) {
	var out bytes.Buffer
	err := &failure{code: exitBusy, err: errors.New(`it is "taken"`), hint: "wait"}
	require.Equal(t, exitBusy, report(&out, false, err))
	assert.Equal(t, "zkr: it is \"taken\"\nzkr: wait\n", out.String())

	out.Reset()
	require.Equal(t, exitBusy, report(&out, true, err))
	var got map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	assert.Equal(t, map[string]any{"error": `it is "taken"`, "code": 75.0, "hint": "wait"}, got)

	out.Reset()
	require.Equal(t, 0, report(&out, false, nil))
	require.Equal(t, 3, report(&out, true, quietly(3)))
	assert.Empty(t, out.String())
}

func TestExitOfACommandIsItsCodeOrItsSignal(t *testing.T) {
	code := func(status syscall.WaitStatus) int {
		err := exitOf(status)
		if err == nil {
			return 0
		}
		return classify(err).code
	}
	assert.Equal(t, 0, code(0))
	assert.Equal(t, 7, code(7<<8))
	assert.Equal(t, 255, code(255<<8))
	assert.Equal(t, 137, code(syscall.WaitStatus(syscall.SIGKILL)))
	assert.Equal(t, 139, code(syscall.WaitStatus(syscall.SIGSEGV)|0x80), "with a core dump")
}

// TestSeveralFailuresExitWithTheGravest, in whatever order they come.
func TestSeveralFailuresExitWithTheGravest(t *testing.T) {
	unknown, denied := fmt.Errorf("a: %w", session.ErrUnknownOutcome), fmt.Errorf("b: %w", session.ErrNoAuth)
	taken, advised := fmt.Errorf("c: %w", dispatch.ErrConflict), &failure{code: exitFailed, err: errors.New("d"), hint: "look"}
	for _, c := range []struct {
		code int
		all  []error
	}{
		{exitUnknown, []error{unknown, denied, nil, taken, advised}}, {exitDenied, []error{denied, taken, advised, nil}},
		{exitFailed, []error{advised, taken}}, {exitBusy, []error{nil, taken}},
	} {
		for range c.all {
			c.all = append(c.all[1:], c.all[0])
			back := slices.Clone(c.all)
			slices.Reverse(back)
			for _, list := range [][]error{c.all, back} {
				f := classify(gravest(list))
				assert.Equal(t, c.code, f.code, list)
				for _, err := range list {
					if err != nil {
						assert.ErrorIs(t, f, err)
					}
				}
			}
		}
	}
	assert.NoError(t, gravest([]error{nil, nil}))
}
