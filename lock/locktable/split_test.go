package locktable_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Transactions are cut by the length of paths, too: long names, and a table deep down.
func TestLongPathsMakeShorterTransactions(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		path := "/" + strings.Repeat("deep", 200) + "/table"
		c := w.Client()
		o, err := locktable.New(c, path, &locktable.Options{Unwatched: true}).Join(w.Ctx)
		require.NoError(w, err)
		longest, txns := 0, 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" && !r.OnlyChecks {
				n := 0
				for _, p := range r.Paths {
					n += len(p)
				}
				longest, txns = max(longest, n), txns+1
			}
			return zktest.Action{}
		})
		long := lockNames(1500)
		for i := range long {
			long[i] += strings.Repeat("x", 400)
		}
		held := w.try(o, long...)
		require.Len(w, held, 1500)
		require.NoError(w, o.Unlock(w.Ctx, held...))
		left, _, err := o.Remove(w.Ctx, keepNone)
		require.NoError(w, err)
		require.Empty(w, left)
		require.Less(w, longest, 256<<10)
		require.Greater(w, longest, 128<<10)
		require.Less(w, txns, 40)
		require.NoError(w, o.Release(w.Ctx))
	})
}

// Servers may be configured to accept less than a transaction of 500 locks.
func TestSmallMaxRequestMakesShorterTransactions(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.ClientWith(session.Options{MaxRequest: 20_000})
		o := w.join(c, &locktable.Options{Unwatched: true})
		for range 2 {
			held := w.try(o, lockNames(1200)...)
			require.Len(w, held, 1200)
			require.NoError(w, o.Unlock(w.Ctx, held...))
		}
		other := w.join(c, nil)
		held, err := other.Lock(w.withinMinute(), lockNames(300)...)
		require.NoError(w, err)
		require.NoError(w, other.Unlock(w.Ctx, held...))
		left, _, err := w.join(c, nil).Remove(w.Ctx, keepNone)
		require.NoError(w, err)
		require.Empty(w, left)
		require.Empty(w, w.Children(dir))
	})
}

// A single lock whose transaction is too long is an error, and nothing hangs.
func TestLockThatIsTooLongIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := w.join(w.ClientWith(session.Options{MaxRequest: 2_000}), nil)
		_, err := o.TryLock(w.Ctx, "a", strings.Repeat("long", 400))
		require.ErrorIs(w, err, session.ErrTooLarge)
		w.Settle()
		held := w.try(o, "a")
		require.Len(w, held, 1)
		require.NoError(w, o.Release(w.Ctx))
	})
}
