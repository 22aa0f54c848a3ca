package rwlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// listed are the contenders.
func (w *World) listed(m *rwlock.RWMutex) []rwlock.Contender {
	w.Helper()
	list, err := m.Contenders(w.Ctx)
	require.NoError(w, err)
	return list
}

// One of two readers loses the lock, and the other keeps it; the writer behind them gets in
// when both have gone.
func TestOneOfTwoReadersIsBroken(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, two := w.get(w.new().RLock), w.get(w.new().RLock)
		writer := w.startTake(w.Ctx, w.new().Lock)
		operator := w.new()
		list := w.listed(operator)
		require.ErrorIs(w, operator.Break(w.Ctx, list[2], "", "it waits"), rwlock.ErrInvalidArgument)
		require.NoError(w, operator.Break(w.Ctx, list[1], "alice", "it hangs"))
		<-two.Context().Done()
		require.ErrorIs(w, context.Cause(two.Context()), session.ErrNodeDeleted)
		w.Pass(time.Minute)
		require.NoError(w, one.Context().Err())
		w.pending(writer)
		b, ok, err := two.Broken(w.Ctx)
		require.NoError(w, err)
		require.True(w, ok)
		require.Equal(w, rwlock.Break{
			Holder: string(list[1].Data), Session: two.Session().ID(), Token: two.Token(), By: "alice", Reason: "it hangs", At: b.At,
		}, b)
		_, ok, err = one.Broken(w.Ctx)
		require.NoError(w, err)
		require.False(w, ok)
		w.unlock(one)
		w.unlock(w.granted(writer))
		require.ErrorIs(w, two.Unlock(w.Ctx), session.ErrLost)
	})
}

// A writer that has become a reader is another holder: a break that was meant for the writer
// changes nothing, and a break of the reader is found by the reader alone.
func TestDowngradedHolderIsBroken(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		writer := w.get(w.new().Lock)
		operator := w.new()
		before := w.listed(operator)
		reader, err := writer.Downgrade(w.Ctx)
		require.NoError(w, err)
		require.ErrorIs(w, operator.Break(w.Ctx, before[0], "", "late"), rwlock.ErrNotHeld)
		w.Pass(time.Minute)
		require.NoError(w, reader.Context().Err())

		require.NoError(w, operator.Break(w.Ctx, w.listed(operator)[0], "alice", "it hangs"))
		<-reader.Context().Done()
		_, ok, err := writer.Broken(w.Ctx)
		require.NoError(w, err)
		require.False(w, ok, "it was downgraded")
		b, ok, err := reader.Broken(w.Ctx)
		require.NoError(w, err)
		require.True(w, ok)
		require.Equal(w, "alice", b.By)
		require.NotEqual(w, reader.Token(), b.Token, "the token of the contender, not that of the hold")
		require.ErrorIs(w, reader.Unlock(w.Ctx), session.ErrLost)
		w.unlock(w.get(operator.Lock))
	})
}

func TestBreakRefusesWhatIsNoHolder(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := rwlock.New(c, dir, nil)
		w.ResetStats()
		for _, name := range []string{"", "x/y", "../b"} {
			require.ErrorIs(w, m.Break(w.Ctx, rwlock.Contender{Name: name}, "", "r"), rwlock.ErrInvalidArgument, name)
		}
		require.ErrorIs(w, m.Break(w.Ctx, rwlock.Contender{Name: "x"}, "", ""), rwlock.ErrInvalidArgument)
		require.ErrorIs(w, (*rwlock.RWMutex)(nil).Break(w.Ctx, rwlock.Contender{}, "", "r"), rwlock.ErrInvalidArgument)
		_, err := (*rwlock.RWMutex)(nil).Breaks(w.Ctx)
		require.ErrorIs(w, err, rwlock.ErrInvalidArgument)
		_, _, err = (*rwlock.Held)(nil).Broken(w.Ctx)
		require.ErrorIs(w, err, rwlock.ErrInvalidArgument)
		require.Zero(w, w.Requests(c))
		require.ErrorIs(w, m.Break(w.Ctx, rwlock.Contender{Name: "x"}, "", "r"), rwlock.ErrNotHeld)
		all, err := m.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, all)
	})
}

// The last records are kept, whatever the tokens are: the oldest holder may be the last that
// is broken.
func TestTheNewestBreaksAreKept(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		oldest, operator := w.get(w.new().RLock), w.new()
		list := w.listed(operator)
		for i := range 17 {
			h := w.get(w.new().RLock)
			require.NoError(w, operator.Break(w.Ctx, w.listed(operator)[1], "op", fmt.Sprint(i)))
			_ = h.Unlock(w.Ctx) // reports the loss
		}
		require.NoError(w, operator.Break(w.Ctx, list[0], "alice", "last"))
		<-oldest.Context().Done()
		b, ok, err := oldest.Broken(w.Ctx)
		require.NoError(w, err)
		require.True(w, ok)
		require.Equal(w, "last", b.Reason)
		all, err := operator.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, 16)
		require.Equal(w, []string{"last", "16", "15"}, []string{all[0].Reason, all[1].Reason, all[2].Reason})
		_ = oldest.Unlock(w.Ctx) // reports the loss
	})
}
