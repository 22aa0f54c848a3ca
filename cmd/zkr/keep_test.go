//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/znodecmd"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// exists waits until the output has shown n creations.
func (z *zkrProcess) exists(n int) {
	z.t.Helper()
	eventually(z.t, func() bool { return strings.Count(z.out.String(), "  exists   ") >= n }, "it exists %d times", n)
}

func TestKeptZnodeIsCreatedAgainUntilZkrEnds(t *testing.T) {
	b := newBed(t)
	z := b.start("keep", "/a/b", "hello", "--session-timeout", longest.String())
	z.exists(1)
	first, err := b.srv.Get("/a/b")
	require.NoError(t, err)
	assert.Equal(t, "hello", string(first.Data))
	assert.NotZero(t, first.EphemeralOwner)
	require.NoError(t, b.srv.Delete("/a/b"))
	z.exists(2)
	// The next session takes so long that zkr cannot miss the time without a znode.
	b.srv.FailNth(func(r zktest.Request) bool { return r.Op == "connect" && r.Session == 0 }, 1,
		zktest.Action{Do: zktest.DelayReply, For: 3 * time.Second})
	require.NoError(t, b.srv.ExpireSession(first.EphemeralOwner))
	z.exists(3)
	assert.Contains(t, z.out.String(), "  missing  /a/b  ")
	last, err := b.srv.Get("/a/b")
	require.NoError(t, err)
	assert.Equal(t, "hello", string(last.Data))
	assert.NotEqual(t, first.EphemeralOwner, last.EphemeralOwner)
	z.signal(syscall.SIGTERM)
	assert.Empty(t, z.ends(0).err.String())
	b.queued("/a", 0)
}

func TestKeepShowsItsStatesInJSON(t *testing.T) {
	b := newBed(t)
	z := b.start("keep", "/k", "-o", "json")
	z.says(`"exists":true`)
	n, err := b.srv.Get("/k")
	require.NoError(t, err)
	var got znodecmd.KeptState
	require.NoError(t, json.Unmarshal([]byte(z.out.String()), &got))
	assert.Equal(t, znodecmd.KeptState{Time: got.Time, Path: "/k", Exists: true, Token: n.Czxid}, got)
	assert.WithinDuration(t, time.Now(), got.Time, limit)
	assert.Contains(t, z.out.String(), `"token":"`)
	z.signal(syscall.SIGINT)
	z.ends(0)
}

func TestKeepHasEachKindOfZnode(t *testing.T) {
	t.Parallel()
	for flags, is := range map[string]func(zktest.Node) bool{
		"":                          func(n zktest.Node) bool { return n.EphemeralOwner != 0 },
		"--ephemeral":               func(n zktest.Node) bool { return n.EphemeralOwner != 0 },
		"--ephemeral --sequential":  func(n zktest.Node) bool { return n.EphemeralOwner != 0 && isNumbered(n) },
		"--persistent":              func(n zktest.Node) bool { return n.EphemeralOwner == 0 && !n.Container && !n.TTL },
		"--persistent --sequential": func(n zktest.Node) bool { return n.EphemeralOwner == 0 && isNumbered(n) },
		"--container":               func(n zktest.Node) bool { return n.Container },
		"--ttl 1h":                  func(n zktest.Node) bool { return n.TTL },
		"--ttl 1h --sequential":     func(n zktest.Node) bool { return n.TTL && isNumbered(n) },
	} {
		t.Run(flags, func(t *testing.T) {
			b := newBed(t)
			z := b.start(append([]string{"keep", "/f/k", "x"}, strings.Fields(flags)...)...)
			z.exists(1)
			names := b.contenders("/f")
			require.Len(t, names, 1)
			n, err := b.srv.Get("/f/" + names[0])
			require.NoError(t, err)
			assert.True(t, is(n), "%+v", n)
			assert.Equal(t, "x", string(n.Data))
			z.signal(syscall.SIGTERM)
			assert.Empty(t, z.ends(0).err.String())
			stays := 0
			if n.TTL {
				stays = 1
			}
			assert.Len(t, b.contenders("/f"), stays)
		})
	}
}

// isNumbered reports whether the znode has a name of its own.
func isNumbered(n zktest.Node) bool {
	return strings.HasPrefix(n.Path, "/f/_c_") && strings.Contains(n.Path, "-k0")
}

func TestKeepWhileACommandRuns(t *testing.T) {
	b := newBed(t)
	z := b.start(running([]string{"keep", "/k", "-"}, "sh", "-c", "echo in; read x; exit 7")...)
	z.ends(7)
	env := environmentOf(b, []string{"keep", "/f/k", "x"})
	assert.Equal(t, map[string]string{"ZKR_NODE_PATH": "/f/k"}, env)
	z = b.start(running([]string{"keep", "/f/k", "x"}, "sh", "-c", obedient)...)
	z.says("in")
	n, err := b.srv.Get("/f/k")
	require.NoError(t, err)
	require.NoError(t, b.srv.ExpireSession(n.EphemeralOwner))
	eventually(t, func() bool { return strings.Contains(z.err.String(), "the znode /f/k was created again") }, "zkr says so")
	z.signal(syscall.SIGTERM)
	z.ends(0)
	b.queued("/f", 0)
}

func TestZnodeOfAnotherClientIsSaidOrWaitedFor(t *testing.T) {
	b := newBed(t)
	first := b.start("keep", "/k")
	first.exists(1)
	z := b.run("keep", "/k").ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "another client has this znode")
	z = b.run(running([]string{"keep", "/k"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "the znode /k is taken: ")
	z = b.run("keep", "/k", "--wait", "--timeout", "1s").ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "did not get the znode /k within 1s: ")
	watched := func(clients int) {
		eventually(t, func() bool { return len(b.srv.Watches()["/k"]) == clients }, "%d clients watch it", clients)
	}
	watched(1)
	waits := b.start("keep", "/k", "--wait")
	watched(2)
	gives := b.start("keep", "/k", "--wait")
	watched(3)
	gives.signal(syscall.SIGTERM)
	assert.Contains(t, gives.ends(143).err.String(), "gave up waiting for the znode /k")
	first.signal(syscall.SIGTERM)
	first.ends(0)
	waits.exists(1)
	waits.signal(syscall.SIGTERM)
	waits.ends(0)
}

// Several zkr keep one persistent znode: those that remain create it again.
func TestPersistentZnodeIsKeptBySeveral(t *testing.T) {
	b := newBed(t)
	one, two := b.start("keep", "/f/k", "--persistent"), b.start("keep", "/f/k", "--persistent")
	one.exists(1)
	two.exists(1)
	one.signal(syscall.SIGTERM)
	one.ends(0)
	two.exists(2)
	require.NoError(t, b.srv.Create("/f/k/child", nil))
	two.signal(syscall.SIGTERM)
	assert.Contains(t, two.ends(exit.CodeFailed).err.String(), "node: release /f/k: ")
	b.queued("/f/k", 1)
}
