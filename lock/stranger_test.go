package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// replaceNode deletes the znode at path and creates another znode of the same name,
// as a stranger.
func (w *World) replaceNode(path string) {
	w.Helper()
	w.Pass(time.Minute) // until path is watched
	require.NoError(w, w.Server.Delete(path))
	require.NoError(w, w.Server.Create(path, nil))
	w.Settle()
}

// A stranger's znode under the name of a deleted permit stays.
func TestPermitsThatWereDeletedAreNotDeletedAgain(t *testing.T) {
	for _, o := range []*lock.Options{nil, {CuratorV2: true}} {
		inWorld(t, nil, func(w *World) {
			s := lock.NewSemaphore(w.Client(), "/s", 3, o)
			p := w.acquire(s, 2)
			path := p.Path()
			w.replaceNode(path)
			require.ErrorIs(w, p.Release(w.Ctx), session.ErrLost)
			w.Settle()
			require.Equal(w, []string{path}, joinPaths(parentOf(path), w.Children(parentOf(path))), "the other lease has gone")
		})
	}
}

// A lease lost during the wait for the next lease is taken again, with its
// neighbors.
func TestLeasesAreTakenAgainWhenOneIsLostWhileTheNextIsWaitedFor(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := &lock.Options{CuratorV2: true}
		other := w.acquire(lock.NewSemaphore(w.Client(), "/s", 2, o), 1)
		s := lock.NewSemaphore(w.Client(), "/s", 2, o)
		out := make(chan *lock.Permits, 1)
		// Waited for below; ends when there is room.
		go func() {
			p, err := s.Acquire(w.Ctx, 2)
			if err == nil {
				out <- p
			}
			close(out)
		}()
		w.Pass(time.Minute)
		leases := w.Children("/s/leases")
		require.Len(w, leases, 3)
		list, err := s.Contenders(w.Ctx)
		require.NoError(w, err)
		first := list[1] // the second lease: the first lease of s
		require.NoError(w, w.Server.Delete("/s/leases/"+first.Name))
		require.NoError(w, other.Release(w.Ctx))
		p := <-out
		require.NotNil(w, p)
		require.NoError(w, p.Context().Err())
		require.Len(w, w.Children("/s/leases"), 2)
		require.NoError(w, p.Release(w.Ctx))
	})
}
