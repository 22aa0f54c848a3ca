//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/rebalancecmd"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// shared makes a group with resources.
func (b *bed) shared(path string, resources ...string) {
	b.Helper()
	b.run(append([]string{"rebalance", "add", path}, resources...)...).ends(0)
}

// joins starts a member whose commands print their resource and the request to
// end, and end then.
func (b *bed) joins(path, id string, flags ...string) *zkrProcess {
	b.Helper()
	args := append([]string{"rebalance", "join", path, "--id", id}, flags...)
	script := `trap 'echo asked $ZKR_RESOURCE; exit 3' TERM; trap 'echo usr1 $ZKR_RESOURCE' USR1; echo in $ZKR_RESOURCE; while :; do sleep 0.1; done`
	return b.start(running(args, "sh", "-c", script)...)
}

// TestCommandRunsForEachResource, with the resource in its environment, and is
// asked to end when the resource is to be given up; commands of other resources
// go on undisturbed.
func TestCommandRunsForEachResource(t *testing.T) {
	t.Parallel()
	for _, mode := range rebalancecmd.Modes() {
		t.Run(mode, func(t *testing.T) {
			b := newBed(t)
			b.run("rebalance", "add", "/g", "a", "b", "--mode", mode).ends(0)
			one := b.joins("/g", "one")
			one.says("in a")
			one.says("in b")
			one.signal(syscall.SIGUSR1)
			one.says("usr1 a")
			one.says("usr1 b")
			two := b.joins("/g", "two")
			two.says("in ")
			moved := strings.TrimSpace(strings.TrimPrefix(two.out.String(), "in "))
			one.says("asked " + moved)
			assert.Equal(t, 1, strings.Count(one.out.String(), "asked"), "only what moves")
			one.signal(syscall.SIGTERM)
			assert.NotContains(t, one.ends(0).err.String(), "zkr:")
			assert.Equal(t, 2, strings.Count(one.out.String(), "asked"))
			eventually(t, func() bool { return strings.Count(two.out.String(), "in ") >= 2 }, "it has both")
			b.run("rebalance", "remove", "/g", moved).ends(0)
			two.says("asked " + moved)
			two.signal(syscall.SIGINT)
			two.ends(0)
		})
	}
}

// TestGroupWithoutResourcesIsRemarkedUpon once, by a new member, and not if
// there are some by then.
func TestGroupWithoutResourcesIsRemarkedUpon(t *testing.T) {
	b := newBed(t)
	remark := "/typo has no resources: waiting for some; \"zkr rebalance add /typo RESOURCE...\" adds them"
	one := b.joins("/typo", "one")
	eventually(t, func() bool { return one.err.String() == "zkr: "+remark+"\n" }, "it says so")
	b.shared("/typo", "a")
	one.says("in a")
	b.run("rebalance", "remove", "/typo", "a").ends(0)
	one.says("asked a")
	two := b.joins("/typo", "two", "-o", "json")
	eventually(t, func() bool { return strings.Contains(two.err.String(), `{"note":"/typo has no resources: `) }, "it says so")
	b.shared("/typo", "b")
	eventually(t, func() bool { return strings.Contains(one.out.String()+two.out.String(), "in b") }, "a member has it")
	three := b.joins("/typo", "three")
	b.settled("/typo", 3)
	for _, z := range []*zkrProcess{one, two, three} {
		z.signal(syscall.SIGINT)
		z.ends(0)
		assert.LessOrEqual(t, strings.Count(z.err.String(), "no resources"), 1)
	}
	// Stderr also has the words of the command's shell about a killed process.
	assert.NotContains(t, three.err.String(), "zkr: ")
}

func TestEnvironmentOfAResource(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "a b")
	z := b.start(running([]string{"rebalance", "join", "/g"}, "sh", "-c", "env | grep '^ZKR_[RTGC]'; echo ZKR_SESSION=$ZKR_SESSION; cat; echo read")...)
	z.says("read") // nothing is on stdin
	node, err := b.srv.Get("/g/barriers/a b")
	require.NoError(t, err)
	owner, client := b.owner("/g/clients")
	for _, line := range []string{
		"ZKR_RESOURCE=a b", fmt.Sprintf("ZKR_TOKEN=%d", node.Mzxid), "ZKR_GROUP=/g", "ZKR_CLIENT=" + filepath.Base(client), "ZKR_SESSION=" + cli.SessionID(owner),
	} {
		z.says(line + "\n")
	}
	z.signal(syscall.SIGHUP)
	assert.Contains(t, z.ends(129).err.String(), "everything was given back: ended by signal 1")
}

// TestCommandThatFailsEndsTheMembership gracefully, with its code; --retry runs
// the command again. A command that ends well is done with its resource, which
// no other member gets.
func TestCommandThatFailsEndsTheMembership(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "bad", "good")
	script := `case $ZKR_RESOURCE in good) trap 'echo asked; exit 0' TERM; while :; do sleep 0.1; done;; *) exit 7; esac`
	z := b.run(running([]string{"rebalance", "join", "/g"}, "sh", "-c", script)...).ends(7)
	assert.Contains(t, z.err.String(), "the command for bad has failed (exit code 7): leaving the group")
	assert.Empty(t, b.contenders("/g/clients"))
	z = b.run(running([]string{"rebalance", "join", "/g"}, "/no/such/command")...).ends(exit.CodeNotFound)
	assert.Contains(t, z.err.String(), "cannot run /no/such/command")

	again := filepath.Join(t.TempDir(), "again")
	script = `echo run $ZKR_RESOURCE; test -e ` + again + ` && exit 0; echo >` + again + `; kill -KILL $$`
	b.shared("/h", "bad")
	z = b.start(running([]string{"rebalance", "join", "/h", "--retry", "10ms"}, "sh", "-c", script)...)
	eventually(t, func() bool { return strings.Count(z.out.String(), "run bad") >= 2 }, "it runs again")
	const says = "the command for bad has failed (exit code 137): again after 10ms or more"
	eventually(t, func() bool { return strings.Contains(z.err.String(), says) }, "it says %q", says)
	other := b.joins("/h", "other")
	eventually(t, func() bool { return len(b.contenders("/h/clients")) == 2 }, "another one is there")
	z.running()
	z.signal(syscall.SIGTERM)
	z.ends(0)
	other.says("in bad")
}

// TestLostResourcesCommandIsGoneBefore the servers let another member in, daemons
// included; and the member comes back by itself, with a greater token.
func TestLostResourcesCommandIsGoneBefore(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "a")
	beat := filepath.Join(t.TempDir(), "beat")
	script := fmt.Sprintf(`echo token $ZKR_TOKEN; %q %s %s.$ZKR_TOKEN.daemon daemon; exec %q %s %s.$ZKR_TOKEN.command stubborn`,
		os.Args[0], helpDaemon, beat, os.Args[0], helpBeat, beat)
	z := b.start(losing([]string{"rebalance", "join", "/g"}, "sh", "-c", script)...)
	first := newestBeats(t, z, beat, 0)
	owner, znode := b.owner("/g/clients")
	b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
	freed := b.freed(owner, znode)
	for _, file := range beatsOf(beat, first) {
		assert.Positive(t, freed.Sub(silent(t, file)), "the last beat is before")
	}
	z.warns("losing a: stopping its command, KILL after 500ms")
	second := newestBeats(t, z, beat, first)
	z.signal(syscall.SIGTERM)
	z.signal(syscall.SIGINT) // they are stubborn: a second signal is needed
	assert.Contains(t, []int{130, 143}, z.wait().code, "the code of the second signal, in either order")
	for _, file := range beatsOf(beat, second) {
		silent(t, file)
	}
}

// beatsOf are the files of the processes under a token.
func beatsOf(beat string, token int64) []string {
	return []string{fmt.Sprintf("%s.%d.daemon", beat, token), fmt.Sprintf("%s.%d.command", beat, token)}
}

// newestBeats waits until all processes under the newest token beat, and
// returns the token, which is above last. A command that a busy machine has
// lost at its start never beats; the next command does.
func newestBeats(t *testing.T, z *zkrProcess, beat string, last int64) (token int64) {
	t.Helper()
	eventually(t, func() bool {
		z.running()
		for line := range strings.Lines(z.out.String()) {
			if _, err := fmt.Sscanf(line, "token %d\n", &token); err != nil {
				return false // the rest of the line comes
			}
		}
		if token <= last {
			return false
		}
		for _, file := range beatsOf(beat, token) {
			if len(beats(t, file)) <= 3 {
				return false
			}
		}
		return true
	}, "what has a token above %d beats; zkr said:\n%v%v", last, z.out, z.err)
	return token
}

// TestCommandThatDoesNotGiveUp keeps its resource, until a second signal or the
// timeout kills the command.
func TestCommandThatDoesNotGiveUp(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "a")
	stubborn := []string{"sh", "-c", `trap 'echo asked' TERM; echo in; while :; do sleep 0.1; done`}
	one := b.start(running([]string{"rebalance", "join", "/g", "--id", "one"}, stubborn...)...)
	one.says("in")
	one.signal(syscall.SIGTERM)
	one.says("asked")
	two := b.start(running([]string{"rebalance", "join", "/g", "--revoke-timeout", "4s"}, stubborn...)...)
	eventually(t, func() bool { return len(b.contenders("/g/clients")) == 2 }, "another one waits for it")
	one.running()
	assert.Empty(t, two.out.String())
	one.signal(syscall.SIGINT)
	one.ends(130)
	two.says("in")
	two.signal(syscall.SIGTERM)
	two.ends(0)
	assert.Contains(t, two.out.String(), "asked")
}

// TestNothingOutlivesZkr, for each killed process of zkr.
func TestNothingOutlivesZkr(t *testing.T) {
	t.Parallel()
	for _, whom := range []string{"zkr", "keeper"} {
		t.Run(whom, func(t *testing.T) {
			b := newBed(t)
			b.shared("/g", "a")
			beat := filepath.Join(t.TempDir(), "beat")
			script := fmt.Sprintf(`echo $PPID >%s.keeper; %q %s %s.daemon daemon; exec %q %s %s.command stubborn`,
				beat, os.Args[0], helpDaemon, beat, os.Args[0], helpBeat, beat)
			z := b.start(running([]string{"rebalance", "join", "/g"}, "sh", "-c", script)...)
			beating(t, beat+".daemon")
			beating(t, beat+".command")
			if whom == "zkr" {
				z.signal(syscall.SIGKILL)
				z.wait()
			} else {
				require.NoError(t, syscall.Kill(pidIn(t, beat+".keeper"), syscall.SIGKILL))
				z.ends(137)
				assert.Contains(t, z.err.String(), "the command for a has failed (signal 9)")
			}
			for _, file := range []string{beat + ".daemon", beat + ".command"} {
				eventually(t, func() bool {
					all := beats(t, file)
					return time.Since(all[len(all)-1]) > 100*time.Millisecond
				}, "it is gone")
				silent(t, file)
			}
		})
	}
}

// TestStaticMemberIsOneAtATime, and gets its former resources back.
func TestStaticMemberIsOneAtATime(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "a", "b")
	one := b.joins("/g", "one", "--instance", "i")
	one.says("in a")
	one.says("in b")
	z := b.run(running([]string{"rebalance", "join", "/g", "--instance", "i", "--instance-wait", "2s"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), `"zkr rebalance status /g" shows the members`)
	two := b.joins("/g", "two")
	two.says("in ")
	had := strings.TrimSpace(strings.TrimPrefix(two.out.String(), "in "))
	one.signal(syscall.SIGTERM)
	one.ends(0)
	back := b.joins("/g", "back", "--instance", "i")
	back.says("in ")
	assert.NotContains(t, back.out.String(), "in "+had)
	assert.Equal(t, "in "+had+"\n", two.out.String(), "nothing else has moved")
	z = b.run(running([]string{"rebalance", "join", "/g", "--mode", "global"}, "true")...).ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), "another mode")
}

// TestSubscriptionWeightAndAssignorCount.
func TestSubscriptionWeightAndAssignorCount(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "a1", "a2", "a3", "a4", "b1")
	one := b.joins("/g", "one", "--subscribe", "a*", "--weight", "3", "--assignor", "weighted", "--zone", "z")
	for _, name := range []string{"a1", "a2", "a3", "a4"} {
		one.says("in " + name)
	}
	two := b.joins("/g", "two", "--subscribe", "a*", "--assignor", "weighted")
	two.says("in a")
	eventually(t, func() bool {
		return strings.Contains(b.run("rebalance", "status", "/g").ends(0).out.String(), "unowned: b1")
	}, "b1 has no owner")
	one.says("asked ")
	assert.Equal(t, 1, strings.Count(two.out.String(), "in "))
	assert.Equal(t, 1, strings.Count(one.out.String(), "asked "))
	assert.NotContains(t, one.out.String(), "b1")
}
