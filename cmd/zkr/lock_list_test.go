//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/lockcmd"
	"github.com/zkrecipes/zkrecipes/lock"
)

type listing struct {
	Path       string              `json:"path"`
	Contenders []lockcmd.Contender `json:"contenders"`
}

// list reads "zkr lock ls -o json".
func (b *bed) list(args ...string) listing {
	b.Helper()
	z := b.run(append([]string{"lock", "ls", "-o", "json"}, args...)...).ends(0)
	var out listing
	require.NoError(b, json.Unmarshal([]byte(z.out.String()), &out), z.out.String())
	return out
}

func TestListShowsHolderAndQueueInOrder(t *testing.T) {
	b := newBed(t)
	begun := time.Now()
	held := b.takeLock("/locks/a")
	for i, id := range []string{"first", "second"} {
		b.start(locked("/locks/a", []string{"--id", id}, "true")...)
		b.queued("/locks/a", i+2)
	}
	got := b.list("/locks/a")
	assert.Equal(t, "/locks/a", got.Path)
	require.Len(t, got.Contenders, 3)
	for i, c := range got.Contenders {
		assert.Equal(t, i+1, c.Place)
		assert.Equal(t, 1, c.Permits)
		assert.WithinRange(t, c.Since, begun.Add(-time.Second), time.Now().Add(time.Second))
		node, err := b.srv.Get(c.Path)
		require.NoError(t, err)
		assert.Equal(t, node.Czxid, c.Token)
		assert.Equal(t, fmt.Sprintf("%#x", node.EphemeralOwner), c.Session)
	}
	assert.Equal(t, "holds", got.Contenders[0].State)
	assert.Equal(t, held.Token(), got.Contenders[0].Token)
	assert.Equal(t, []string{"waits", "waits"}, []string{got.Contenders[1].State, got.Contenders[2].State})
	assert.Equal(t, []string{"first", "second"}, []string{got.Contenders[1].ID, got.Contenders[2].ID})

	table := b.run("lock", "ls", "/locks/a").ends(0).out.String()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	require.Len(t, lines, 4)
	assert.Equal(t, "PLACE STATE ID PERMITS TOKEN SESSION SINCE AGE", strings.Join(strings.Fields(lines[0]), " "))
	for i, c := range got.Contenders {
		assert.Equal(t, []string{fmt.Sprint(c.Place), c.State, c.ID, "1", fmt.Sprint(c.Token), c.Session}, strings.Fields(lines[i+1])[:6])
	}
}

func TestListOfASemaphoreMarksAllHolders(t *testing.T) {
	b := newBed(t)
	for _, v2 := range [][]string{nil, {"--curator-v2"}} {
		path, wait := "/s", 3
		if v2 != nil {
			path = "/v2"
		}
		for _, id := range []string{"a", "b", "c"} {
			b.start(append([]string{"lock", path, "-n", "2", "--session-timeout", longest.String(), "--grace", "500ms", "--id", id}, append(v2, "--", "sleep", "1000")...)...)
		}
		if v2 != nil {
			eventually(t, func() bool { return len(b.contenders(path+"/leases")) == wait }, "leases")
		} else {
			b.queued(path, wait)
		}
		got := b.list(append([]string{path, "-n", "2"}, v2...)...)
		states := make([]string, 0, wait)
		for _, c := range got.Contenders {
			states = append(states, c.State)
		}
		assert.Equal(t, []string{"holds", "holds", "waits"}, states)
	}
}

// TestListOfASemaphoreKnowsItsPermits from the path, and refuses another
// number: there are no ten holders of three permits.
func TestListOfASemaphoreKnowsItsPermits(t *testing.T) {
	b := newBed(t)
	ctx, cancel := context.WithCancel(b.ctx)
	s, ended := lock.NewSemaphore(b.client(), "/s", 2, nil), make(chan error, 3)
	for range 3 {
		// Waited for below; ends with a permit, or with ctx.
		go func() {
			_, err := s.Acquire(ctx, 1)
			ended <- err
		}()
	}
	b.queued("/s", 3)
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	for _, args := range [][]string{{"/s"}, {"/s", "-n", "2"}} {
		var states []string
		for _, c := range b.list(args...).Contenders {
			states = append(states, c.State)
		}
		assert.Equal(t, []string{"holds", "holds", "waits"}, states, args)
	}
	for _, n := range []string{"1", "3", "10", "-1"} {
		z := b.run("lock", "ls", "/s", "-n", n).ends(exit.CodeUsage)
		assert.Empty(t, z.out.String(), n)
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestListOfAnUnusedLock(t *testing.T) {
	b := newBed(t)
	b.empty("no znode /locks/unused: no client uses the path now, or the path is misspelled", "lock", "ls", "/locks/unused")
	got := b.list("/locks/unused")
	assert.NotNil(t, got.Contenders, "an empty list, not null")
	assert.Empty(t, got.Contenders)
}

func TestListShowsStrangersDataWithoutBreakingTheTable(t *testing.T) {
	for data, want := range map[string]string{
		"10.0.0.7": "10.0.0.7", "host:1 [x]": "host:1 [x]", "": "",
		"a\tb\n": `"a\tb\n"`, "\x1b[31mred": `"\x1b[31mred"`, "\xff\x00": `"\xff\x00"`, "größe": "größe",
	} {
		assert.Equal(t, want, cli.Readable([]byte(data)))
	}
	b := newBed(t)
	require.NoError(t, b.srv.Create("/l", nil))
	_, err := b.srv.CreateSequential("/l/_c_00000000-0000-0000-0000-000000000000-lock-", []byte("a\nb\tc"))
	require.NoError(t, err)
	out := b.run("lock", "ls", "/l").ends(0).out.String()
	assert.Contains(t, out, `"a\nb\tc"`)
	assert.Contains(t, out, "none", "it belongs to no session")
	assert.Equal(t, 2, strings.Count(out, "\n"))
}

func TestHolderIsAskedForTheLock(t *testing.T) {
	b := newBed(t)
	z := b.run("lock", "revoke", "/l").ends(exit.CodeFailed)
	assert.Contains(t, z.err.String(), "the lock /l has no holder")

	holder := b.start(running([]string{"lock", "/l", "--revocable", "--id", "web-1"}, "sh", "-c", "trap 'echo yields; exit 3' TERM; echo in; while :; do sleep 0.1; done")...)
	holder.says("in")
	next := b.start(locked("/l", nil, "true")...)
	b.queued("/l", 2)
	assert.Regexp(t, `^asked web-1 \(session 0x[0-9a-f]+\)\n$`, b.run("lock", "revoke", "/l").ends(0).out.String())
	holder.says("yields")
	holder.ends(3)
	assert.Contains(t, holder.err.String(), "zkr: another client asks for the lock /l: the command gets TERM\n")
	next.ends(0)

	deaf := b.start(locked("/l", nil, "sh", "-c", "echo in; exec sleep 1000")...)
	deaf.says("in")
	assert.Contains(t, b.run("lock", "revoke", "/l", "-o", "json").ends(0).out.String(), `"znode":"/l/`)
	assert.Contains(t, b.run("lock", "ls", "/l").ends(0).out.String(), "__REVOKE__")
	b.run("lock", "/s", "-n", "2", "--revocable", "--", "true").ends(exit.CodeUsage)
}

func TestListWithoutAPathShowsAllLocks(t *testing.T) {
	b := newBed(t)
	z := b.run("lock", "ls").ends(0)
	assert.Equal(t, "zkr: no lock is held or waited for\n", z.err.String())
	assert.JSONEq(t, `{"locks":[]}`, b.run("lock", "ls", "-o", "json").ends(0).out.String())

	b.start(locked("/app/b", []string{"--id", "holder"}, "sleep", "1000")...)
	b.queued("/app/b", 1)
	b.start(locked("/app/b", []string{"--id", "first"}, "true")...)
	b.queued("/app/b", 2)
	b.start(locked("/app/b", []string{"--id", "second"}, "true")...)
	b.queued("/app/b", 3)
	b.takeLock("/a")
	b.candidates("/app/leader", "no lock")
	text := b.run("lock", "ls").ends(0).out.String()
	assert.Equal(t, 3, strings.Count(text, "\n"), text)
	assert.True(t, hasLine(text, []string{"/app/b", "mutex", "holder", " 2 ", "first"}), text)
	assert.Less(t, strings.Index(text, "/a "), strings.Index(text, "/app/b"), text)
	var got struct {
		Locks []struct {
			Path, Kind, First string
			Holders           []string
			Waiting           int
			Entered, Since    time.Time
		}
	}
	require.NoError(t, json.Unmarshal([]byte(b.run("lock", "ls", "-o", "json").ends(0).out.String()), &got))
	require.Len(t, got.Locks, 2)
	two := got.Locks[1]
	assert.Equal(t, []any{"/app/b", "mutex", []string{"holder"}, "first", 2}, []any{two.Path, two.Kind, two.Holders, two.First, two.Waiting})
	assert.False(t, two.Since.Before(two.Entered))
}
