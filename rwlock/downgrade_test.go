package rwlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// down downgrades, and must succeed.
func (w *World) down(h *rwlock.Held) *rwlock.Held {
	w.Helper()
	r, err := h.Downgrade(w.Ctx)
	require.NoError(w, err)
	require.NoError(w, r.Context().Err())
	require.ErrorIs(w, context.Cause(h.Context()), session.ErrReleased)
	return r
}

// The reader stands in the writer's place: with its number, its token, and
// readers that waited right behind.
func TestDowngradedWriterStandsInItsPlaceAsAReader(t *testing.T) {
	for _, layout := range []rwlock.Layout{rwlock.Curator, rwlock.Kazoo} {
		inWorld(t, nil, func(w *World) {
			o := &rwlock.Options{Layout: layout}
			h := w.get(rwlock.New(w.Client(), dir, o).Lock)
			reader := w.startTake(w.Ctx, w.new().RLock)
			writer := w.startTake(w.Ctx, w.new().Lock)
			late := w.startTake(w.Ctx, w.new().RLock)
			w.pending(reader)
			r := w.down(h)
			require.False(w, r.Exclusive())
			require.Equal(w, h.Token(), r.Token(), "a writer that waits has a greater one")
			require.Equal(w, h.Session(), r.Session())
			require.Equal(w, h.Path()[len(h.Path())-10:], r.Path()[len(r.Path())-10:])
			node, err := w.Server.Get(r.Path())
			require.NoError(w, err)
			require.Equal(w, r.Session().ID(), node.EphemeralOwner)
			_, err = w.Server.Get(h.Path())
			require.ErrorIs(w, err, zktest.ErrNoNode)
			joined := w.granted(reader)
			w.Pass(time.Minute)
			w.pending(writer, late)
			w.unlock(joined)
			w.pending(writer, late)
			w.unlock(r)
			h = w.granted(writer)
			require.Greater(w, h.Token(), r.Token())
			w.pending(late)
			w.unlock(h)
			w.unlock(w.granted(late))
		})
	}
}

// A writer that waits right behind a writer is not granted the lock when that
// one becomes a reader, although the znode that it watches goes.
func TestWriterBehindADowngradedWriterWaitsForTheReader(t *testing.T) {
	for _, others := range []int{0, 1, 3} { // readers that are in as well
		inWorld(t, nil, func(w *World) {
			first := w.new()
			h := w.get(first.Lock)
			c := w.Client()
			second := w.startTake(w.Ctx, rwlock.New(c, dir, nil).Lock)
			require.Contains(w, w.Server.Watches(), h.Path(), "it watches the first one")
			w.ResetStats()
			r := w.down(h)
			w.Pass(time.Minute)
			require.Equal(w, 1, w.Server.Stats().BySession[w.ID(c)]["getChildren2"], "it looked again")
			w.pending(second)
			var in []<-chan won
			for range others {
				in = append(in, w.startTake(w.Ctx, w.new().RLock)) // they wait behind the second
			}
			_, err := first.TryLock(w.Ctx)
			require.ErrorIs(w, err, rwlock.ErrBusy)
			w.pending(append(in, second)...)
			require.NoError(w, r.Context().Err())
			w.ResetStats()
			w.unlock(r)
			h = w.granted(second)
			require.LessOrEqual(w, w.Requests(c), 1, "a reader that was first: nothing to list, but maybe trust to prove")
			require.Zero(w, w.Server.Stats().BySession[w.ID(c)]["getChildren2"])
			w.pending(in...)
			w.unlock(h)
			for _, out := range in {
				w.unlock(w.granted(out))
			}
		})
	}
}

// The second writer looks at every moment of the downgrade: with each request of
// the first one delayed, and its own.
func TestNoWriterGetsInDuringADowngrade(t *testing.T) {
	for _, delay := range []string{"c1", "c2"} {
		for _, dir1 := range []zktest.Direction{zktest.ToServer, zktest.ToClient} {
			inWorld(t, nil, func(w *World) {
				h := w.get(w.new().Lock)
				second := w.startTake(w.Ctx, w.new().Lock)
				w.Server.Delay(zktest.Link{Client: delay}, dir1, 300*time.Millisecond)
				var r *rwlock.Held
				done := make(chan error, 1)
				// Waited for below; ends with the downgrade.
				go func() {
					var err error
					r, err = h.Downgrade(w.Ctx)
					done <- err
				}()
				synctest.Wait()
				require.Error(w, h.Context().Err(), "ended before anything is sent")
				require.NoError(w, <-done)
				w.Pass(2 * time.Second)
				w.pending(second)
				w.Server.Heal()
				w.unlock(r)
				w.unlock(w.granted(second))
			})
		}
	}
}

// The writer's contexts end before the transaction can let a reader in.
func TestWriterIsToldBeforeTheReadersGetIn(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		ctx := h.Context()
		reader := w.startTake(w.Ctx, w.new().RLock)
		// The answer comes late, when the reader is in.
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "multi" && r.Client == "c1" }, 1,
			zktest.Action{Do: zktest.DelayReply, For: 200 * time.Millisecond})
		w.Once(func(r zktest.Request) bool { return r.Op == "multi" && r.Client == "c1" }, func() {
			if ctx.Err() == nil {
				w.Error("the writer still believes that it is alone")
			}
		})
		began := time.Now()
		r := w.down(h)
		g := <-reader
		require.NoError(w, g.err)
		require.Less(w, g.at.Sub(began), 200*time.Millisecond, "it is in before the downgrade has returned")
		w.unlock(g.held)
		w.unlock(r)
	})
}

func TestDowngradeIsOneRequest(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := rwlock.New(c, dir, nil)
		h := w.get(m.Lock)
		w.Settle() // the first heartbeat
		w.ResetStats()
		r := w.down(h)
		require.Equal(w, map[string]int{"multi": 1}, w.Server.Stats().BySession[w.ID(c)])
		w.ResetStats()
		w.unlock(r)
		require.Equal(w, map[string]int{"delete": 1}, w.Server.Stats().BySession[w.ID(c)])
		w.Pass(time.Second)
		w.RequireNoWatches()
	})
}

func TestDowngradedLockIsLostLikeAnyOther(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := rwlock.New(c, dir, nil)
		r := w.down(w.get(m.Lock))
		w.Pass(time.Minute)
		require.NoError(w, r.Context().Err(), "it is kept like any other")
		require.NoError(w, w.Server.Delete(r.Path()))
		<-r.Context().Done()
		require.ErrorIs(w, context.Cause(r.Context()), session.ErrNodeDeleted)
		require.ErrorIs(w, r.Unlock(w.Ctx), session.ErrNodeDeleted)

		r = w.down(w.get(m.Lock))
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		<-r.Context().Done()
		require.ErrorIs(w, context.Cause(r.Context()), session.ErrTrustRanOut)
		require.ErrorIs(w, r.Unlock(w.Ctx), session.ErrLost)
		w.Server.Heal()
	})
}

func TestDowngradeOfWhatIsNotHeldIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := rwlock.New(c, dir, nil)
		h := w.get(m.RLock)
		_, err := h.Downgrade(w.Ctx)
		require.ErrorIs(w, err, rwlock.ErrInvalidArgument)
		require.NoError(w, h.Context().Err())
		w.unlock(h)

		h = w.get(m.Lock)
		_, err = h.Downgrade(w.Within(0))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NoError(w, h.Context().Err(), "nothing was sent: it is held as before")
		r := w.down(h)
		_, err = h.Downgrade(w.Ctx)
		require.ErrorIs(w, err, rwlock.ErrNotHeld)
		require.ErrorIs(w, h.Unlock(w.Ctx), rwlock.ErrNotHeld, "it is the reader that is to be released")
		require.NoError(w, r.Context().Err())
		w.unlock(r)

		h = w.get(m.Lock)
		w.unlock(h)
		_, err = h.Downgrade(w.Ctx)
		require.ErrorIs(w, err, rwlock.ErrNotHeld)
		require.Empty(w, w.Children(dir))

		h = w.get(m.Lock)
		require.NoError(w, w.Server.Delete(h.Path()))
		_, err = h.Downgrade(w.Ctx) // it does not know yet
		require.ErrorIs(w, err, session.ErrNodeDeleted)
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrNodeDeleted)
		require.Empty(w, w.Children(dir))

		h = w.get(m.Lock)
		w.Expire(c)
		<-h.Context().Done()
		_, err = h.Downgrade(w.Ctx)
		require.ErrorIs(w, err, session.ErrLost)
		require.True(w, isLoss(h.Unlock(w.Ctx)))

		h = w.get(m.Lock)
		require.NoError(w, c.Close(w.Ctx))
		_, err = h.Downgrade(w.Ctx)
		require.ErrorIs(w, err, session.ErrClosed)
	})
}

// Another client deletes the writer's znode right before the downgrade arrives: the
// writer is lost, and is not left believing in its hold.
func TestDowngradeThatFindsItsZnodeGoneTellsTheLoss(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		w.Once(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, func() {
			require.NoError(w, w.Server.Delete(h.Path()))
		})
		_, err := h.Downgrade(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrNodeDeleted)
		require.Error(w, h.Context().Err())
		require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrNodeDeleted)
		require.Empty(w, w.Children(dir))
	})
}

// A server that refuses: the lock is held for writing as before, with a context
// that says so.
func TestRefusedDowngradeLeavesTheWriter(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		h := w.get(rwlock.New(c, dir, nil).Lock)
		old := h.Context()
		waiting := w.startTake(w.Ctx, w.new().RLock)
		for _, right := range []int32{zk.PermCreate, zk.PermDelete} {
			require.NoError(w, setACL(w, c, zk.PermAll&^right))
			w.ResetStats()
			_, err := h.Downgrade(w.Ctx)
			require.ErrorIs(w, err, session.ErrNoAuth)
			require.ErrorContains(w, err, "rwlock: downgrade "+dir)
			require.Equal(w, 1, w.Requests(c), "there is nothing to find out")
			require.Error(w, old.Err())
			require.NoError(w, h.Context().Err())
		}
		w.Pass(time.Minute)
		require.NoError(w, h.Context().Err())
		w.pending(waiting)
		require.NoError(w, setACL(w, c, zk.PermAll))
		r := w.down(h)
		w.unlock(w.granted(waiting))
		w.unlock(r)
	})
}

func setACL(w *World, c *session.Client, perms int32) error {
	_, err := w.Session(c).SetACL(w.Ctx, dir, session.WorldACL(perms), -1)
	return err
}

// The connection is away: nothing is sent, and nothing changes.
func TestDowngradeWithoutAConnectionLeavesTheWriter(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		require.NoError(w, w.Server.Stop(1))
		w.Settle()
		began := time.Now()
		_, err := h.Downgrade(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
		require.Equal(w, time.Second, time.Since(began))
		require.NoError(w, h.Context().Err())
		require.NoError(w, w.Server.Restart(1))
		w.unlock(w.down(h))
	})
}

// A downgrade that goes on when Do's function returns succeeds in the very instant in
// which Do gives the lock back: whichever comes first, no znode stays.
func TestDoRacesADowngrade(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		rounds := 200
		if testing.Short() {
			rounds = 50
		}
		m := w.new()
		w.unlock(w.get(m.Lock)) // the path exists
		w.Server.Delay(zktest.Link{}, zktest.Both, time.Millisecond)
		for range rounds {
			done := make(chan error, 1)
			require.NoError(w, m.Do(w.Ctx, func(_ context.Context, h *rwlock.Held) error {
				// Waited for below; ends with the answer.
				go func() {
					_, err := h.Downgrade(w.Ctx)
					done <- err
				}()
				world.Pause(2 * time.Millisecond) // a round trip
				return nil
			}))
			if err := <-done; err != nil {
				require.ErrorIs(w, err, rwlock.ErrNotHeld)
			}
			require.Empty(w, w.Children(dir))
		}
		w.Server.Heal()
	})
}

// Do gives back what its function has at its end.
func TestDoReleasesWhatTheLockWasDowngradedTo(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.new()
		writer := w.startTake(w.Ctx, func(ctx context.Context) (*rwlock.Held, error) {
			w.Pass(time.Second)
			return w.new().Lock(ctx)
		})
		require.NoError(w, m.Do(w.Ctx, func(ctx context.Context, held *rwlock.Held) error {
			w.Pass(5 * time.Second)
			r := w.down(held)
			require.ErrorIs(w, context.Cause(ctx), session.ErrReleased)
			w.Pass(5 * time.Second)
			w.pending(writer)
			return context.Cause(r.Context())
		}))
		w.unlock(w.granted(writer))
		w.Settle()
		require.Empty(w, w.Children(dir))
	})
}
