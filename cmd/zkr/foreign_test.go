//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rwlock"
)

// TestContendersOfAnotherRecipeAreRemarkedUpon: the list is unchanged, without
// these contenders.
func TestContendersOfAnotherRecipeAreRemarkedUpon(t *testing.T) {
	b := newBed(t)
	remark := func(what, look string) string {
		return fmt.Sprintf("/l also has contenders of %s, which the listed contenders do not exclude: both may hold at the same time; \"zkr %s /l\" lists them", what, look)
	}
	c := b.client()
	permit, err := lock.NewSemaphore(c, "/l", 2, nil).Acquire(b.ctx, 1)
	require.NoError(t, err)
	alone := b.run("lock", "ls", "/l").ends(0)
	assert.Empty(t, alone.err.String(), "there are no other contenders")
	held := b.takeLock("/l")
	z := b.run("lock", "ls", "/l").ends(0)
	assert.Equal(t, "zkr: "+remark("a semaphore", "lock ls -n N")+"\n", z.err.String())
	assert.Equal(t, 1, strings.Count(z.out.String(), "holds"))
	z = b.run("lock", "ls", "/l", "-n", "2").ends(0)
	assert.Equal(t, "zkr: "+remark("a mutex", "lock ls")+"\n", z.err.String())
	assert.Equal(t, 1, strings.Count(z.out.String(), "holds"))

	write, err := rwlock.New(c, "/l", nil).Lock(b.ctx)
	require.NoError(t, err)
	z = b.run("rwlock", "ls", "/l").ends(0)
	assert.Equal(t, "zkr: "+remark("a mutex", "lock ls")+"\nzkr: "+remark("a semaphore", "lock ls -n N")+"\n", z.err.String())
	require.NoError(t, permit.Release(b.ctx))
	require.NoError(t, held.Unlock(b.ctx))
	z = b.run("lock", "ls", "/l", "-o", "json").ends(0)
	assert.Contains(t, z.err.String(), `{"note":"/l also has contenders of a read/write lock, `)
	assert.Empty(t, b.list("/l").Contenders)
	require.NoError(t, write.Unlock(b.ctx))
	assert.Empty(t, b.run("lock", "ls", "/l").ends(0).out.String())
}

// TestMissingPathDiffersFromAnUnusedPath in all commands that list the users of a
// path.
func TestMissingPathDiffersFromAnUnusedPath(t *testing.T) {
	b := newBed(t)
	require.NoError(t, b.srv.Create("/empty", nil))
	for line, says := range map[string]string{
		"lock ls": "/empty has no holder and no waiting contender", "rwlock ls": "/empty has no holder and no waiting contender",
		"elect ls": "/empty has no leader and no waiting candidate", "members ls": "/empty has no members",
		"barrier ls": "no party has arrived at /empty yet", "task ls": "there are no such tasks in /empty",
	} {
		args := strings.Fields(line)
		assert.Equal(t, "zkr: "+says+"\n", b.run(append(args, "/empty")...).ends(0).err.String())
		assert.Contains(t, b.run(append(args, "/empty", "-o", "json")...).ends(0).out.String(), `"exists":true`)
		assert.Equal(t, "zkr: no znode /typo: no client uses the path now, or the path is misspelled\n", b.run(append(args, "/typo")...).ends(0).err.String())
		assert.Contains(t, b.run(append(args, "/typo", "-o", "json")...).ends(0).out.String(), `"exists":false`)
	}
}

// TestLockIsNotTakenForAnElection: the holder of a lock is not a leader, and an
// election is not a lock.
func TestLockIsNotTakenForAnElection(t *testing.T) {
	b := newBed(t)
	b.takeLock("/l")
	z := b.run("elect", "ls", "/l").ends(0)
	assert.Contains(t, z.err.String(), `zkr: /l has the znodes of a lock: the holder of the lock is shown as the leader; "zkr lock ls /l" shows the lock.`)
	b.takeLock("/leader")
	assert.Empty(t, b.run("elect", "ls", "/leader").ends(0).err.String(), "it may be that of Curator's LeaderSelector")
	_, err := election.New(b.client(), "/e", nil).Campaign(b.ctx)
	require.NoError(t, err)
	assert.Empty(t, b.run("elect", "ls", "/e").ends(0).err.String())
}
