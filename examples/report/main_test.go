package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// TestMain is the program itself when it is told so.
func TestMain(m *testing.M) {
	if os.Getenv("REPORT") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// run runs the program's work in virtual time, and calls disturb in the middle of it.
func run(t *testing.T, disturb func(server *zktest.Server, stop func())) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, startErr := zktest.Start(&zktest.Options{InMemory: true})
		require.NoError(t, startErr)
		defer server.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error)
		// Waited for below; ends with the work.
		go func() { ended <- nightly(ctx, server.Addr(), &session.Options{Dialer: server.Dial}) }()
		select {
		case <-time.After(3500 * time.Millisecond):
			disturb(server, cancel)
			err = <-ended
		case err = <-ended: // too early
		}
	})
	return err
}

func TestReportIsWritten(t *testing.T) {
	require.NoError(t, run(t, func(s *zktest.Server, _ func()) { require.Equal(t, 1, s.CutAll()) }))
}

func TestReportStopsWhenTheLockIsLost(t *testing.T) {
	err := run(t, func(s *zktest.Server, _ func()) { require.NoError(t, s.ExpireSession(s.Sessions()[0].ID)) })
	require.ErrorIs(t, err, session.ErrLost)
	require.ErrorContains(t, err, "stopped at page 4")
}

func TestReportStopsWhenItIsTold(t *testing.T) {
	err := run(t, func(_ *zktest.Server, stop func()) { stop() })
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "stopped at page 4")
}

// The test of docs/testing.md.
func TestReportUnderEveryFaultAtEveryRequest(t *testing.T) {
	matrix.Run(t, matrix.Case{
		Name: "report",
		Op: func(ctx context.Context, e *matrix.Env) error {
			return nightly(ctx, e.Addrs(), &session.Options{Dialer: e.Dial})
		},
		Check: func(e *matrix.Env) error {
			if e.Err != nil && !errors.Is(e.Err, session.ErrLost) && !errors.Is(e.Err, context.Canceled) {
				return e.Err // it must be written, lost or canceled
			}
			return e.NoChildren("/locks/report", time.Minute)
		},
	})
}

// The first signal lets the work end, which may take as long as the servers are given to
// answer. A second signal ends the program at once.
func TestSecondSignalEndsTheProgramAtOnce(t *testing.T) {
	server, err := zktest.Start(nil)
	require.NoError(t, err)
	defer server.Close()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-servers", server.Addr())
	cmd.Env = append(os.Environ(), "REPORT=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n') // it holds the lock
	require.NoError(t, err)
	require.NoError(t, server.Freeze(1))
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	ended := make(chan struct{})
	// Waited for below; ends with the process.
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	for over := false; !over; {
		select {
		case <-ended:
			over = true
		case <-again.C:
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended just now
		}
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.True(t, status.Signaled(), "%v", cmd.ProcessState)
}

func TestWordsThatAreNoFlagsAreRefused(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "foo")
	cmd.Env = append(os.Environ(), "REPORT=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
	require.Equal(t, "report: unexpected argument \"foo\"\n", string(out))
}
