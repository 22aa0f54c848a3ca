//go:build unix

package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// obedient is a command that ends with 0 after TERM.
const obedient = `trap 'exit 0' TERM; echo in; while :; do sleep 0.1; done`

// ending is a zkr that has a role, or holds something while obedient runs.
type ending struct {
	args  []string
	runs  bool // obedient
	ready func(b *bed, z *zkrProcess)
}

// showsIn waits until obedient runs.
func showsIn(_ *bed, z *zkrProcess) { z.says("in") }

// roles continue until they are ended: their exit code is 0 only if all was given back.
//
// read only
var roles = map[string]ending{
	"keep":        {[]string{"keep", "/k"}, false, func(_ *bed, z *zkrProcess) { z.says("exists  ") }},
	"task master": {[]string{"task", "master", "/q"}, false, func(_ *bed, z *zkrProcess) { z.says("leads  ") }},
	"idle task worker": {[]string{"task", "worker", "/q"}, true, func(b *bed, _ *zkrProcess) {
		// The server has the worker's znode before the worker knows; the worker follows its
		// folder afterwards.
		eventually(b.T, func() bool {
			for path := range b.srv.Watches() {
				if strings.HasPrefix(path, "/q/workers/") {
					return true
				}
			}
			return false
		}, "it is registered")
	}},
	"task worker": {[]string{"task", "worker", "/q"}, true, func(b *bed, z *zkrProcess) {
		b.leads("/q", "--session-timeout", longest.String())
		b.give(0, "", "/q")
		z.says("began")
	}},
	"idle rebalance join": {[]string{"rebalance", "join", "/g"}, true, func(b *bed, z *zkrProcess) {
		eventually(b.T, func() bool { return strings.Contains(z.err.String(), "no resources") }, "it is a member")
	}},
	"rebalance join": {[]string{"rebalance", "join", "/g"}, true, func(b *bed, z *zkrProcess) { b.shared("/g", "a"); z.says("in") }},
	"job janitor --watch": {[]string{"job", "janitor", "--watch", "--abandoned", "1s"}, false, func(b *bed, _ *zkrProcess) {
		// A candidate has a znode before the candidate knows of its leadership; a
		// leading janitor removes jobs.
		b.submit("words", "1")
		eventually(b.T, func() bool { _, err := b.srv.Get("/twister2/words"); return err != nil }, "it leads")
	}},
}

// holders run a command while they hold something, and exit as the command
// does.
//
// read only
var holders = map[string]ending{
	"members join":     {[]string{"members", "join", "/m", "a"}, true, showsIn},
	"service register": {[]string{"service", "register", "s", "--id", "a"}, true, showsIn},
	"elect":            {[]string{"elect", "/e"}, true, showsIn},
	"keep":             {[]string{"keep", "/k"}, true, showsIn},
	"lock":             {[]string{"lock", "/l"}, true, showsIn},
	"lock -n":          {[]string{"lock", "/l", "-n", "2"}, true, showsIn},
	"rwlock read":      {[]string{"rwlock", "read", "/l"}, true, showsIn},
}

// ended starts a zkr, and ends the zkr by TERM; away: without a server that
// answers.
func (b *bed) ended(e ending, timeout time.Duration, away bool) *zkrProcess {
	b.Helper()
	args := append(slices.Clone(e.args), "--session-timeout", timeout.String())
	if e.runs {
		args = append(args, "--grace", grace.String(), "--", "sh", "-c", obedient)
	}
	z := b.start(args...)
	e.ready(b, z)
	if away {
		require.NoError(b, b.srv.Freeze(1))
	}
	z.signal(syscall.SIGTERM)
	return z
}

// remarks are zkr's own lines on stderr.
func (z *zkrProcess) remarks() (out []string) {
	for line := range strings.Lines(z.err.String()) {
		if said, ok := strings.CutPrefix(line, "zkr: "); ok && !strings.Contains(line, "no resources") && !strings.Contains(line, "draining") {
			out = append(out, said)
		}
	}
	return out
}

// TestRoleExitsWithZeroOnlyIfAllIsGivenBack, whatever the role.
func TestRoleExitsWithZeroOnlyIfAllIsGivenBack(t *testing.T) {
	t.Parallel()
	const timeout = 20 * time.Second // a busy machine stands still for seconds
	for name, role := range roles {
		if name != "task worker" { // a draining worker finishes its task
			t.Run(name, func(t *testing.T) {
				z := newBed(t).ended(role, longest, false).ends(0)
				assert.Empty(t, z.remarks())
			})
		}
		t.Run(name+" without a server", func(t *testing.T) {
			z := newBed(t).ended(role, timeout, true).ends(exit.CodeLost)
			said := z.remarks()
			require.Len(t, said, 2, "%q", z.err)
			assert.Contains(t, said[0], "not everything was given back: ")
			assert.Equal(t, "the servers take back what is left when they expire the session\n", said[1])
		})
	}
}

// A role whose session was given up in an outage was not given back.
func TestEndDuringAnOutageThatCostTheSession(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	for name, says := range map[string]string{"keep": "  missing  ", "members join": "is temporarily not registered", "service register": "is temporarily not registered"} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			e, isRole := roles[name]
			if !isRole {
				e = holders[name]
			}
			args := append(slices.Clone(e.args), "--session-timeout", timeout.String())
			if e.runs {
				args = append(args, "--", "sh", "-c", obedient)
			}
			z := b.start(args...)
			e.ready(b, z)
			require.NoError(t, b.srv.Freeze(1))
			eventually(t, func() bool { return strings.Contains(z.out.String()+z.err.String(), says) }, "the session is given up")
			z.signal(syscall.SIGTERM)
			if isRole {
				z.ends(exit.CodeLost)
				assert.Contains(t, z.err.String(), "not everything was given back: ")
				return
			}
			z.ends(0)
			assert.Contains(t, z.err.String(), "no server has confirmed that ")
		})
	}
}

// TestSecondSignalEndsTheWaitForAServer at once where no command must be gone before.
func TestSecondSignalEndsTheWaitForAServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"keep", "task master", "job janitor --watch"} {
		t.Run(name, func(t *testing.T) {
			z := newBed(t).ended(roles[name], longest, true)
			sent := time.Now()
			// The first signal may not have been heeded yet, and two of a kind may
			// be one.
			z.signal(syscall.SIGINT)
			assert.Contains(t, []int{130, 143}, z.wait().code)
			assert.Less(t, z.at.Sub(sent), longest/2, "no session timeout has to pass")
			assert.Contains(t, z.err.String(), "zkr: not everything was given back: ")
		})
	}
}

// TestHolderExitsAsItsCommand also if no server confirms the release: the
// command has done its work. zkr notes the missing confirmation.
func TestHolderExitsAsItsCommand(t *testing.T) {
	t.Parallel()
	for name, holder := range holders {
		t.Run(name, func(t *testing.T) {
			z := newBed(t).ended(holder, longest, false).ends(0)
			assert.Empty(t, z.remarks())
		})
		t.Run(name+" without a server", func(t *testing.T) {
			z := newBed(t).ended(holder, longest, true).ends(0)
			said := z.remarks()
			require.Len(t, said, 1, "%q", z.err)
			assert.Regexp(t, `^no server has confirmed that .* was given back; it may stay taken for up to 40s: `, said[0])
		})
	}
}

// TestStaticInstanceMayStay for good, if no server confirms its removal.
func TestStaticInstanceMayStay(t *testing.T) {
	z := newBed(t).ended(ending{[]string{"service", "register", "s", "--id", "a", "--type", "static"}, true, showsIn}, longest, true).ends(0)
	assert.Contains(t, z.err.String(), "it may stay taken until its znode is deleted: ")
}

// TestPersistentKeptZnodeMayStay for good, if no server confirms its deletion.
func TestPersistentKeptZnodeMayStay(t *testing.T) {
	z := newBed(t).ended(ending{[]string{"keep", "/k", "--persistent"}, false, roles["keep"].ready}, 20*time.Second, true).ends(exit.CodeLost)
	assert.Contains(t, z.err.String(), "not everything was given back: node: release /k: ")
	assert.Contains(t, z.err.String(), "\"zkr rm /k\" deletes the znode, if it still exists\n")
}

// TestKeptContainerMayStay after the command that has run beside it.
func TestKeptContainerMayStay(t *testing.T) {
	z := newBed(t).ended(ending{[]string{"keep", "/k", "--container"}, true, showsIn}, longest, true).ends(0)
	assert.Contains(t, z.err.String(), "it may stay taken until its znode is deleted: ")
}

// TestSeatThatIsLostBeforeOthersLeave is an error: they do not leave together.
func TestSeatThatIsLostBeforeOthersLeave(t *testing.T) {
	z := newBed(t).ended(ending{[]string{"barrier", "enter", "/b", "-n", "1"}, true, showsIn}, 20*time.Second, true).ends(exit.CodeLost)
	assert.Contains(t, z.err.String(), "the command has ended, but the seat in /b was lost before zkr had given it back: ")
}
