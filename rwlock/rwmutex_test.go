package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// This file tests which contenders are let in, and when.

// N26: readers are in together, a writer is alone.
func TestReadersAreInTogetherAndAWriterAlone_N26(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var readers []*rwlock.Held
		for range 5 {
			readers = append(readers, w.get(w.new().RLock))
		}
		writer := w.startTake(w.Ctx, w.new().Lock)
		for _, h := range readers {
			w.pending(writer)
			require.NoError(w, h.Context().Err())
			require.False(w, h.Exclusive())
			w.unlock(h)
		}
		h := w.granted(writer)
		require.True(w, h.Exclusive())
		second, reader := w.startTake(w.Ctx, w.new().Lock), w.startTake(w.Ctx, w.new().RLock)
		w.Pass(time.Minute)
		w.pending(second, reader)
		w.unlock(h)
		h = w.granted(second)
		w.pending(reader)
		w.unlock(h)
		w.unlock(w.granted(reader))
	})
}

// N26, P10: readers that come behind a waiting writer wait for it, also one that
// shares its RWMutex, though readers are in.
func TestNoReaderPassesAnEarlierWriter_N26(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.new()
		first := w.get(m.RLock)
		writer := w.startTake(w.Ctx, m.Lock)
		var late []<-chan won
		for _, f := range []take{m.RLock, w.new().RLock, m.RLock} {
			late = append(late, w.startTake(w.Ctx, f))
		}
		_, err := m.TryRLock(w.Ctx)
		require.ErrorIs(w, err, rwlock.ErrBusy)
		w.Pass(time.Minute)
		w.pending(append(late, writer)...)
		w.unlock(first)
		h := w.granted(writer)
		w.pending(late...)
		w.unlock(h)
		for _, out := range late {
			w.unlock(w.granted(out))
		}
	})
}

// N26: a writer gets in although readers come without end, each before the one
// before has gone.
func TestWriterDoesNotStarve_N26(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.new()
		h := w.get(m.RLock)
		writer := w.startTake(w.Ctx, w.new().Lock)
		reads := []<-chan won{}
		for range 20 {
			reads = append(reads, w.startTake(w.Ctx, m.RLock))
		}
		w.unlock(h)
		h = w.granted(writer)
		w.pending(reads...)
		w.unlock(h)
		for _, out := range reads {
			w.unlock(w.granted(out))
		}
	})
}

// A writer that gives up lets the readers behind it join those before it.
func TestReadersGoOnWhenTheWriterBeforeThemGivesUp(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		first := w.get(w.new().RLock)
		ctx, cancel := context.WithCancel(w.Ctx)
		writer := w.startTake(ctx, w.new().Lock)
		reader := w.startTake(w.Ctx, w.new().RLock)
		w.pending(reader)
		cancel()
		require.ErrorIs(w, (<-writer).err, context.Canceled)
		h := w.granted(reader)
		require.NoError(w, first.Context().Err())
		w.unlock(first)
		w.unlock(h)
	})
}

// P10: two writers, and more, one after the other.
func TestWritersAreServedInTheirOrder_P10(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		var outs []<-chan won
		for range 8 {
			outs = append(outs, w.startTake(w.Ctx, w.new().Lock))
		}
		token := h.Token()
		for i, out := range outs {
			w.pending(outs[i:]...)
			w.unlock(h)
			h = w.granted(out)
			require.Greater(w, h.Token(), token)
			token = h.Token()
		}
		w.unlock(h)
		require.Empty(w, w.Children(dir))
	})
}

func TestTryLockNeedsAFreeLockAndTryRLockNoWriter(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m, other := w.new(), w.new()
		h := w.get(m.TryRLock)
		second := w.get(other.TryRLock)
		_, err := other.TryLock(w.Ctx)
		require.ErrorIs(w, err, rwlock.ErrBusy)
		w.unlock(h)
		w.unlock(second)
		h = w.get(m.TryLock)
		for _, f := range []take{other.TryLock, other.TryRLock, m.TryLock, m.TryRLock} {
			_, err = f(w.Ctx)
			require.ErrorIs(w, err, rwlock.ErrBusy)
		}
		w.unlock(h)
		w.Settle()
		require.Empty(w, w.Children(dir))
	})
}

// The one that comes between the look and the entry.
func TestTryThatComesTooLateLeavesNothing(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			m := w.new()
			f := m.TryRLock
			if exclusive {
				f = m.TryLock
			}
			w.unlock(w.get(f))
			var taken string
			w.Once(func(r zktest.Request) bool { return world.Creates(r.Op) }, func() {
				var err error
				if taken, err = w.Server.CreateSequential(dir+"/_c_x-__WRIT__", nil); err != nil {
					w.Error(err)
				}
			})
			_, err := f(w.Ctx)
			require.ErrorIs(w, err, rwlock.ErrBusy)
			w.Settle()
			require.Len(w, w.Children(dir), 1)
			require.NoError(w, w.Server.Delete(taken))
		})
	}
}

func TestContendersAreListedInOrder_CH14(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a := w.Client()
		m := rwlock.New(a, dir, &rwlock.Options{ID: "first"})
		list, err := m.Contenders(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, list)
		require.Equal(w, dir, m.Path())
		h, second := w.get(m.RLock), w.get(w.new().RLock)
		ctx := w.Within(time.Minute)
		kazoo := rwlock.New(w.Client(), dir, &rwlock.Options{Data: []byte("mine"), Layout: rwlock.Kazoo})
		writer := w.startTake(ctx, kazoo.Lock)
		reader := w.startTake(ctx, kazoo.RLock)
		list, err = m.Contenders(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 4)
		for i, want := range []struct{ holds, exclusive bool }{{true, false}, {true, false}, {false, true}, {false, false}} {
			require.Equal(w, want.holds, list[i].Holds, "%d", i)
			require.Equal(w, want.exclusive, list[i].Exclusive, "%d", i)
			require.EqualValues(w, i, list[i].Seq)
			require.WithinDuration(w, time.Now(), list[i].Since, time.Second)
		}
		require.Equal(w, "first", string(list[0].Data))
		require.Equal(w, "mine", string(list[2].Data))
		require.Equal(w, h.Token(), list[0].Token)
		require.Equal(w, dir+"/"+list[0].Name, h.Path())
		require.Equal(w, w.ID(a), list[0].Session)
		w.unlock(h)
		w.unlock(second)
		w.unlock(w.granted(writer))
		w.unlock(w.granted(reader))
	})
}
