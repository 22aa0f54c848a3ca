//go:build unix

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// The former holder stops its command, and says who has taken the lock away, and why; the
// next one gets it.
func TestLockIsBrokenAndItsHolderToldWhy(t *testing.T) {
	b := newBed(t)
	assert.Contains(t, b.run("lock", "break", "/l", "--reason", "r", "--yes").ends(exit.CodeFailed).err.String(), "the lock /l has no holder")
	one := b.start(running([]string{"lock", "/l", "--id", "web-1"}, "sh", "-c", "echo in; exec sleep 1000")...)
	one.says("in")
	b.queued("/l", 1)
	two := b.start(running([]string{"lock", "/l", "--id", "web-2"}, "sh", "-c", "echo in; exec sleep 1000")...)
	b.queued("/l", 2)

	assert.Contains(t, b.run("lock", "break", "/l", "--yes").ends(exit.CodeUsage).err.String(), "--reason is missing")
	assert.Contains(t, b.run("lock", "break", "/l", "--reason", "r").ends(exit.CodeUsage).err.String(), "--yes is missing")
	one.running()
	out := b.run("lock", "break", "/l", "--reason", "web-1 hangs", "--by", "alice", "--yes").ends(0).out.String()
	assert.Regexp(t, `^took the lock /l away from web-1 \(session 0x[0-9a-f]+\)\n$`, out)
	two.says("in")
	assert.Regexp(t, `lost the lock /l, and stopped the command: alice took it away at .*: web-1 hangs: .*deleted`, one.wait().ends(exit.CodeLost).err.String())
	list := b.run("lock", "break", "/l", "--list").ends(0).out.String()
	assert.Regexp(t, `(?m)^AT +BY +REASON +HOLDER +SESSION +TOKEN\n\S+ \S+ +alice +web-1 hangs +web-1 +0x`, list)

	two.running()
	out = b.run("lock", "break", "/l", "--reason", "all", "--yes", "-o", "json").ends(0).out.String()
	assert.Regexp(t, `^\{"path":"/l","holder":"web-2","session":"0x[0-9a-f]+","token":"\d+"\}\n$`, out)
	two.wait().ends(exit.CodeLost)
	assert.Regexp(t, `^\{"path":"/l","records":\[\{"at":"[^"]+","by":"\S+@\S+","reason":"all","holder":"web-2",.*\{.*alice`, b.run("lock", "break", "/l", "--list", "-o", "json").ends(0).out.String())
	assert.Contains(t, b.run("lock", "break", "/other", "--list").ends(0).err.String(), "was never taken away")
	require.Empty(t, b.contenders("/l"))
}

// One of several holders loses what it has; the others keep theirs.
func TestOneOfSeveralHoldersIsBroken(t *testing.T) {
	for name, tc := range map[string]struct {
		hold, take []string
		share      string
	}{
		"readers":             {[]string{"rwlock", "read", "/l"}, []string{"rwlock", "break", "/l"}, "reading"},
		"permits":             {[]string{"lock", "/l", "-n", "2"}, []string{"lock", "break", "/l"}, "1 permit of 2"},
		"Curator's semaphore": {[]string{"lock", "/l", "-n", "2", "--curator-v2"}, []string{"lock", "break", "/l", "-n", "2", "--curator-v2"}, "1 permit of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			start := func(id string) *zkrProcess {
				z := b.start(running(append(slices.Clone(tc.hold), "--id", id), "sh", "-c", "echo in $ZKR_LOCK_TOKEN; exec sleep 1000")...)
				z.says("in ")
				return z
			}
			take := func(more ...string) *zkrProcess {
				return b.run(append(append(slices.Clone(tc.take), "--reason", "it hangs", "--by", "alice", "--yes"), more...)...)
			}
			assert.Contains(t, take().ends(exit.CodeFailed).err.String(), "has no holder")
			one, two := start("web-1"), start("web-2")
			refusal := take().ends(exit.CodeUsage).err.String()
			assert.Regexp(t, `has 2 holders; say which one:\n  --token \d+  web-1, 0x[0-9a-f]+, `+tc.share+`\n  --token \d+  web-2, `, refusal)
			assert.Contains(t, take("--token", "12345").ends(exit.CodeFailed).err.String(), "has no holder with the token 12345")
			one.running()
			two.running()
			token := strings.TrimSpace(strings.TrimPrefix(two.out.String(), "in "))
			assert.Contains(t, take("--token", token).ends(0).out.String(), "away from web-2 (session 0x")
			assert.Contains(t, two.wait().ends(exit.CodeLost).err.String(), "alice took it away")
			one.running()
			assert.Contains(t, take().ends(0).out.String(), "away from web-1", "one holder is left")
			one.wait().ends(exit.CodeLost)
			assert.Regexp(t, `(?s)web-1.*web-2`, b.run(append(slices.Clone(tc.take), "--list")...).ends(0).out.String())
		})
	}
	b := newBed(t)
	assert.Contains(t, b.run("lock", "break", "/l", "--curator-v2", "--reason", "r", "--yes").ends(exit.CodeUsage).err.String(), "needs -n")
	assert.Contains(t, b.run("lock", "break", "/l", "-n", "-1", "--reason", "r", "--yes").ends(exit.CodeUsage).err.String(), "-n is -1")
}

func TestLeaderIsDeposedAndCampaignsAgain(t *testing.T) {
	b := newBed(t)
	z := b.start(running([]string{"elect", "/e", "--again", "--id", "web-1"}, "sh", "-c", "echo in $ZKR_LEADER_TERM; exec sleep 1000")...)
	z.says("in 0")
	b.run("elect", "depose", "/e", "--reason", "it hangs", "--by", "alice", "--yes").ends(0)
	z.says("in 1")
	z.warns("alice took it away")
	assert.Contains(t, b.run("elect", "depose", "/e", "--list").ends(0).out.String(), "it hangs")
}
