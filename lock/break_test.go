package lock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// holder is the first contender of m.
func (w *World) holder(m *lock.Mutex) lock.Contender {
	w.Helper()
	queue, err := m.Contenders(w.Ctx)
	require.NoError(w, err)
	require.NotEmpty(w, queue)
	return queue[0]
}

func TestLockIsTakenAwayFromItsHolder(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, two := lock.New(w.Client(), dir, &lock.Options{ID: "one"}), lock.New(w.Client(), dir, &lock.Options{ID: "two"})
		h := w.lock(one)
		next := w.startLock(w.Ctx, two)
		queue, err := two.Contenders(w.Ctx)
		require.NoError(w, err)
		require.ErrorIs(w, two.Break(w.Ctx, queue[1], "", "wrong"), lock.ErrInvalidArgument, "it waits")
		_, ok, err := h.Broken(w.Ctx)
		require.NoError(w, err)
		require.False(w, ok)
		w.requirePending(next)

		operator := lock.New(w.Client(), dir, nil)
		require.NoError(w, operator.Break(w.Ctx, queue[0], "alice", "it hangs"))
		got := <-next
		require.NoError(w, got.err)
		w.Pass(h.Session().Heartbeat() + time.Second)
		require.ErrorIs(w, context.Cause(h.Context()), session.ErrNodeDeleted)
		b, ok, err := h.Broken(w.Ctx)
		require.NoError(w, err)
		require.True(w, ok)
		require.WithinDuration(w, time.Now(), b.At, 10*time.Second)
		want := lock.Break{Holder: "one", Session: h.Session().ID(), Token: h.Token(), By: "alice", Reason: "it hangs", At: b.At}
		require.Equal(w, want, b)
		require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrLost)
		all, err := one.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, []lock.Break{want}, all)

		require.ErrorIs(w, two.Break(w.Ctx, queue[0], "", "again"), lock.ErrNotHeld)
		w.unlock(got.held)
		_, ok, err = got.held.Broken(w.Ctx)
		require.NoError(w, err)
		require.False(w, ok, "released")
	})
}

func TestBreakRefusesWhatIsNoHolder(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		w.ResetStats()
		for _, path := range []string{"", dir, dir + "/", "/locks/b/x", dir + "/x/y", dir + ".other/x", dir + ".waiting/x/y"} {
			require.ErrorIs(w, m.Break(w.Ctx, lock.Contender{Path: path, Name: "x"}, "", "r"), lock.ErrInvalidArgument, path)
		}
		require.ErrorIs(w, m.Break(w.Ctx, lock.Contender{Path: dir + "/x", Name: "x"}, "", ""), lock.ErrInvalidArgument)
		require.ErrorIs(w, (*lock.Mutex)(nil).Break(w.Ctx, lock.Contender{}, "", "r"), lock.ErrInvalidArgument)
		_, err := (*lock.Mutex)(nil).Breaks(w.Ctx)
		require.ErrorIs(w, err, lock.ErrInvalidArgument)
		_, _, err = (*lock.Held)(nil).Broken(w.Ctx)
		require.ErrorIs(w, err, lock.ErrInvalidArgument)
		require.Zero(w, w.Requests(c))
		for _, path := range []string{dir + "/x", dir + ".waiting/x"} {
			require.ErrorIs(w, m.Break(w.Ctx, lock.Contender{Path: path, Name: "x"}, "", "r"), lock.ErrNotHeld, "it has gone")
		}
		all, err := m.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, all)
	})
}

// The number of records stays small, and the newest are kept.
func TestOldBreaksAreDeleted(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m, holder := lock.New(w.Client(), dir, nil), lock.New(w.Client(), dir, nil)
		for i := range 20 {
			h := w.lock(holder)
			queue, err := m.Contenders(w.Ctx)
			require.NoError(w, err)
			require.NoError(w, m.Break(w.Ctx, queue[0], "", fmt.Sprint(i)))
			_ = h.Unlock(w.Ctx) // reports the loss
			w.Pass(time.Second)
		}
		all, err := m.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, 16)
		require.Equal(w, "19", all[0].Reason)
		require.Equal(w, "4", all[15].Reason)
		require.Len(w, w.Children(dir+".breaks"), 16)
	})
}

// Znodes that are no records are not deleted with old records, and are not shown.
func TestStrangersAmongTheBreaksStay(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, nil))
		require.NoError(w, w.Server.Create(dir+".breaks", nil))
		for i := range 20 {
			require.NoError(w, w.Server.Create(fmt.Sprintf("%s.breaks/stranger-%d", dir, i), nil))
		}
		m := lock.New(w.Client(), dir, nil)
		require.NoError(w, m.Break(w.Ctx, w.holder(m), "op", "r"))
		require.Len(w, w.Children(dir+".breaks"), 21)
		all, err := m.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, 1)
		_ = h.Unlock(w.Ctx) // reports the loss
	})
}

// A record that cannot be read is not shown, and does not protect a holder.
func TestGarbageAmongTheBreaks(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, nil))
		m := lock.New(w.Client(), dir, nil)
		holder := w.holder(m)
		for _, path := range []string{dir + ".breaks", dir + ".breaks/x", dir + fmt.Sprintf(".breaks/%016x", holder.Token)} {
			require.NoError(w, w.Server.Create(path, []byte(`{"format": 9}`)))
		}
		all, err := m.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, all)
		require.NoError(w, m.Break(w.Ctx, holder, "", "it hangs"))
		all, err = m.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, 1)
		_ = h.Unlock(w.Ctx) // reports the loss
	})
}

// Of two users of a process that hand the lock over, the one who had released it lost nothing.
func TestBreakAfterAHandOver(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		own := lock.New(w.Client(), dir, &lock.Options{LocalHandover: time.Hour})
		first := w.lock(own)
		next := w.startLock(w.Ctx, own)
		w.unlock(first)
		second := (<-next).held
		m := lock.New(w.Client(), dir, nil)
		holder := w.holder(m)
		require.NoError(w, m.Break(w.Ctx, holder, "op", "r"))
		<-second.Context().Done()
		_, ok, err := first.Broken(w.Ctx)
		require.NoError(w, err)
		require.False(w, ok)
		_, ok, err = second.Broken(w.Ctx)
		require.NoError(w, err)
		require.True(w, ok)
		_ = second.Unlock(w.Ctx) // reports the loss
	})
}

// The reply is lost, and an operator deletes the record before it is looked for: nothing tells
// which client has deleted the holder's znode.
func TestBreakWhoseRecordIsDeletedIsUnknown(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, nil))
		c := w.Client()
		m := lock.New(c, dir, nil)
		holder := w.holder(m)
		require.NoError(w, w.Server.Create(dir+".breaks", nil))
		id := w.ID(c)
		remove := w.Server.FailNth(func(r zktest.Request) bool { return r.Session == id && r.Op == "multi" && !r.OnlyChecks }, 1, zktest.Action{Do: zktest.DropReplyCut})
		defer remove()
		w.Server.Delay(zktest.Link{Session: id}, zktest.Both, time.Second) // each answer is late
		deleted := make(chan error, 1)
		// Waited for below; ends when there is a record.
		go func() {
			for {
				if names, err := w.Server.Children(dir + ".breaks"); err != nil || len(names) > 0 {
					deleted <- w.Server.DeleteAll(dir + ".breaks")
					return
				}
				world.Pause(time.Millisecond)
			}
		}()
		err := m.Break(w.Ctx, holder, "op", "r")
		require.NoError(w, <-deleted)
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorIs(w, err, lock.ErrNotHeld)
		_ = h.Unlock(w.Ctx) // reports the loss
	})
}

// Neither a record of another form nor a long description protects a holder.
func TestBreakOfAHolderWithStrangeData(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, &lock.Options{ID: strings.Repeat("\x01\xff", 150_000)}))
		m := lock.New(w.Client(), dir, nil)
		holder := w.holder(m)
		record := dir + fmt.Sprintf(".breaks/%016x", holder.Token)
		for _, path := range []string{dir + ".breaks", record, record + "/x"} {
			require.NoError(w, w.Server.Create(path, nil))
		}
		require.NoError(w, m.Break(w.Ctx, holder, "op", "r"))
		all, err := m.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, 1)
		require.Less(w, len(all[0].Holder), 4000)
		_ = h.Unlock(w.Ctx) // reports the loss
	})
}

// The deletion of old records does not keep the caller waiting.
func TestBreakEndsThoughOldRecordsCannotBeListed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, nil))
		c := w.Client()
		m := lock.New(c, dir, nil)
		holder := w.holder(m)
		require.NoError(w, w.Server.Create(dir+".breaks", nil))
		id := w.ID(c)
		remove := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Session == id && r.Path == dir+".breaks" {
				return zktest.Action{Do: zktest.DropRequest}
			}
			return zktest.Action{}
		})
		defer remove()
		begun := time.Now()
		require.NoError(w, m.Break(w.Ctx, holder, "op", "r"))
		require.Less(w, time.Since(begun), 5*time.Second)
		_ = h.Unlock(w.Ctx) // reports the loss
	})
}

// The holder goes between the read of its znode and that of the queue: it has gone, and does
// not wait behind another contender.
func TestHolderThatGoesWhileItIsBrokenHasGone(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, nil))
		next := w.startLock(w.Ctx, lock.New(w.Client(), dir, nil))
		c := w.Client()
		m := lock.New(c, dir, nil)
		holder := w.holder(m)
		id := w.ID(c)
		w.Once(func(r zktest.Request) bool { return r.Session == id && r.Op == "getChildren2" && r.Path == dir }, func() {
			require.NoError(w, w.Server.ExpireSession(h.Session().ID()))
		})
		require.ErrorIs(w, m.Break(w.Ctx, holder, "op", "r"), lock.ErrNotHeld)
		got := <-next
		require.NoError(w, got.err)
		w.unlock(got.held)
		_ = h.Unlock(w.Ctx) // reports the loss
	})
}
