package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Tests of znodes that other programs create, change or delete.

// PD1: children that are no contenders make no difference.
func TestForeignChildrenAreIgnored_PD1(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/locks", nil))
		require.NoError(w, w.Server.Create(dir, nil))
		strangers := []string{
			"config", "lock", "lock-", "lock-123", "x", "_c_", "0000000000", "-0000000001", "READ-0000000000",
			"_c_1-lease-0000000000", "_c_1-4-permit-0000000000", "lock-00000000x0", "a__lock__", "blocked-by-0000000000",
			"lock-+000000001", "lock-9999999999",
		}
		for _, name := range strangers {
			require.NoError(w, w.Server.Create(dir+"/"+name, nil))
		}
		m := lock.New(w.Client(), dir, nil)
		h, err := m.TryLock(w.Within(time.Minute))
		require.NoError(w, err)
		list, err := m.Contenders(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 1)
		out := w.begin(w.Ctx, lock.New(w.Client(), dir, nil))
		w.unlock(h)
		g := <-out
		require.NoError(w, g.err)
		w.unlock(g.held)
		w.Settle()
		require.Len(w, w.Children(dir), len(strangers))
	})
}

// P19: the order is that of the numbers; prefixes are random.
func TestPrefixesDoNotChangeTheOrder_P19(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, nil))
		var outs []<-chan won
		for i := range 30 {
			o := &lock.Options{}
			if i%2 == 1 {
				o.Layout = lock.Kazoo // honored in the same queue
			}
			outs = append(outs, w.begin(w.Ctx, lock.New(w.Client(), dir, o)))
		}
		for i, out := range outs {
			w.unlock(h)
			w.Settle()
			for _, later := range outs[i+1:] {
				w.pending(later)
			}
			g := <-out
			require.NoError(w, g.err)
			h = g.held
		}
		w.unlock(h)
	})
}

// P18, PD8: numbers at the end of the counter have no order. Nobody is granted
// anything with them, whatever else is in the queue.
func TestExhaustedSequenceIsRefused_P18_PD8(t *testing.T) {
	for _, next := range []int32{2147483647, -2147483648, -2147483647, -2147483640, -1000000000, -999999999, -1} {
		t.Run(fmt.Sprint(next), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c := w.Client()
				m := lock.New(c, dir, nil)
				w.unlock(w.lock(m))
				for _, take := range []func(context.Context) (*lock.Held, error){m.Lock, m.TryLock, m.Lock} {
					require.NoError(w, w.Server.SetSequence(dir, next))
					_, err := take(w.Within(time.Minute))
					require.ErrorIs(w, err, session.ErrSequenceExhausted)
					w.Settle()
				}
				require.Empty(w, w.Children(dir), "and nothing stays")
				// The way out that the error names.
				require.NoError(w, w.Server.Delete(dir))
				w.unlock(w.lock(m))
			})
		})
	}
}

func TestLastGoodNumbersStillLock_P18(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		w.unlock(w.lock(m))
		require.NoError(w, w.Server.SetSequence(dir, 2147483645))
		for range 2 {
			h := w.lock(m)
			require.True(w, strings.HasSuffix(h.Path(), "-lock-214748364"+h.Path()[len(h.Path())-1:]))
			w.unlock(h)
		}
		_, err := m.Lock(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrSequenceExhausted)
	})
}

// P18: a contender of another library with such a number may believe to be the
// first: not even the one with the lowest good number may be granted the lock.
func TestNobodyIsGrantedBesideAnExhaustedContender_P18(t *testing.T) {
	for _, name := range []string{"_c_x-lock--2147483648", "_c_x-lock--2147483640", "_c_x-lock--000000005", "_c_x-lock-2147483647", "x__lock__-999999999"} {
		inWorld(t, nil, func(w *World) {
			require.NoError(w, w.Server.Create("/locks", nil))
			require.NoError(w, w.Server.Create(dir, nil))
			require.NoError(w, w.Server.Create(dir+"/"+name, nil))
			_, err := lock.New(w.Client(), dir, nil).Lock(w.Within(time.Minute))
			require.ErrorIs(w, err, session.ErrSequenceExhausted, name)
			w.Settle()
			require.Equal(w, []string{name}, w.Children(dir))
		})
	}
}

// CH2, CH12: somebody deletes the waiter's own node, at any time.
func TestWaiterWhoseNodeIsDeletedQueuesUpAgain_CH2_CH12(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 5 * time.Second} {
		inWorld(t, nil, func(w *World) {
			h := w.lock(lock.New(w.Client(), dir, nil))
			out := w.begin(w.Ctx, lock.New(w.Client(), dir, nil))
			w.Pass(after)
			own := w.waiting(h)
			require.Len(w, own, 1)
			require.NoError(w, w.Server.Delete(dir+"/"+own[0]))
			w.Pass(5 * time.Second)
			again := w.waiting(h)
			require.Len(w, again, 1)
			require.NotEqual(w, own, again)
			w.pending(out)
			w.unlock(h)
			g := <-out
			require.NoError(w, g.err)
			require.NoError(w, g.held.Context().Err())
			w.unlock(g.held)
		})
	}
}

// CH2: it is deleted between its creation and the listing.
func TestNodeDeletedBeforeItIsListed_CH2(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		w.unlock(w.lock(m))
		w.Settle()
		w.Once(func(r zktest.Request) bool { return r.Op == "getChildren2" && r.Path == dir }, func() {
			for _, name := range w.Children(dir) {
				if err := w.Server.Delete(dir + "/" + name); err != nil {
					w.Error(err)
				}
			}
		})
		out := w.begin(w.Ctx, m)
		w.Pass(time.Second)
		g := <-out
		require.NoError(w, g.err)
		w.Settle()
		if g.held.Context().Err() != nil {
			require.ErrorIs(w, g.held.Unlock(w.Ctx), session.ErrNodeDeleted)
			g.held = w.lock(m)
		}
		w.unlock(g.held)
	})
}

// waiting are the names in the queue that are not h's.
func (w *World) waiting(h *lock.Held) []string {
	var out []string
	for _, name := range w.Children(dir) {
		if dir+"/"+name != h.Path() {
			out = append(out, name)
		}
	}
	return out
}

// P20: the predecessor goes between the listing and the watch.
func TestPredecessorThatGoesBeforeTheWatchIsSet_P20(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b, c := w.Client(), w.Client(), w.Client()
		h := w.lock(lock.New(a, dir, nil))
		last := w.begin(w.Ctx, lock.New(c, dir, nil))
		w.Once(func(r zktest.Request) bool {
			return r.Client == "c2" && r.Op == "getData" && strings.HasPrefix(r.Path, dir+"/")
		}, func() {
			for _, name := range w.waiting(h) { // the one in the middle
				if strings.HasSuffix(name, "0000000001") {
					_ = w.Server.Delete(dir + "/" + name)
				}
			}
		})
		out := w.begin(w.Ctx, lock.New(b, dir, nil))
		w.Pass(time.Second)
		w.pending(out)
		w.unlock(h)
		g := <-out
		require.NoError(w, g.err)
		w.unlock(g.held)
		g = <-last // it queued up again
		require.NoError(w, g.err)
		w.unlock(g.held)
	})
}

func TestParentDeletedWhileAllWait(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, nil))
		first := w.begin(w.Ctx, lock.New(w.Client(), dir, nil))
		second := w.begin(w.Ctx, lock.New(w.Client(), dir, nil))
		w.Pass(time.Minute)
		require.NoError(w, w.Server.DeleteAll(dir))
		<-h.Context().Done()
		require.ErrorIs(w, context.Cause(h.Context()), session.ErrNodeDeleted)
		// One of them has it, in a queue made again, and then the other.
		for range 2 {
			w.Pass(5 * time.Second)
			var g won
			select {
			case g = <-first:
			case g = <-second:
			}
			require.NoError(w, g.err)
			require.NoError(w, g.held.Context().Err())
			w.unlock(g.held)
		}
	})
}

// The server deletes an empty container; the lock makes it again.
func TestContainerThatWasReapedIsMadeAgain(t *testing.T) {
	inWorld(t, &zktest.Options{ContainerInterval: 10 * time.Second}, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		last := int64(0)
		for range 5 {
			h := w.lock(m)
			require.Greater(w, h.Token(), last, "the token grows although the numbers begin again")
			last = h.Token()
			w.Pass(30 * time.Second)
			require.NotEmpty(w, w.Children(dir), "not reaped while it is used")
			w.unlock(h)
			w.Pass(30 * time.Second)
			_, err := w.Server.Get(dir)
			require.ErrorIs(w, err, zktest.ErrNoNode)
		}
	})
}

func TestEphemeralParentIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		s, err := c.Session(w.Ctx)
		require.NoError(w, err)
		_, err = s.Create(w.Ctx, "/e", nil, session.Ephemeral, nil)
		require.NoError(w, err)
		for _, path := range []string{"/e", "/e/lock"} {
			_, err = lock.New(c, path, nil).Lock(w.Within(time.Minute))
			require.ErrorIs(w, err, session.ErrNoChildrenForEphemerals)
			_, err = lock.NewSemaphore(c, path, 2, nil).Acquire(w.Within(time.Minute), 1)
			require.ErrorIs(w, err, session.ErrNoChildrenForEphemerals)
		}
	})
}

func TestMissingRightsAreAnErrorAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		owner := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("me", "secret")}, ACL: session.CreatorACL()})
		h := w.lock(lock.New(owner, dir, nil))
		stranger := lock.New(w.Client(), dir, nil)
		_, err := stranger.Lock(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.Contains(w, err.Error(), "lock: acquire "+dir)
		_, err = stranger.TryLock(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		w.unlock(h)
		w.unlock(w.lock(lock.New(owner, dir, nil)))
	})
}

// A contender that may create but not list must not stay in the queue.
// CH15.
func TestContenderThatMayNotListLeaves_P7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		admin := w.Client()
		s, err := admin.Session(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, s.EnsurePath(w.Ctx, dir, session.Persistent, &session.CreateOptions{ACL: session.WorldACL(zk.PermCreate | zk.PermDelete)}))
		_, err = lock.New(w.Client(), dir, nil).Lock(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		w.Settle()
		require.Empty(w, w.Children(dir))
	})
}

func TestWrongArgumentsAreErrorsOfTheFirstCall(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		for name, m := range map[string]*lock.Mutex{
			"relative": lock.New(c, "locks", nil), "empty": lock.New(c, "", nil), "root": lock.New(c, "/", nil),
			"nil client": lock.New(nil, dir, nil), "layout": lock.New(c, dir, &lock.Options{Layout: 7}),
			"delay": lock.New(c, dir, &lock.Options{LockDelay: -1}),
		} {
			_, err := m.Lock(w.Ctx)
			require.Error(w, err, name)
			require.True(w, isArgument(err), "%s: %v", name, err)
			_, err = m.TryLock(w.Ctx)
			require.True(w, isArgument(err), "%s: %v", name, err)
			_, err = m.Contenders(w.Ctx)
			require.True(w, isArgument(err), "%s: %v", name, err)
		}
		require.Len(w, w.Server.Dump(), 1, "the root")
	})
}

func TestContendersAreListedInOrder(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		m := lock.New(a, dir, &lock.Options{ID: "first"})
		list, err := m.Contenders(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, list)
		h := w.lock(m)
		ctx := w.Within(time.Minute)
		out := w.begin(ctx, lock.New(b, dir, &lock.Options{Data: []byte("second"), Layout: lock.Kazoo}))
		list, err = m.Contenders(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 2)
		require.True(w, list[0].Holds)
		require.Equal(w, h.Token(), list[0].Token)
		require.Equal(w, w.ID(a), list[0].Session)
		require.Equal(w, "first", string(list[0].Data))
		require.False(w, list[1].Holds)
		require.Equal(w, "second", string(list[1].Data))
		require.Equal(w, 1, list[1].Permits)
		require.WithinDuration(w, time.Now(), list[1].Since, time.Second)
		w.unlock(h)
		w.unlock((<-out).held)
	})
}

func isArgument(err error) bool {
	return errors.Is(err, lock.ErrInvalidArgument) || errors.Is(err, session.ErrInvalidPath)
}

// A Lock of Kazoo creates its path once: the path must not go while it is empty.
func TestPathOfKazooIsNoContainer(t *testing.T) {
	inWorld(t, &zktest.Options{ContainerInterval: 10 * time.Second}, func(w *World) {
		w.unlock(w.lock(lock.New(w.Client(), dir, &lock.Options{Layout: lock.Kazoo})))
		w.Pass(time.Minute)
		_, err := w.Server.Get(dir)
		require.NoError(w, err)
	})
}
