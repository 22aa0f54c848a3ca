//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stubbornFamily is a shell that ignores TERM, with a child that does. All
// write into files that begin with name.
func stubbornFamily(name string) []string {
	script := fmt.Sprintf(`trap "" TERM; %q %s %s.child stubborn & %q %s %s.parent stubborn`,
		os.Args[0], helpBeat, name, os.Args[0], helpBeat, name)
	return []string{"sh", "-c", script}
}

// TestP27CommandIsGoneBeforeTheServerGrantsToOthers: museum P27, P26, PD11. In
// every fault that takes the session away from a running zkr, all processes of
// a command that ignores TERM are dead before the server removes the znode, by
// the times that the server and the command wrote down.
func TestP27CommandIsGoneBeforeTheServerGrantsToOthers(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(b *bed, owner int64) (undo func()){
		"black hole": func(b *bed, owner int64) func() {
			b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
			return func() {}
		},
		"requests are lost": func(b *bed, owner int64) func() {
			b.srv.BlackHole(zktest.Link{Session: owner}, zktest.ToServer)
			return func() {}
		},
		"answers are lost": func(b *bed, owner int64) func() {
			return b.srv.OnRequest(func(r zktest.Request) zktest.Action {
				if r.Session == owner {
					return zktest.Action{Do: zktest.DropReplyHole}
				}
				return zktest.Action{}
			})
		},
		"the server is frozen": func(b *bed, _ int64) func() {
			require.NoError(b, b.srv.Freeze(1))
			return func() { require.NoError(b, b.srv.Thaw(1)) }
		},
		"the server is down": func(b *bed, _ int64) func() {
			require.NoError(b, b.srv.Stop(1))
			return func() { require.NoError(b, b.srv.Restart(1)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			beat := filepath.Join(t.TempDir(), "beat")
			z := b.start(losing([]string{"lock", "/locks/a"}, stubbornFamily(beat)...)...)
			beating(t, beat+".child")
			beating(t, beat+".parent")
			owner, znode := b.owner("/locks/a")
			undo := fault(b, owner)
			z.ends(exit.CodeLost)
			undo()
			freed := b.freed(owner, znode)
			for _, file := range []string{beat + ".child", beat + ".parent"} {
				last := silent(t, file)
				assert.Positive(t, freed.Sub(last), "the last beat is before the next grant")
				t.Logf("%s: gone %v before the next grant", filepath.Ext(file), freed.Sub(last).Round(time.Millisecond))
			}
			assert.Contains(t, z.err.String(), "KILL after 500ms")
			assert.Contains(t, z.err.String(), "trust ran out")
		})
	}
}

// TestLosingCommandHasTheGraceToEndByItself: TERM first, while the lock still
// exists; a command that heeds TERM is not killed.
func TestLosingCommandHasTheGraceToEndByItself(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(t.TempDir(), "beat")
	script := fmt.Sprintf(`trap 'echo clean-up; sleep 0.2; echo done; exit 0' TERM; %q %s %s & echo ready; while :; do sleep 0.1; done`, os.Args[0], helpBeat, file)
	z := b.start(under(20*time.Second, 4*time.Second, []string{"lock", "/locks/a"}, "sh", "-c", script)...)
	z.says("ready")
	beating(t, file)
	owner, znode := b.owner("/locks/a")
	b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
	z.ends(exit.CodeLost)
	assert.Contains(t, z.out.String(), "clean-up\ndone\n")
	assert.True(t, silent(t, file).Before(b.freed(owner, znode)))
}

// TestStoppedCommandIsEndedToo: a stopped command cannot heed TERM.
func TestStoppedCommandIsEndedToo(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	z := b.start(losing([]string{"lock", "/locks/a"}, "sh", "-c", "echo $$ > "+dir+"/pid; kill -STOP $$; echo went on")...)
	pid := pidIn(t, dir+"/pid")
	eventually(t, func() bool { return procState(t, pid) == "T" }, "the command is stopped")
	owner, _ := b.owner("/locks/a")
	b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
	z.ends(exit.CodeLost)
	assert.True(t, dead(t, pid))
	assert.NotContains(t, z.out.String(), "went on", "TERM comes before it is continued")
}

// TestP26DescendantsInOtherGroupsDieWithALostLock: museum P26 and beyond: a
// daemon has left the group and the session, and its parent has ended.
func TestP26DescendantsInOtherGroupsDieWithALostLock(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(t.TempDir(), "beat")
	script := fmt.Sprintf(`%q %s %s; while :; do sleep 0.1; done`, os.Args[0], helpDaemon, file)
	z := b.start(losing([]string{"lock", "/locks/a"}, "sh", "-c", script)...)
	beating(t, file)
	owner, znode := b.owner("/locks/a")
	b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
	z.ends(exit.CodeLost)
	assert.True(t, silent(t, file).Before(b.freed(owner, znode)))
}

// TestLockThatIsGoneAlreadyLeavesNoGrace: an administrator deletes the znode,
// or expires the session. Other clients are let in at that moment, and zkr can
// only be quick.
func TestLockThatIsGoneAlreadyLeavesNoGrace(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(b *bed, owner int64, znode string){
		"deleted": func(b *bed, _ int64, znode string) { require.NoError(b, b.srv.Delete(znode)) },
		"expired": func(b *bed, owner int64, _ string) { require.NoError(b, b.srv.ExpireSession(owner)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			beat := filepath.Join(t.TempDir(), "beat")
			const grace = 9 * time.Second
			z := b.start(under(longest, grace, []string{"lock", "/locks/a"}, stubbornFamily(beat)...)...)
			beating(t, beat+".child")
			owner, znode := b.owner("/locks/a")
			at := time.Now()
			take(b, owner, znode)
			z.ends(exit.CodeLost)
			late := silent(t, beat+".child").Sub(at)
			assert.Less(t, late, grace)
			assert.Contains(t, z.err.String(), "KILL after 0s")
			t.Logf("gone %v after the loss", late.Round(time.Millisecond))
		})
	}
}

// TestLockDelayCoversALockThatIsGoneAlready: with --lock-delay the next holder
// waits, and the command is gone before.
func TestLockDelayCoversALockThatIsGoneAlready(t *testing.T) {
	const delay = 5 * time.Second
	b := newBed(t)
	beat := filepath.Join(t.TempDir(), "beat")
	z := b.start(locked("/locks/a", []string{"--lock-delay", delay.String()}, stubbornFamily(beat)...)...)
	beating(t, beat+".child")
	owner, _ := b.owner("/locks/a")
	next := make(chan time.Time, 1)
	client := b.client()
	// Waited for through next; ends with the grant, or the test's context.
	go func() {
		h, err := lock.New(client, "/locks/a", &lock.Options{LockDelay: delay}).Lock(b.ctx)
		if assert.NoError(t, err) {
			next <- time.Now()
			_ = h.Unlock(b.ctx)
		}
	}()
	b.queued("/locks/a", 2)
	at := time.Now()
	require.NoError(t, b.srv.ExpireSession(owner))
	z.ends(exit.CodeLost)
	granted := <-next
	assert.True(t, silent(t, beat+".child").Before(granted))
	assert.GreaterOrEqual(t, granted.Sub(at), delay)
	assert.Contains(t, z.err.String(), "KILL after 500ms")
}

// TestDisconnectAloneLosesNothing: connections break again and again, and the
// command runs on.
func TestDisconnectAloneLosesNothing(t *testing.T) {
	b := newBed(t)
	gate := filepath.Join(t.TempDir(), "gate")
	z := b.start(locked("/locks/a", nil, "sh", "-c", "echo in; while [ ! -e "+gate+" ]; do sleep 0.1; done; exit 5")...)
	z.says("in")
	owner, _ := b.owner("/locks/a")
	for range 5 {
		b.srv.Cut(owner)
		eventually(t, func() bool {
			for _, s := range b.srv.Sessions() {
				if s.ID == owner {
					return s.Connected
				}
			}
			return false
		}, "it connects again")
	}
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	z.ends(5)
}

// TestFrozenZkrKillsAsSoonAsItRunsAgain: the limit in the help. A frozen zkr
// can do nothing; when zkr runs again, the command dies before anything else.
// The session is long, so that a busy machine does not end the session before
// zkr is frozen, and so is the grace, so that no stall looks like the grace.
func TestFrozenZkrKillsAsSoonAsItRunsAgain(t *testing.T) {
	const grace = 4 * time.Second
	b := newBed(t)
	beat := filepath.Join(t.TempDir(), "beat")
	z := b.start(under(20*time.Second, grace, []string{"lock", "/locks/a"}, stubbornFamily(beat)...)...)
	beating(t, beat+".child")
	b.owner("/locks/a")
	z.signal(syscall.SIGSTOP)
	b.takeLock("/locks/a") // granted once the session has expired
	woken := time.Now()
	z.signal(syscall.SIGCONT)
	z.ends(exit.CodeLost)
	late := silent(t, beat+".child").Sub(woken)
	assert.Less(t, late, grace, "without the grace")
	t.Logf("gone %v after zkr woke", late.Round(time.Millisecond))
}

// TestSuspendedZkrStopsItsCommand: Ctrl-Z is TSTP. A stopped command does
// no harm, and is killed, not continued, if the lock was lost meanwhile.
func TestSuspendedZkrStopsItsCommand(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	beat := filepath.Join(dir, "beat")
	cmd := b.command(losing([]string{"lock", "/locks/a"}, os.Args[0], helpBeat, beat)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as shells with job control do
	z := start(t, cmd)
	beating(t, beat)
	owner, _ := b.owner("/locks/a")

	z.signal(syscall.SIGTSTP)
	eventually(t, func() bool { return procState(t, cmd.Process.Pid) == "T" }, "zkr is stopped")
	before := len(beats(t, beat))
	silent(t, beat)
	z.signal(syscall.SIGCONT)
	eventually(t, func() bool { return len(beats(t, beat)) > before+3 }, "the command goes on")
	again, _ := b.owner("/locks/a")
	assert.Equal(t, owner, again, "it held the lock all the time")

	z.signal(syscall.SIGTSTP)
	eventually(t, func() bool { return procState(t, cmd.Process.Pid) == "T" }, "zkr is stopped")
	last := silent(t, beat)
	b.takeLock("/locks/a")
	z.signal(syscall.SIGCONT)
	z.ends(exit.CodeLost)
	assert.Equal(t, last, silent(t, beat), "not one beat more")
}

// TestDyingZkrTakesItsCommandAlong: KILL, which no process can catch.
func TestDyingZkrTakesItsCommandAlong(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(t.TempDir(), "beat")
	cmd := b.command(losing([]string{"lock", "/locks/a"}, os.Args[0], helpBeat, file, "stubborn")...)
	z := start(t, cmd)
	beating(t, file)
	owner, znode := b.owner("/locks/a")
	z.signal(syscall.SIGKILL)
	z.wait()
	last := silent(t, file)
	assert.True(t, last.Before(b.freed(owner, znode)))
}

// TestRestOfTheGroupEndsBeforeTheRelease: a command may leave processes
// behind that use the protected resource.
func TestRestOfTheGroupEndsBeforeTheRelease(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	file, gate := filepath.Join(dir, "beat"), filepath.Join(dir, "gate")
	script := fmt.Sprintf(`%q %s %s stubborn & until [ -s %s ] && [ -e %s ]; do sleep 0.1; done; exit 9`, os.Args[0], helpBeat, file, file, gate)
	z := b.start(locked("/locks/a", nil, "sh", "-c", script)...)
	owner, znode := b.owner("/locks/a")
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	z.ends(9)
	assert.True(t, silent(t, file).Before(b.freed(owner, znode)))
}

// TestDaemonOutlivesACommandThatEndsByItself: the limit in the help.
func TestDaemonOutlivesACommandThatEndsByItself(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	script := `setsid sh -c 'echo $$ > ` + dir + `/pid; exec sleep 1000' > /dev/null 2>&1 & until [ -s ` + dir + `/pid ]; do sleep 0.1; done`
	b.run(locked("/locks/a", nil, "sh", "-c", script)...).ends(0)
	pid := pidIn(t, dir+"/pid")
	assert.False(t, dead(t, pid))
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}

// TestFailedHandOverIsSaid: the server is away when the command ends. The
// command's exit code counts; a note says how long other clients may wait.
func TestFailedHandOverIsSaid(t *testing.T) {
	b := newBed(t)
	gate := filepath.Join(t.TempDir(), "gate")
	z := b.start(locked("/locks/a", nil, "sh", "-c", "echo in; while [ ! -e "+gate+" ]; do sleep 0.1; done; exit 3")...)
	z.says("in")
	require.NoError(t, b.srv.Freeze(1))
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	z.wait()
	// Trust may run out while zkr waits for the release to be confirmed.
	require.Contains(t, []int{3, exit.CodeLost}, z.code, z.err.String())
	assert.True(t, strings.Contains(z.err.String(), "release /locks/a") || z.code == exit.CodeLost, z.err.String())
}

// TestReserveIsWhatStopsTheCommandInTime: the same loss without a reserve ends
// the session and the hold at once, as a control of the tests above.
func TestReserveIsWhatStopsTheCommandInTime(t *testing.T) {
	b := newBed(t)
	const timeout, between = 24 * time.Second, 3 * time.Second
	lead := func(reserve time.Duration) time.Duration {
		c, err := session.Connect(b.ctx, b.srv.Addr(), &session.Options{Timeout: timeout, StopMargin: reserve})
		require.NoError(t, err)
		defer func() { _ = c.Close(context.Background()) }()
		h, err := lock.New(c, "/locks/b", nil).Lock(b.ctx)
		require.NoError(t, err)
		b.srv.BlackHole(zktest.Link{Session: h.Session().ID()}, zktest.Both)
		<-h.Context().Done()
		told := time.Now()
		<-h.Session().Context().Done()
		return time.Since(told)
	}
	// A stall at the wrong moment shows nothing: then once more.
	shows := func(reserve time.Duration, ok func(time.Duration) bool) {
		t.Helper()
		got := lead(reserve)
		for range 3 {
			if ok(got) {
				break
			}
			got = lead(reserve)
		}
		assert.True(t, ok(got), "%v with a reserve of %v", got, reserve)
	}
	shows(0, func(d time.Duration) bool { return d < between })
	shows(timeout/4, func(d time.Duration) bool { return d > between })
}
