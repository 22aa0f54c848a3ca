//go:build unix

package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
)

// TestSemaphoreIsSharedWithCurator: InterProcessSemaphoreV2 and ours on one
// path.
func TestSemaphoreIsSharedWithCurator(t *testing.T) {
	t.Parallel()
	java, we := start(t, curator, timeout), start(t, ours, timeout)
	const permits = 3
	// That all permits can be in use is TestSemaphoreCountsPermitsOfCurator's.
	hammer(t, scaled(100), ask{"recipe": "lease", "permits": permits, "path": fresh("semaphore"), "pause": 4},
		crew{java, 4, nil}, crew{we, 4, nil}).finish(rules{together: permits})
}

// TestSemaphoreOfOneIsSharedWithCurator: its InterProcessSemaphoreMutex.
func TestSemaphoreOfOneIsSharedWithCurator(t *testing.T) {
	t.Parallel()
	java, we := start(t, curator, timeout), start(t, ours, timeout)
	hammer(t, scaled(60), ask{"permits": 1, "path": fresh("semaphore")},
		crew{java, 3, ask{"recipe": "semaphoremutex"}}, crew{we, 3, ask{"recipe": "lease"}}).finish(rules{together: 1})
}

// TestSemaphoreGoesOnWhenPeersAreKilled: permits of the killed come back.
func TestSemaphoreGoesOnWhenPeersAreKilled(t *testing.T) {
	t.Parallel()
	killInTheMiddle(t, curator, scaled(30), ask{"recipe": "lease", "permits": 2, "pause": 2}, rules{together: 2})
}

// TestSemaphoreCountsPermitsOfCurator: several at once, on either side.
func TestSemaphoreCountsPermitsOfCurator(t *testing.T) {
	t.Parallel()
	java, c, path := start(t, curator, timeout), connect(t), fresh("semaphore")
	ctx := t.Context()
	sem := lock.NewSemaphore(c, path, 3, &lock.Options{CuratorV2: true, ID: "go:1"})
	lease := func(as string) ask {
		return ask{"do": "hold", "recipe": "lease", "permits": 3, "path": path, "as": as, "client": as}
	}
	two, err := sem.Acquire(ctx, 2)
	require.NoError(t, err)
	token := java.number(t, lease("a"))
	require.Greater(t, token, two.Token())

	// All permits are taken, for every peer.
	_, err = sem.TryAcquire(ctx, 1)
	require.ErrorIs(t, err, lock.ErrBusy)
	waits := java.sendRequest(lease("b"))
	queued(t, c, path+"/locks", 1)
	list, err := sem.Contenders(ctx)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(list), 3)
	require.Equal(t, "go:1", string(list[0].Data))
	require.Equal(t, "go:1", string(list[1].Data))
	require.Equal(t, token, list[2].Token)
	require.True(t, waits.pending())

	// Two leave, and the one that waits gets in, with room for one more.
	require.NoError(t, two.Release(ctx))
	waits.requireAnswer(t)
	one, err := sem.TryAcquire(ctx, 1)
	require.NoError(t, err)
	java.do(t, ask{"do": "release", "as": "a"})
	java.do(t, ask{"do": "release", "as": "b"})
	require.NoError(t, one.Release(ctx))
	require.Empty(t, children(t, c, path+"/leases"))
}
