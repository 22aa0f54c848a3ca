package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// How a lock is lost, and how one finds out.

// A holder that is cut off is told before anybody is granted whom it excludes,
// in whatever direction packets get lost.
func TestHolderIsToldBeforeTheNextOneIsGranted(t *testing.T) {
	for _, lost := range []zktest.Direction{zktest.Both, zktest.ToServer, zktest.ToClient} {
		for _, exclusive := range []bool{false, true} {
			inWorld(t, nil, func(w *World) {
				m, other := w.new(), w.new()
				f, g := m.Lock, other.RLock
				if !exclusive {
					f, g = m.RLock, other.Lock
				}
				h := w.get(f)
				w.Pass(3700 * time.Millisecond)
				out := w.begin(w.Ctx, g)
				w.Server.BlackHole(zktest.Link{Client: "c1"}, lost)
				<-h.Context().Done()
				told := time.Now()
				require.ErrorIs(w, context.Cause(h.Context()), session.ErrTrustRanOut)
				next := <-out
				require.NoError(w, next.err)
				require.GreaterOrEqual(w, next.at.Sub(told), time.Duration(0), "granted before the holder was told")
				require.Greater(w, next.held.Token(), h.Token())
				require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrLost)
				w.Server.Heal()
				_, err := next.held.Session().Txn(w.Ctx, h.Guard(), session.SetOp(dir, nil, -1))
				require.ErrorIs(w, err, session.ErrNoNode, "what it still has in progress is refused")
				w.unlock(next.held)
			})
		}
	}
}

// P11: a waiter whose session expires is not granted anything in it. It goes on
// in the next one, behind all others.
func TestWaiterWhoseSessionExpiresGoesOnInTheNext_P11(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		for _, releaseFirst := range []bool{false, true} {
			inWorld(t, nil, func(w *World) {
				h := w.get(w.new().Lock)
				c := w.Client()
				m := rwlock.New(c, dir, nil)
				f := m.RLock
				if exclusive {
					f = m.Lock
				}
				out := w.begin(w.Ctx, f)
				old := w.ID(c)
				w.Expire(c)
				if !releaseFirst {
					w.Pass(10 * time.Second)
					w.pending(out)
					require.Len(w, w.Children(dir), 2, "it waits again")
				}
				w.unlock(h)
				w.Pass(10 * time.Second)
				h = w.granted(out)
				require.NotEqual(w, old, h.Session().ID())
				w.unlock(h)
				w.Settle()
				require.Empty(w, w.Children(dir))
			})
		}
	}
}

// The dead do not stay in the way: a reader that dies, a writer that dies while
// it waits, and one that holds.
func TestQueueClosesUpOverTheDead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		first, waiter := w.new(), w.new()
		h := w.get(first.RLock)
		ctx, stop := context.WithCancel(w.Ctx)
		defer stop()
		w.begin(ctx, waiter.Lock)
		reader := w.begin(w.Ctx, w.new().RLock)
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both) // dies while it waits
		w.Pass(30 * time.Second)
		second := w.granted(reader)
		require.NoError(w, h.Context().Err(), "both read")
		writer := w.begin(w.Ctx, w.new().Lock)
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both) // dies while it reads
		w.unlock(second)
		w.pending(writer)
		w.Pass(30 * time.Second)
		last := w.granted(writer)
		require.Error(w, h.Context().Err())
		stop()
		w.Server.Heal()
		w.unlock(last)
		w.Pass(time.Minute)
		require.Empty(w, w.Children(dir))
	})
}

// CH12: somebody deletes the holder's node.
func TestHolderWhoseNodeIsDeletedIsTold_CH12(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			m := w.new()
			f := m.RLock
			if exclusive {
				f = m.Lock
			}
			h := w.get(f)
			w.Pass(time.Minute)
			require.NoError(w, w.Server.Delete(h.Path()))
			began := time.Now()
			<-h.Context().Done()
			require.LessOrEqual(w, time.Since(began), time.Second, "a heartbeat period")
			require.ErrorIs(w, context.Cause(h.Context()), session.ErrNodeDeleted)
			require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrNodeDeleted)
			require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrNodeDeleted, "a second time, too")
			w.unlock(w.get(f))
		})
	}
}

func TestUnlockWhileTheServerIsAwayGoesOn(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.new()
		for _, f := range []take{m.Lock, m.RLock} {
			h := w.get(f)
			require.NoError(w, w.Server.Stop(1))
			began := time.Now()
			require.ErrorIs(w, h.Unlock(w.Within(2*time.Second)), context.DeadlineExceeded)
			require.Equal(w, 2*time.Second, time.Since(began))
			require.ErrorIs(w, context.Cause(h.Context()), session.ErrReleased)
			require.NoError(w, w.Server.Restart(1))
			w.Pass(20 * time.Second)
			require.Empty(w, w.Children(dir))
			require.ErrorIs(w, h.Unlock(w.Ctx), rwlock.ErrNotHeld)
		}
	})
}

func TestTwoUnlocksAtOnceAreOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().RLock)
		w.Server.Delay(zktest.Link{}, zktest.Both, 500*time.Millisecond)
		out := make(chan error, 1)
		// Waited for below; ends with the answer.
		go func() { out <- h.Unlock(w.Ctx) }()
		w.Settle()
		began := time.Now()
		require.ErrorIs(w, h.Unlock(w.Within(100*time.Millisecond)), context.DeadlineExceeded, "its own context counts")
		require.Equal(w, 100*time.Millisecond, time.Since(began))
		require.ErrorIs(w, h.Unlock(w.Ctx), rwlock.ErrNotHeld)
		require.NoError(w, <-out)
		w.Server.Heal()
	})
}

// A mere disconnect loses nothing, and wakes nobody into what is not its turn.
func TestDisconnectIsNoLoss(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		h := w.down(w.get(w.new().Lock))
		writer := w.begin(w.Ctx, w.new().Lock)
		reader := w.begin(w.Ctx, w.new().RLock)
		for i := range 15 {
			switch i % 3 {
			case 0:
				w.Server.CutAll()
			case 1:
				require.NoError(w, w.Server.Stop(1+i%3))
				w.Pass(2 * time.Second)
				require.NoError(w, w.Server.Restart(1+i%3))
			case 2:
				w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
				w.Pass(time.Second)
				w.Server.Heal()
			}
			w.Pass(4 * time.Second)
			require.NoError(w, h.Context().Err(), "round %d: %v", i, context.Cause(h.Context()))
			w.pending(writer, reader)
		}
		w.unlock(h)
		w.unlock(w.granted(writer))
		w.unlock(w.granted(reader))
	})
}

func TestCloseOfTheClientLosesWhatIsHeldAndEndsWhoWaits(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		m := rwlock.New(a, dir, nil)
		h := w.get(m.Lock)
		reader := w.begin(w.Ctx, m.RLock)
		far := w.begin(w.Ctx, rwlock.New(b, dir, nil).Lock)
		require.NoError(w, b.Close(w.Ctx))
		require.ErrorIs(w, (<-far).err, session.ErrClosed)
		require.NoError(w, a.Close(w.Ctx))
		require.ErrorIs(w, (<-reader).err, session.ErrClosed)
		require.ErrorIs(w, context.Cause(h.Context()), session.ErrClosed)
		_, err := h.Downgrade(w.Ctx)
		require.ErrorIs(w, err, session.ErrClosed)
		require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrClosed)
		for _, f := range []take{m.Lock, m.RLock, m.TryLock, m.TryRLock} {
			_, err := f(w.Ctx)
			require.ErrorIs(w, err, session.ErrClosed)
		}
		require.Empty(w, w.Children(dir))
	})
}

// The release is the first to hear of it.
func TestReleaseOfAZnodeThatSomebodyHasDeletedTellsTheLoss(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := rwlock.New(w.Client(), dir, nil)
		for _, take := range []func(context.Context) (*rwlock.Held, error){m.Lock, m.RLock} {
			h, err := take(w.Ctx)
			require.NoError(w, err)
			require.NoError(w, w.Server.Delete(h.Path()))
			require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrNodeDeleted)
		}
	})
}
