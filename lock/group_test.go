package lock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Several locks as one.

func mutexes(c *session.Client, paths ...string) []*lock.Mutex {
	var out []*lock.Mutex
	for _, path := range paths {
		out = append(out, lock.New(c, path, nil))
	}
	return out
}

func TestGroupHoldsAllItsLocksInTheOrderOfTheirPaths(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		paths := []string{"/c", "/a", "/b"}
		g, err := lock.All(mutexes(w.client(), paths...)...).Lock(w.ctx)
		require.NoError(w, err)
		other := w.client()
		for _, path := range paths {
			_, err := lock.New(other, path, nil).TryLock(w.ctx)
			require.ErrorIs(w, err, lock.ErrBusy)
		}
		for i, path := range []string{"/a", "/b", "/c"} {
			require.Equal(w, path, parentOf(g.Held()[i].Path()))
		}
		ops := append(g.Guards(), session.CreateOp("/x", nil, session.Persistent, nil))
		_, err = g.Held()[0].Session().Txn(w.ctx, ops...)
		require.NoError(w, err)
		require.NoError(w, g.Unlock(w.ctx))
		require.ErrorIs(w, context.Cause(g.Context()), session.ErrReleased)
		require.ErrorIs(w, g.Unlock(w.ctx), lock.ErrNotHeld)
		for _, path := range paths {
			require.Empty(w, w.children(path))
		}
	})
}

func TestGroupsThatShareLocksCannotDeadlock(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		paths := []string{"/a", "/b", "/c", "/d"}
		var all sync.WaitGroup
		for range 4 {
			c := w.client()
			for range 2 {
				// Waited for below; ends after its rounds.
				all.Go(func() {
					for range 10 {
						mine := append([]string(nil), paths...)
						rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
						g, err := lock.All(mutexes(c, mine[:2+rand.IntN(3)]...)...).Lock(w.within(10 * time.Minute))
						if err != nil {
							w.Error(err)
							return
						}
						rest(w.ctx, time.Millisecond)
						if err := g.Unlock(w.ctx); err != nil {
							w.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
	})
}

// CL18: an error at one lock ends the whole, and the time limit is for the
// whole.
func TestGroupThatFailsHoldsNothing_CL18(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		a, b := w.client(), w.client()
		blocker := w.lock(lock.New(b, "/b", nil))
		began := time.Now()
		_, err := lock.All(mutexes(a, "/a", "/b", "/c")...).Lock(w.within(3 * time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Contains(w, err.Error(), "/b")
		require.Equal(w, 3*time.Second, time.Since(began))
		w.settle()
		require.Empty(w, w.children("/a"))
		require.Empty(w, w.children("/c"), "what comes after the one that failed is not tried")
		w.unlock(blocker)

		s, err := b.Session(w.ctx)
		require.NoError(w, err)
		_, err = s.Create(w.ctx, "/e", nil, session.Ephemeral, nil)
		require.NoError(w, err)
		_, err = lock.All(mutexes(a, "/a", "/e", "/f")...).Lock(w.ctx)
		require.ErrorIs(w, err, session.ErrNoChildrenForEphemerals)
		w.settle()
		require.Empty(w, w.children("/a"))
		require.Empty(w, w.children("/f"))
	})
}

func TestGroupEndsWithAnyOfItsLocks(t *testing.T) {
	for i := range 3 {
		inWorld(t, nil, func(w *world) {
			a, b := w.client(), w.client()
			locks := append(mutexes(a, "/a", "/c"), lock.New(b, "/b", nil)) // of two sessions
			g, err := lock.All(locks...).Lock(w.ctx)
			require.NoError(w, err)
			require.NoError(w, w.srv.Delete(g.Held()[i].Path()))
			<-g.Context().Done()
			require.ErrorIs(w, context.Cause(g.Context()), session.ErrNodeDeleted)
			require.ErrorIs(w, g.Unlock(w.ctx), session.ErrNodeDeleted)
			for _, path := range []string{"/a", "/b", "/c"} {
				require.Empty(w, w.children(path), "all are released")
			}
		})
	}
}

// A lock that is lost while the next one is waited for.
func TestGroupThatLosesALockWhileItWaitsFails(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		a, b := w.client(), w.client()
		blocker := w.lock(lock.New(b, "/b", nil))
		out := make(chan error, 1)
		// Waited for below; ends when b is released.
		go func() {
			_, err := lock.All(mutexes(a, "/a", "/b")...).Lock(w.ctx)
			out <- err
		}()
		w.pass(5 * time.Second)
		require.NoError(w, w.srv.Delete("/a/"+w.children("/a")[0]))
		w.pass(5 * time.Second)
		w.unlock(blocker)
		require.ErrorIs(w, <-out, session.ErrNodeDeleted)
		w.settle()
		require.Empty(w, w.children("/a"))
		require.Empty(w, w.children("/b"))
	})
}

func TestGroupOfWrongArgumentsIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.client()
		for name, g := range map[string]*lock.Group{
			"empty": lock.All(), "nil": lock.All(lock.New(c, "/a", nil), nil), "twice": lock.All(mutexes(c, "/a", "/b", "/a")...),
		} {
			_, err := g.Lock(w.ctx)
			require.ErrorIs(w, err, lock.ErrArgument, name)
		}
		_, err := lock.All(mutexes(c, "/a", "b")...).Lock(w.ctx)
		require.ErrorIs(w, err, session.ErrInvalidPath)
		w.settle()
		require.Empty(w, w.children("/a"))
	})
}
