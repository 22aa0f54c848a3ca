package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// How a lock is lost, and how one finds out.

// P2, P27, N21, N22, CL15: a holder that is cut off is told before the next one
// is granted, in whatever direction packets get lost.
func TestHolderIsToldBeforeTheNextOneIsGranted_P2_N22(t *testing.T) {
	for name, dir1 := range map[string]zktest.Direction{"both": zktest.Both, "to server": zktest.ToServer, "to client": zktest.ToClient} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				a, b := w.Client(), w.Client()
				h := w.lock(lock.New(a, dir, nil))
				w.Pass(3700 * time.Millisecond)
				out := w.begin(w.Ctx, lock.New(b, dir, nil))
				w.Server.BlackHole(zktest.Link{Client: "c1"}, dir1)
				<-h.Context().Done()
				told := time.Now()
				require.ErrorIs(w, context.Cause(h.Context()), session.ErrLost)
				require.ErrorIs(w, context.Cause(h.Context()), session.ErrTrustRanOut)
				g := <-out
				require.NoError(w, g.err)
				require.GreaterOrEqual(w, g.at.Sub(told), time.Duration(0), "granted before the holder was told")
				require.Greater(w, g.held.Token(), h.Token())
				require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrLost)
				w.Server.Heal()
				w.unlock(g.held)
			})
		})
	}
}

// CL10: after a loss the same process contends like any other.
func TestFormerHolderWaitsLikeAnyOther_CL10(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		m := lock.New(a, dir, nil)
		h := w.lock(m)
		w.Expire(a)
		<-h.Context().Done()
		other := w.lock(lock.New(b, dir, nil))
		_, err := m.TryLock(w.Ctx)
		require.ErrorIs(w, err, lock.ErrBusy)
		out := w.begin(w.Ctx, m)
		w.Pass(time.Minute)
		w.pending(out)
		w.unlock(other)
		g := <-out
		require.NoError(w, g.err)
		require.True(w, isLoss(h.Unlock(w.Ctx)))
		require.NoError(w, g.held.Context().Err(), "the late Unlock of the first hold takes nothing from the second")
		w.unlock(g.held)
	})
}

// P3, P11: a waiter whose session expires must not take the lock in the session
// that is gone. It goes on in the next one.
func TestWaiterWhoseSessionExpiresGoesOnInTheNext_P3_P11(t *testing.T) {
	for _, releaseFirst := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			a, b := w.Client(), w.Client()
			h := w.lock(lock.New(a, dir, nil))
			out := w.begin(w.Ctx, lock.New(b, dir, nil))
			old := w.ID(b)
			w.Expire(b)
			if !releaseFirst {
				w.Pass(10 * time.Second)
				w.pending(out)
				require.Len(w, w.Children(dir), 2, "it waits again")
			}
			w.unlock(h)
			g := <-out
			require.NoError(w, g.err)
			w.Settle()
			require.NoError(w, g.held.Context().Err())
			require.NotEqual(w, old, g.held.Session().ID())
			w.unlock(g.held)
			w.Settle()
			require.Empty(w, w.Children(dir))
		})
	}
}

// P2, N20: the holder dies, and the next one gets the lock; a waiter dies, and
// the queue closes up. N19: nothing of a dead client stays.
func TestQueueClosesUpOverTheDead_N19_N20(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b, c := w.Client(), w.Client(), w.Client()
		h := w.lock(lock.New(a, dir, nil))
		middle, stop := context.WithCancel(w.Ctx)
		w.begin(middle, lock.New(b, dir, nil))
		last := w.begin(w.Ctx, lock.New(c, dir, nil))
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both) // dies while it waits
		w.Pass(30 * time.Second)
		w.pending(last)
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both) // dies while it holds
		g := <-last
		require.NoError(w, g.err)
		require.Error(w, h.Context().Err())
		stop()
		w.Server.Heal()
		w.unlock(g.held)
		w.Pass(time.Minute)
		require.Empty(w, w.Children(dir))
	})
}

// P4, N23, R16: a holder whose process was frozen does not know that it lost the lock.
// Its writes in flight are refused by guard and token.
func TestWriteOfAFrozenHolderIsRefused_P4_N23(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		require.NoError(w, w.Server.Create("/report", []byte("empty")))
		h := w.lock(lock.New(a, dir, nil))
		guard, token := h.Guard(), h.Token() // what its frozen goroutine has at hand
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		next := w.lock(lock.New(b, dir, nil))
		s := next.Session()
		_, err := s.Txn(w.Ctx, next.Guard(), session.SetOp("/report", []byte("new"), -1))
		require.NoError(w, err)
		w.Server.Heal()
		// Whatever session carries it.
		for _, c := range []*session.Client{a, b} {
			carrier, err := c.Session(w.Ctx)
			require.NoError(w, err)
			_, err = carrier.Txn(w.Ctx, guard, session.SetOp("/report", []byte("old"), -1))
			require.ErrorIs(w, err, session.ErrNoNode)
		}
		data, _, err := s.Get(w.Ctx, "/report")
		require.NoError(w, err)
		require.Equal(w, "new", string(data))
		require.Greater(w, next.Token(), token)
		w.unlock(next)
	})
}

func TestTokenIsTheCzxidThatAnybodyCanRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		last := int64(0)
		for range 10 {
			h := w.lock(m)
			node, err := w.Server.Get(h.Path())
			require.NoError(w, err)
			require.Equal(w, node.Czxid, h.Token())
			require.Equal(w, node.EphemeralOwner, h.Session().ID())
			require.Greater(w, h.Token(), last)
			last = h.Token()
			w.unlock(h)
		}
	})
}

// CH12, P2: somebody deletes the holder's node.
func TestHolderWhoseNodeIsDeletedIsTold_CH12(t *testing.T) {
	for _, after := range []time.Duration{0, time.Minute} {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			h := w.lock(lock.New(c, dir, nil))
			w.Pass(after)
			require.NoError(w, w.Server.Delete(h.Path()))
			began := time.Now()
			<-h.Context().Done()
			require.LessOrEqual(w, time.Since(began), time.Second, "a heartbeat period")
			require.ErrorIs(w, context.Cause(h.Context()), session.ErrNodeDeleted)
			require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrNodeDeleted)
			require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrNodeDeleted, "a second time, too")
			w.unlock(w.lock(lock.New(c, dir, nil)))
		})
	}
}

// P6, CH9: Unlock with a context that has ended does not wait, and does not
// forget: the deletion goes on. A further Unlock reports.
func TestUnlockWithAnEndedContextGoesOn_P6_CH9(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		for range 20 {
			h := w.lock(m)
			ctx, cancel := context.WithCancel(w.Ctx)
			cancel()
			began := time.Now()
			if err := h.Unlock(ctx); err != nil {
				require.ErrorIs(w, err, context.Canceled)
			}
			require.Zero(w, time.Since(began))
			w.Settle()
			require.Empty(w, w.Children(dir))
			require.ErrorIs(w, h.Unlock(w.Ctx), lock.ErrNotHeld)
		}
		w.unlock(w.lock(m))
	})
}

// CH1, CH9, PD2: the server is away at the release.
func TestUnlockWhileTheServerIsAway_CH1_PD2(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		h := w.lock(m)
		require.NoError(w, w.Server.Stop(1))
		began := time.Now()
		err := h.Unlock(w.Within(2 * time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Equal(w, 2*time.Second, time.Since(began))
		require.ErrorIs(w, context.Cause(h.Context()), session.ErrReleased)
		require.NoError(w, w.Server.Restart(1))
		w.Pass(20 * time.Second)
		require.Empty(w, w.Children(dir))
		w.unlock(w.lock(m))
	})
}

func TestTwoUnlocksAtOnceAreOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		h := w.lock(m)
		w.Server.Delay(zktest.Link{}, zktest.Both, 500*time.Millisecond)
		out := make(chan error, 1)
		// Waited for below; ends with the answer.
		go func() { out <- h.Unlock(w.Ctx) }()
		w.Settle()
		began := time.Now()
		require.ErrorIs(w, h.Unlock(w.Within(100*time.Millisecond)), context.DeadlineExceeded, "its own context counts")
		require.Equal(w, 100*time.Millisecond, time.Since(began))
		require.ErrorIs(w, h.Unlock(w.Ctx), lock.ErrNotHeld)
		require.NoError(w, <-out)
		w.Server.Heal()
	})
}

// A mere disconnect loses nothing.
func TestDisconnectIsNoLoss(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		c := w.Client()
		h := w.lock(lock.New(c, dir, nil))
		out := w.begin(w.Ctx, lock.New(w.Client(), dir, nil))
		for i := range 30 {
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
		}
		w.pending(out)
		w.unlock(h)
		g := <-out
		require.NoError(w, g.err)
		w.unlock(g.held)
	})
}

func TestCloseOfTheClientLosesWhatIsHeldAndEndsWhoWaits(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		m := lock.New(a, dir, nil)
		h := w.lock(m)
		local := w.begin(w.Ctx, m)
		far := w.begin(w.Ctx, lock.New(b, dir, nil))
		require.NoError(w, b.Close(w.Ctx))
		require.ErrorIs(w, (<-far).err, session.ErrClosed)
		require.NoError(w, a.Close(w.Ctx))
		require.ErrorIs(w, (<-local).err, session.ErrClosed)
		require.ErrorIs(w, context.Cause(h.Context()), session.ErrClosed)
		require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrClosed)
		_, err := m.Lock(w.Ctx)
		require.ErrorIs(w, err, session.ErrClosed)
		_, err = m.TryLock(w.Ctx)
		require.ErrorIs(w, err, session.ErrClosed)
		require.Empty(w, w.Children(dir))
	})
}

// A local waiter does not wait for a holder in the same process that is slow to notice
// its loss.
func TestLocalWaiterDoesNotWaitForALoserToNotice(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		h := w.lock(m)
		out := w.begin(w.Ctx, m)
		w.Expire(c)
		g := <-out // h is not unlocked
		require.NoError(w, g.err)
		require.True(w, isLoss(h.Unlock(w.Ctx)))
		require.NoError(w, g.held.Context().Err())
		w.unlock(g.held)
	})
}

var errWork = errors.New("work failed") // read only

func TestDoTellsOfLossAndOfTheWork(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		type key struct{}
		ctx := context.WithValue(w.Ctx, key{}, "value")
		require.NoError(w, m.Do(ctx, func(ctx context.Context, held *lock.Held) error {
			require.Equal(w, "value", ctx.Value(key{}))
			require.NoError(w, ctx.Err())
			require.NotZero(w, held.Token())
			return nil
		}))
		require.ErrorIs(w, m.Do(w.Ctx, func(context.Context, *lock.Held) error { return errWork }), errWork)

		err := m.Do(w.Ctx, func(ctx context.Context, held *lock.Held) error {
			w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			<-ctx.Done()
			require.ErrorIs(w, context.Cause(ctx), session.ErrLost)
			return errWork
		})
		w.Server.Heal()
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, errWork)

		err = m.Do(w.Ctx, func(context.Context, *lock.Held) error {
			w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			w.Pass(time.Minute) // it does not look
			return nil
		})
		w.Server.Heal()
		require.ErrorIs(w, err, session.ErrLost)
		w.unlock(w.lock(m))
	})
}

func TestDoEndsWithItsContextWhateverTheNetworkDoes(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		ctx := w.Within(5 * time.Second)
		began := time.Now()
		err := m.Do(ctx, func(ctx context.Context, _ *lock.Held) error {
			require.NoError(w, w.Server.Stop(1))
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.LessOrEqual(w, time.Since(began), 5*time.Second)
		require.NoError(w, w.Server.Restart(1))
		w.unlock(w.lock(m))
		w.Settle()
		require.Empty(w, w.Children(dir))
	})
}

func TestDoReleasesWhenTheWorkPanics(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		require.Panics(w, func() {
			_ = m.Do(w.Ctx, func(context.Context, *lock.Held) error { panic("boom") })
		})
		w.unlock(w.lock(m))
	})
}
