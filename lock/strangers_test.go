package lock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Tests of znodes created, changed or deleted by other programs.

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
		out := w.startLock(ctx, lock.New(b, dir, &lock.Options{Data: []byte("second"), Layout: lock.Kazoo}))
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
