//go:build unix

package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
)

// TestP28SignalWhileWaitingEndsTheWait: museum P28. Ctrl-C, and a manager's TERM,
// while another client has the lock: zkr ends at once, and leaves no znode.
func TestP28SignalWhileWaitingEndsTheWait(t *testing.T) {
	b := newBed(t)
	b.takeLock("/locks/a")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		z := b.start(locked("/locks/a", nil, "echo", "ran")...)
		b.queued("/locks/a", 2)
		z.signal(syscall.SIGUSR1) // means nothing yet
		z.signal(syscall.SIGWINCH)
		sent := time.Now()
		z.signal(sig)
		z.ends(exit.CodeSignal + int(sig))
		assert.Less(t, z.at.Sub(sent), 12*time.Second, "no session timeout has to pass")
		assert.Len(t, b.contenders("/locks/a"), 1, "no znode is left after %v", sig)
		assert.Empty(t, z.out.String(), "the command has not run")
		assert.Contains(t, z.err.String(), "gave up waiting for the lock /locks/a")
	}
}

// TestP28SignalWhileTheServerIsSilent: museum P28. Neither a silent server nor
// a server that hangs up keeps zkr from ending.
func TestP28SignalWhileTheServerIsSilent(t *testing.T) {
	t.Parallel()
	for _, hangsUp := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		z := start(t, command(l.Addr().String(), locked("/a", nil, "true")...))
		c, err := l.Accept() // zkr heeds signals from before the connection
		require.NoError(t, err)
		if hangsUp {
			require.NoError(t, c.Close())
		}
		sent := time.Now()
		z.signal(syscall.SIGTERM)
		z.ends(143)
		assert.Less(t, z.at.Sub(sent), patience/2)
		_ = c.Close()
		require.NoError(t, l.Close())
	}
}

// TestP28SignalWhileTheServerIsGone: the server dies while zkr waits in the
// queue. The signal ends the wait all the same; the znode goes with the session.
func TestP28SignalWhileTheServerIsGone(t *testing.T) {
	b := newBed(t)
	b.takeLock("/locks/a")
	z := b.start(locked("/locks/a", nil, "true")...)
	b.queued("/locks/a", 2)
	sessions := b.srv.Sessions()
	require.Len(t, sessions, 2)
	require.NoError(t, b.srv.Freeze(1))
	sent := time.Now()
	z.signal(syscall.SIGINT)
	z.ends(130)
	assert.Less(t, z.at.Sub(sent), 4*cli.CloseLimit, "its session may end as it likes")
	require.NoError(t, b.srv.Thaw(1))
	for _, s := range sessions {
		_ = b.srv.ExpireSession(s.ID) // the last request of zkr may have closed zkr's own session
	}
	b.queued("/locks/a", 0)
}

// TestP28SignalsReachTheCommandsWholeGroup: museum P28, PD11. While the command
// runs, each signal goes to the command and its children.
func TestP28SignalsReachTheCommandsWholeGroup(t *testing.T) {
	b := newBed(t)
	script := `
		for s in INT TERM HUP QUIT USR1 USR2 WINCH; do trap "echo outer $s" $s; done
		sh -c 'for s in INT TERM HUP QUIT USR1 USR2 WINCH; do trap "echo inner $s" $s; done; echo inner ready; while :; do sleep 0.1; done' &
		while :; do sleep 0.1; done`
	z := b.start(locked("/locks/a", nil, "sh", "-c", script)...)
	z.says("inner ready")
	for name, sig := range map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH,
	} {
		z.signal(sig)
		z.says("outer " + name)
		if name != "INT" && name != "QUIT" { // shells ignore these signals in background processes
			z.says("inner " + name)
		}
	}
	z.running()
	_, znode := b.owner("/locks/a") // still held
	require.NoError(t, b.srv.Delete(znode))
	z.ends(exit.CodeLost)
}

// TestPD11TermEndsTheCommandAndReleasesTheLock: museum PD11.
func TestPD11TermEndsTheCommandAndReleasesTheLock(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(t.TempDir(), "beat")
	z := b.start(locked("/locks/a", nil, os.Args[0], helpBeat, file)...)
	beating(t, file)
	owner, znode := b.owner("/locks/a")
	z.signal(syscall.SIGTERM)
	z.ends(143)
	last := silent(t, file)
	assert.True(t, last.Before(b.freed(owner, znode)))
	assert.Empty(t, b.contenders("/locks/a"))
}

// TestIgnoredSignalsStayIgnored, as with nohup, and in shells that start zkr in
// the background.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	b := newBed(t)
	held := b.takeLock("/locks/a")
	zkr := b.command(locked("/locks/a", nil, "sh", "-c", "kill -HUP $$; echo ran")...)
	cmd := b.command()
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP INT; exec "$0" "$@"`}, zkr.Args...)
	z := start(t, cmd)
	b.queued("/locks/a", 2)
	z.signal(syscall.SIGHUP)
	z.signal(syscall.SIGINT)
	require.NoError(t, held.Unlock(b.ctx))
	z.ends(0).says("ran")
}

func TestUntilSignalTellsWhichSignalCameAndKeepsTheRest(t *testing.T) {
	ch := make(chan os.Signal, 8)
	ctx, stop := signals.UntilSignal(context.Background(), ch)
	ch <- syscall.SIGUSR1
	ch <- syscall.SIGTERM
	<-ctx.Done()
	ch <- syscall.SIGINT
	var by signals.EndedBySignal
	require.ErrorAs(t, stop(), &by)
	assert.Equal(t, syscall.SIGTERM, by.Sig)
	assert.Len(t, ch, 1)

	<-ch
	ctx, stop = signals.UntilSignal(context.Background(), ch)
	require.NoError(t, stop())
	assert.Error(t, ctx.Err())
	ch <- syscall.SIGQUIT
	assert.Len(t, ch, 1, "signals are not taken after stop")

	// A signal together with the result counts: either the watcher takes the
	// signal, or stop finds it.
	_, stop = signals.UntilSignal(context.Background(), ch)
	require.ErrorAs(t, stop(), &by)
	assert.Equal(t, syscall.SIGQUIT, by.Sig)

	outer, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("over"))
	_, stop = signals.UntilSignal(outer, ch)
	assert.ErrorContains(t, stop(), "over")
}
