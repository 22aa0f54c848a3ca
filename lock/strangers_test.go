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

// What others do with the znodes.

// PD1: children that are no contenders make no difference.
func TestForeignChildrenAreIgnored_PD1(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		require.NoError(w, w.srv.Create("/locks", nil))
		require.NoError(w, w.srv.Create(dir, nil))
		strangers := []string{
			"config", "lock", "lock-", "lock-123", "x", "_c_", "0000000000", "-0000000001", "READ-0000000000",
			"_c_1-lease-0000000000", "_c_1-4-permit-0000000000", "lock-00000000x0", "a__lock__", "blocked-by-0000000000",
			"lock-+000000001", "lock-9999999999",
		}
		for _, name := range strangers {
			require.NoError(w, w.srv.Create(dir+"/"+name, nil))
		}
		m := lock.New(w.client(), dir, nil)
		h, err := m.TryLock(w.within(time.Minute))
		require.NoError(w, err)
		list, err := m.Contenders(w.ctx)
		require.NoError(w, err)
		require.Len(w, list, 1)
		out := w.begin(w.ctx, lock.New(w.client(), dir, nil))
		w.unlock(h)
		g := <-out
		require.NoError(w, g.err)
		w.unlock(g.held)
		w.settle()
		require.Len(w, w.children(dir), len(strangers))
	})
}

// P19: the order is that of the numbers; prefixes are random.
func TestPrefixesDoNotChangeTheOrder_P19(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		h := w.lock(lock.New(w.client(), dir, nil))
		var outs []<-chan won
		for i := range 30 {
			o := &lock.Options{}
			if i%2 == 1 {
				o.Layout = lock.Kazoo // honored in the same queue
			}
			outs = append(outs, w.begin(w.ctx, lock.New(w.client(), dir, o)))
		}
		for i, out := range outs {
			w.unlock(h)
			w.settle()
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
			inWorld(t, nil, func(w *world) {
				c := w.client()
				m := lock.New(c, dir, nil)
				w.unlock(w.lock(m))
				for _, take := range []func(context.Context) (*lock.Held, error){m.Lock, m.TryLock, m.Lock} {
					require.NoError(w, w.srv.SetSequence(dir, next))
					_, err := take(w.within(time.Minute))
					require.ErrorIs(w, err, session.ErrSequenceExhausted)
					w.settle()
				}
				require.Empty(w, w.children(dir), "and nothing stays")
				// The way out that the error names.
				require.NoError(w, w.srv.Delete(dir))
				w.unlock(w.lock(m))
			})
		})
	}
}

func TestLastGoodNumbersStillLock_P18(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		m := lock.New(w.client(), dir, nil)
		w.unlock(w.lock(m))
		require.NoError(w, w.srv.SetSequence(dir, 2147483645))
		for range 2 {
			h := w.lock(m)
			require.True(w, strings.HasSuffix(h.Path(), "-lock-214748364"+h.Path()[len(h.Path())-1:]))
			w.unlock(h)
		}
		_, err := m.Lock(w.within(time.Minute))
		require.ErrorIs(w, err, session.ErrSequenceExhausted)
	})
}

// P18: a contender of another library with such a number may believe to be the
// first: not even the one with the lowest good number may be granted the lock.
func TestNobodyIsGrantedBesideAnExhaustedContender_P18(t *testing.T) {
	for _, name := range []string{"_c_x-lock--2147483648", "_c_x-lock--2147483640", "_c_x-lock--000000005", "_c_x-lock-2147483647", "x__lock__-999999999"} {
		inWorld(t, nil, func(w *world) {
			require.NoError(w, w.srv.Create("/locks", nil))
			require.NoError(w, w.srv.Create(dir, nil))
			require.NoError(w, w.srv.Create(dir+"/"+name, nil))
			_, err := lock.New(w.client(), dir, nil).Lock(w.within(time.Minute))
			require.ErrorIs(w, err, session.ErrSequenceExhausted, name)
			w.settle()
			require.Equal(w, []string{name}, w.children(dir))
		})
	}
}

// CH2, CH12: somebody deletes the waiter's own node, at any time.
func TestWaiterWhoseNodeIsDeletedQueuesUpAgain_CH2_CH12(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 5 * time.Second} {
		inWorld(t, nil, func(w *world) {
			h := w.lock(lock.New(w.client(), dir, nil))
			out := w.begin(w.ctx, lock.New(w.client(), dir, nil))
			w.pass(after)
			own := w.waiting(h)
			require.Len(w, own, 1)
			require.NoError(w, w.srv.Delete(dir+"/"+own[0]))
			w.pass(5 * time.Second)
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
	inWorld(t, nil, func(w *world) {
		m := lock.New(w.client(), dir, nil)
		w.unlock(w.lock(m))
		w.settle()
		w.once(func(r zktest.Request) bool { return r.Op == "getChildren2" && r.Path == dir }, func() {
			for _, name := range w.children(dir) {
				if err := w.srv.Delete(dir + "/" + name); err != nil {
					w.Error(err)
				}
			}
		})
		out := w.begin(w.ctx, m)
		w.pass(time.Second)
		g := <-out
		require.NoError(w, g.err)
		w.settle()
		if g.held.Context().Err() != nil {
			require.ErrorIs(w, g.held.Unlock(w.ctx), session.ErrNodeDeleted)
			g.held = w.lock(m)
		}
		w.unlock(g.held)
	})
}

// waiting are the names in the queue that are not h's.
func (w *world) waiting(h *lock.Held) []string {
	var out []string
	for _, name := range w.children(dir) {
		if dir+"/"+name != h.Path() {
			out = append(out, name)
		}
	}
	return out
}

// P20: the predecessor goes between the listing and the watch.
func TestPredecessorThatGoesBeforeTheWatchIsSet_P20(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		h := w.lock(lock.New(a, dir, nil))
		last := w.begin(w.ctx, lock.New(c, dir, nil))
		w.once(func(r zktest.Request) bool {
			return r.Client == "c2" && r.Op == "getData" && strings.HasPrefix(r.Path, dir+"/")
		}, func() {
			for _, name := range w.waiting(h) { // the one in the middle
				if strings.HasSuffix(name, "0000000001") {
					_ = w.srv.Delete(dir + "/" + name)
				}
			}
		})
		out := w.begin(w.ctx, lock.New(b, dir, nil))
		w.pass(time.Second)
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
	inWorld(t, nil, func(w *world) {
		h := w.lock(lock.New(w.client(), dir, nil))
		first := w.begin(w.ctx, lock.New(w.client(), dir, nil))
		second := w.begin(w.ctx, lock.New(w.client(), dir, nil))
		w.pass(time.Minute)
		for _, name := range w.children(dir) {
			require.NoError(w, w.srv.Delete(dir+"/"+name))
		}
		require.NoError(w, w.srv.Delete(dir))
		<-h.Context().Done()
		require.ErrorIs(w, context.Cause(h.Context()), session.ErrNodeDeleted)
		// One of them has it, in a queue made anew, and then the other.
		for range 2 {
			w.pass(5 * time.Second)
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
	inWorld(t, &zktest.Options{ContainerInterval: 10 * time.Second}, func(w *world) {
		m := lock.New(w.client(), dir, nil)
		last := int64(0)
		for range 5 {
			h := w.lock(m)
			require.Greater(w, h.Token(), last, "the token grows although the numbers begin anew")
			last = h.Token()
			w.pass(30 * time.Second)
			require.NotEmpty(w, w.children(dir), "not reaped while it is used")
			w.unlock(h)
			w.pass(30 * time.Second)
			_, err := w.srv.Get(dir)
			require.ErrorIs(w, err, zktest.ErrNoNode)
		}
	})
}

func TestEphemeralParentIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.client()
		s, err := c.Session(w.ctx)
		require.NoError(w, err)
		_, err = s.Create(w.ctx, "/e", nil, session.Ephemeral, nil)
		require.NoError(w, err)
		for _, path := range []string{"/e", "/e/lock"} {
			_, err = lock.New(c, path, nil).Lock(w.within(time.Minute))
			require.ErrorIs(w, err, session.ErrNoChildrenForEphemerals)
			_, err = lock.NewSemaphore(c, path, 2, nil).Acquire(w.within(time.Minute), 1)
			require.ErrorIs(w, err, session.ErrNoChildrenForEphemerals)
		}
	})
}

func TestMissingRightsAreAnErrorAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		owner := w.clientWith(session.Options{Credentials: []session.Credential{session.Digest("me", "secret")}, ACL: session.CreatorACL()})
		h := w.lock(lock.New(owner, dir, nil))
		stranger := lock.New(w.client(), dir, nil)
		_, err := stranger.Lock(w.within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.Contains(w, err.Error(), "lock: acquire "+dir)
		_, err = stranger.TryLock(w.within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		w.unlock(h)
		w.unlock(w.lock(lock.New(owner, dir, nil)))
	})
}

// A contender that may create but not list must not stay in the queue.
func TestContenderThatMayNotListLeaves_P7(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		admin := w.client()
		s, err := admin.Session(w.ctx)
		require.NoError(w, err)
		require.NoError(w, s.EnsurePath(w.ctx, dir, session.Persistent, &session.CreateOptions{ACL: session.WorldACL(zk.PermCreate | zk.PermDelete)}))
		_, err = lock.New(w.client(), dir, nil).Lock(w.within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		w.settle()
		require.Empty(w, w.children(dir))
	})
}

func TestWrongArgumentsAreErrorsOfTheFirstCall(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.client()
		for name, m := range map[string]*lock.Mutex{
			"relative": lock.New(c, "locks", nil), "empty": lock.New(c, "", nil), "root": lock.New(c, "/", nil),
			"nil client": lock.New(nil, dir, nil), "layout": lock.New(c, dir, &lock.Options{Layout: 7}),
			"delay": lock.New(c, dir, &lock.Options{LockDelay: -1}),
		} {
			_, err := m.Lock(w.ctx)
			require.Error(w, err, name)
			require.True(w, isArgument(err), "%s: %v", name, err)
			_, err = m.TryLock(w.ctx)
			require.True(w, isArgument(err), "%s: %v", name, err)
			_, err = m.Contenders(w.ctx)
			require.True(w, isArgument(err), "%s: %v", name, err)
		}
		require.Len(w, w.srv.Dump(), 1, "the root")
	})
}

func TestEndedContextSendsNothing(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.client()
		ctx := w.within(0)
		<-ctx.Done()
		before := w.of(c)
		m := lock.New(c, dir, nil)
		_, err := m.Lock(ctx)
		require.ErrorIs(w, err, ctx.Err())
		_, err = m.TryLock(ctx)
		require.ErrorIs(w, err, ctx.Err())
		_, err = lock.All(m).Lock(ctx)
		require.ErrorIs(w, err, ctx.Err())
		_, err = lock.NewSemaphore(c, dir, 1, nil).Acquire(ctx, 1)
		require.ErrorIs(w, err, ctx.Err())
		require.ErrorIs(w, m.Do(ctx, nil), ctx.Err())
		require.Equal(w, before, w.of(c))
	})
}

func TestContendersAreListedInOrder(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		a, b := w.client(), w.client()
		m := lock.New(a, dir, &lock.Options{ID: "first"})
		list, err := m.Contenders(w.ctx)
		require.NoError(w, err)
		require.Empty(w, list)
		h := w.lock(m)
		ctx := w.within(time.Minute)
		out := w.begin(ctx, lock.New(b, dir, &lock.Options{Data: []byte("second"), Layout: lock.Kazoo}))
		list, err = m.Contenders(w.ctx)
		require.NoError(w, err)
		require.Len(w, list, 2)
		require.True(w, list[0].Holds)
		require.Equal(w, h.Token(), list[0].Token)
		require.Equal(w, w.id(a), list[0].Session)
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
	return errors.Is(err, lock.ErrArgument) || errors.Is(err, session.ErrInvalidPath)
}
