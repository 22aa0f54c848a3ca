package lock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Several locks as one.

func newMutexes(c *session.Client, paths ...string) []*lock.Mutex {
	var out []*lock.Mutex
	for _, path := range paths {
		out = append(out, lock.New(c, path, nil))
	}
	return out
}

func TestGroupHoldsAllItsLocksInTheOrderOfTheirPaths(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		paths := []string{"/c", "/a", "/b"}
		g, err := lock.All(newMutexes(w.Client(), paths...)...).Lock(w.Ctx)
		require.NoError(w, err)
		other := w.Client()
		for _, path := range paths {
			_, err := lock.New(other, path, nil).TryLock(w.Ctx)
			require.ErrorIs(w, err, lock.ErrBusy)
		}
		for i, path := range []string{"/a", "/b", "/c"} {
			require.Equal(w, path, parentOf(g.Held()[i].Path()))
		}
		_, err = g.Held()[0].Session().Txn(w.Ctx, g.Guard(), session.CreateOp("/x", nil, session.Persistent, nil))
		require.NoError(w, err)
		require.NoError(w, g.Unlock(w.Ctx))
		require.ErrorIs(w, context.Cause(g.Context()), session.ErrReleased)
		require.ErrorIs(w, g.Unlock(w.Ctx), lock.ErrNotHeld)
		for _, path := range paths {
			require.Empty(w, w.Children(path))
		}
	})
}

// The guard of the group fails when any of the locks is gone.
func TestGuardOfAGroupFailsWithAnyOfItsLocks(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		paths, own := []string{"/a", "/b", "/c"}, w.Session(w.Client())
		var last int64
		for i := range paths {
			g, err := lock.All(newMutexes(w.Client(), paths...)...).Lock(w.Ctx)
			require.NoError(w, err)
			require.Greater(w, g.Token(), last)
			for _, one := range g.Held() {
				require.GreaterOrEqual(w, g.Token(), one.Token())
				require.Greater(w, one.Token(), last)
			}
			last = g.Token()
			gone := g.Held()[i].Path()
			require.NoError(w, w.Server.Delete(gone))
			_, err = own.Txn(w.Ctx, session.CreateOp("/x", nil, session.Persistent, nil), g.Guard())
			var failed *session.TxnError
			require.ErrorAs(w, err, &failed)
			require.Equal(w, 1, failed.Index)
			require.Equal(w, gone, failed.Path)
			<-g.Context().Done()
			require.ErrorIs(w, g.Release(w.Ctx), session.ErrLost)
		}
	})
}

func TestGroupsThatShareLocksCannotDeadlock(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		paths := []string{"/a", "/b", "/c", "/d"}
		var all sync.WaitGroup
		for range 4 {
			c := w.Client()
			for range 2 {
				// Waited for below; ends after its rounds.
				all.Go(func() {
					for range 10 {
						mine := append([]string(nil), paths...)
						rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
						g, err := lock.All(newMutexes(c, mine[:2+rand.IntN(3)]...)...).Lock(w.Within(10 * time.Minute))
						if err != nil {
							w.Error(err)
							return
						}
						world.SleepContext(w.Ctx, time.Millisecond)
						if err := g.Unlock(w.Ctx); err != nil {
							w.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
	})
}

// CL18: an error at one lock ends the whole acquire, and the time limit is for the
// whole acquire.
func TestGroupThatFailsHoldsNothing_CL18(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		blocker := w.lock(lock.New(b, "/b", nil))
		began := time.Now()
		_, err := lock.All(newMutexes(a, "/a", "/b", "/c")...).Lock(w.Within(3 * time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Contains(w, err.Error(), "/b")
		require.Equal(w, 3*time.Second, time.Since(began))
		w.Settle()
		require.Empty(w, w.Children("/a"))
		require.Empty(w, w.Children("/c"), "locks behind the failed lock are not tried")
		w.unlock(blocker)

		s, err := b.Session(w.Ctx)
		require.NoError(w, err)
		_, err = s.Create(w.Ctx, "/e", nil, session.Ephemeral, nil)
		require.NoError(w, err)
		_, err = lock.All(newMutexes(a, "/a", "/e", "/f")...).Lock(w.Ctx)
		require.ErrorIs(w, err, session.ErrNoChildrenForEphemerals)
		w.Settle()
		require.Empty(w, w.Children("/a"))
		require.Empty(w, w.Children("/f"))
	})
}

func TestGroupEndsWithAnyOfItsLocks(t *testing.T) {
	for i := range 3 {
		inWorld(t, nil, func(w *World) {
			a, b := w.Client(), w.Client()
			locks := append(newMutexes(a, "/a", "/c"), lock.New(b, "/b", nil)) // of two sessions
			g, err := lock.All(locks...).Lock(w.Ctx)
			require.NoError(w, err)
			require.NoError(w, w.Server.Delete(g.Held()[i].Path()))
			<-g.Context().Done()
			require.ErrorIs(w, context.Cause(g.Context()), session.ErrNodeDeleted)
			require.ErrorIs(w, g.Unlock(w.Ctx), session.ErrNodeDeleted)
			for _, path := range []string{"/a", "/b", "/c"} {
				require.Empty(w, w.Children(path), "all are released")
			}
		})
	}
}

// A lock is lost during the wait for the next lock.
func TestGroupThatLosesALockWhileItWaitsFails(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		blocker := w.lock(lock.New(b, "/b", nil))
		out := make(chan error, 1)
		// Waited for below; ends when b is released.
		go func() {
			_, err := lock.All(newMutexes(a, "/a", "/b")...).Lock(w.Ctx)
			out <- err
		}()
		w.Pass(5 * time.Second)
		require.NoError(w, w.Server.Delete("/a/"+w.Children("/a")[0]))
		w.Pass(5 * time.Second)
		w.unlock(blocker)
		require.ErrorIs(w, <-out, session.ErrNodeDeleted)
		w.Settle()
		require.Empty(w, w.Children("/a"))
		require.Empty(w, w.Children("/b"))
	})
}

func TestGroupOfWrongArgumentsIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		for name, g := range map[string]*lock.Group{
			"empty": lock.All(), "nil": lock.All(lock.New(c, "/a", nil), nil), "twice": lock.All(newMutexes(c, "/a", "/b", "/a")...),
		} {
			_, err := g.Lock(w.Ctx)
			require.ErrorIs(w, err, lock.ErrInvalidArgument, name)
		}
		_, err := lock.All(newMutexes(c, "/a", "b")...).Lock(w.Ctx)
		require.ErrorIs(w, err, session.ErrInvalidPath)
		w.Settle()
		require.Empty(w, w.Children("/a"))
	})
}

// A lock lost during the wait for the next lock ends the wait at once: the others
// would stay locked in vain.
func TestGroupThatLosesALockWhileItWaitsReleasesTheOthers(t *testing.T) {
	for name, lose := range map[string]func(w *World, c *session.Client){
		"its znode": func(w *World, _ *session.Client) {
			require.NoError(w, w.Server.Delete("/a/"+w.Children("/a")[0]))
		},
		"its session": func(w *World, c *session.Client) { w.Expire(c) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				other := w.lock(lock.New(w.Client(), "/c", nil))
				c := w.Client()
				out := make(chan error, 1)
				// Waited for below; ends with the loss.
				go func() {
					_, err := lock.All(newMutexes(c, "/a", "/b", "/c")...).Lock(w.Ctx)
					out <- err
				}()
				w.Pass(time.Minute)
				require.Len(w, w.Children("/b"), 1)
				start := time.Now()
				lose(w, c)
				err := <-out
				require.Less(w, time.Since(start), time.Second)
				require.ErrorIs(w, err, session.ErrLost)
				require.ErrorContains(w, err, "lock: hold /a: ")
				w.Settle()
				require.Empty(w, append(w.Children("/a"), w.Children("/b")...))
				require.Equal(w, []string{other.Path()}, joinPaths("/c", w.Children("/c")))
			})
		})
	}
}

func joinPaths(dir string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = dir + "/" + name
	}
	return out
}
