//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// holding are the commands that run another command under a hold that can be
// lost, all below /x. path is the folder of their znode.
//
// read only
var holding = map[string]struct {
	args []string
	path string
}{
	"barrier":      {[]string{"barrier", "enter", "/x", "-n", "1"}, "/x"},
	"elect":        {[]string{"elect", "/x"}, "/x"},
	"rwlock read":  {[]string{"rwlock", "read", "/x"}, "/x"},
	"rwlock write": {[]string{"rwlock", "write", "/x"}, "/x"},
}

// running is a command line that runs argv, with the longest session: only a
// test ends the session.
func running(args []string, argv ...string) []string { return under(longest, grace, args, argv...) }

// losing is running with a session that does not last long without its server,
// but is not lost to a busy machine either: the hold outlasts a silence of
// eight seconds. When the command is killed, the server keeps the session for
// five seconds more, of which a busy machine needs a part.
func losing(args []string, argv ...string) []string {
	return under(16*time.Second, grace, args, argv...)
}

// grace is the time between TERM and KILL in tests of other things.
const grace = 500 * time.Millisecond

// under runs argv under a session of that timeout.
func under(timeout, grace time.Duration, args []string, argv ...string) []string {
	out := append([]string{args[0]}, args[1:]...)
	flags := []string{"--session-timeout", timeout.String(), "--grace", grace.String()}
	return append(append(append(out, flags...), "--"), argv...)
}

// TestCommandIsGoneBeforeALostHoldIsGranted to another client: the command ignores
// TERM, and its zkr is cut off.
func TestCommandIsGoneBeforeALostHoldIsGranted(t *testing.T) {
	t.Parallel()
	for name, c := range holding {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			beat := filepath.Join(t.TempDir(), "beat")
			z := b.start(losing(c.args, stubbornFamily(beat)...)...)
			beating(t, beat+".child")
			owner, znode := b.owner(c.path)
			b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
			z.ends(exit.CodeLost)
			freed := b.freed(owner, znode)
			for _, file := range []string{beat + ".child", beat + ".parent"} {
				assert.Positive(t, freed.Sub(silent(t, file)), "the last beat is before the next grant")
			}
			assert.Contains(t, z.err.String(), "KILL after 500ms")
			assert.Contains(t, z.err.String(), "trust ran out")
		})
	}
}

// TestTermComesOnce to each process, in the group and outside: to many programs
// a second TERM means to hurry.
func TestTermComesOnce(t *testing.T) {
	b := newBed(t)
	script := fmt.Sprintf(`setsid %q %s daemon & exec %q %s command`, os.Args[0], helpCount, os.Args[0], helpCount)
	z := b.start(under(20*time.Second, 4*time.Second, []string{"elect", "/x"}, "sh", "-c", script)...)
	z.says("daemon in")
	z.says("command in")
	owner, _ := b.owner("/x")
	b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
	z.ends(exit.CodeLost)
	out := z.out.String()
	assert.Equal(t, 1, strings.Count(out, "command asked\n"), out)
	assert.Equal(t, 1, strings.Count(out, "daemon asked\n"), out)
}

// TestUnreadNoteStopsNothing: stderr is a pipe without a reader when zkr has to report
// the loss of the lock.
func TestUnreadNoteStopsNothing(t *testing.T) {
	b := newBed(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	beat := filepath.Join(t.TempDir(), "beat")
	cmd := b.command(losing([]string{"lock", "/x"}, stubbornFamily(beat)...)...)
	cmd.Stderr = w
	z := start(t, cmd)
	require.NoError(t, w.Close())
	require.NoError(t, r.Close())
	beating(t, beat+".child")
	owner, znode := b.owner("/x")
	b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
	z.ends(exit.CodeLost)
	freed := b.freed(owner, znode)
	for _, file := range []string{beat + ".child", beat + ".parent"} {
		assert.True(t, silent(t, file).Before(freed))
	}
}

// TestDeletedHoldLeavesNoGrace: an administrator deletes the znode.
func TestDeletedHoldLeavesNoGrace(t *testing.T) {
	t.Parallel()
	for name, c := range holding {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			beat := filepath.Join(t.TempDir(), "beat")
			z := b.start(running(c.args, stubbornFamily(beat)...)...)
			beating(t, beat+".child")
			_, znode := b.owner(c.path)
			at := time.Now()
			require.NoError(t, b.srv.Delete(znode))
			z.ends(exit.CodeLost)
			assert.Less(t, silent(t, beat+".child").Sub(at), 12*time.Second, "before trust in the session would end")
			assert.Contains(t, z.err.String(), "KILL after 0s")
			assert.Contains(t, z.err.String(), "its znode was deleted")
		})
	}
}

// TestHoldIsGivenBackWithTheCommandsCode, and a command that cannot run delays no other
// client.
func TestHoldIsGivenBackWithTheCommandsCode(t *testing.T) {
	t.Parallel()
	for name, c := range holding {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			z := b.run(running(c.args, "sh", "-c", "exit 42")...).ends(42)
			assert.Empty(t, z.err.String())
			assert.Empty(t, b.contenders(c.path))
			b.run(running(c.args, "/no/such/command")...).ends(exit.CodeNotFound)
			assert.Empty(t, b.contenders(c.path))
		})
	}
}

// environmentOf runs a command that prints its environment.
func environmentOf(b *bed, args []string) map[string]string {
	b.Helper()
	z := b.run(running(args, "sh", "-c", "env; sleep 0")...).ends(0)
	out := map[string]string{}
	for line := range strings.Lines(z.out.String()) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.HasPrefix(key, "ZKR_") && !ofTests(key) {
			out[key] = value
		}
	}
	return out
}

// created requires that env names a created znode, with its session and token.
func created(b *bed, env map[string]string, prefix string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, txn := range b.applied {
		if len(txn.Paths) == 1 && txn.Paths[0] == env[prefix+"_PATH"] && strings.HasPrefix(txn.Op, "create") {
			assert.Equal(b, fmt.Sprintf("%#x", txn.Session), env[prefix+"_SESSION"])
			if token, ok := env[prefix+"_TOKEN"]; ok {
				assert.Equal(b, fmt.Sprint(txn.Zxid), token)
			}
			return
		}
	}
	b.Errorf("no client has made %s", env[prefix+"_PATH"])
}

// TestAgainRunsTheCommandAgainAfterALoss: in the next session, with a greater
// token; the first command is dead by then.
func TestAgainRunsTheCommandAgainAfterALoss(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	script := fmt.Sprintf(`echo "leads $ZKR_LEADER_TOKEN"; trap "" TERM; exec %q %s %s/$ZKR_LEADER_TOKEN stubborn`, os.Args[0], helpBeat, dir)
	z := b.start(running([]string{"elect", "/e", "--again", "--id", "me"}, "sh", "-c", script)...)
	file := func(owner string) string { return filepath.Join(dir, owner) }
	token := func() string {
		_, znode := b.owner("/e")
		node, err := b.srv.Get(znode)
		require.NoError(t, err)
		return fmt.Sprint(node.Czxid)
	}
	first := token()
	beating(t, file(first))
	owner, _ := b.owner("/e")
	require.NoError(t, b.srv.ExpireSession(owner))
	eventually(t, func() bool { return strings.Count(z.out.String(), "leads ") >= 2 }, "it leads again")
	second := token()
	beating(t, file(second))
	assert.True(t, silent(t, file(first)).Before(beats(t, file(second))[0]))
	z.warns("waiting for it again")

	// The znode alone: the session stays, and is used again.
	owner, znode := b.owner("/e")
	require.NoError(t, b.srv.Delete(znode))
	eventually(t, func() bool { return strings.Count(z.out.String(), "leads ") >= 3 }, "it leads once more")
	again, _ := b.owner("/e")
	assert.Equal(t, owner, again)
	third := token()
	beating(t, file(third))

	z.signal(9)
	z.wait()
	silent(t, file(third))
}

// TestAgainEndsWithASignal: while zkr waits, and when the signal was for the
// command that is lost right after.
func TestAgainEndsWithASignal(t *testing.T) {
	b := newBed(t)
	args := []string{"elect", "/e", "--again"}
	z := b.start(running(args, "sh", "-c", `trap 'echo asked' TERM; echo in; while :; do sleep 0.1; done`)...)
	z.says("in")
	z.signal(15)
	z.says("asked")
	_, znode := b.owner("/e")
	require.NoError(t, b.srv.Delete(znode))
	z.ends(exit.CodeLost)

	z = b.start(running(args, "sh", "-c", `echo in; exec sleep 1000`)...)
	z.says("in")
	_, znode = b.owner("/e")
	other := b.start(running([]string{"elect", "/e"}, "sleep", "1000")...)
	b.queued("/e", 2)
	require.NoError(t, b.srv.Delete(znode))
	eventually(t, func() bool { return strings.Contains(z.err.String(), "waiting for it again") }, "it waits")
	b.queued("/e", 2)
	z.signal(15)
	z.ends(143)
	assert.Contains(t, z.err.String(), "gave up waiting for the leadership of /e")
	b.queued("/e", 1)
	other.running()
}

// TestAgainPassesACommandsEndOn: the end of a command is not a loss, with any code.
func TestAgainPassesACommandsEndOn(t *testing.T) {
	b := newBed(t)
	for _, code := range []int{0, 1, exit.CodeLost} {
		z := b.run(running([]string{"elect", "/e", "--again"}, "sh", "-c", fmt.Sprintf("echo ran; exit %d", code))...).ends(code)
		assert.Equal(t, "ran\n", z.out.String())
	}
}
