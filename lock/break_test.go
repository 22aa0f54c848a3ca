package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

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

// Of several clients that break the same hold, one does; and a holder that has come since is
// not touched.
func TestHoldIsBrokenOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, nil))
		m := lock.New(w.Client(), dir, nil)
		queue, err := m.Contenders(w.Ctx)
		require.NoError(w, err)
		const operators = 8
		results := make(chan error, operators)
		for i := range operators {
			o := lock.New(w.Client(), dir, nil)
			// Waited for below; ends with the break.
			go func() { results <- o.Break(w.Ctx, queue[0], fmt.Sprint(i), "it hangs") }()
		}
		broken := 0
		for range operators {
			if err := <-results; err == nil {
				broken++
			} else {
				require.ErrorIs(w, err, lock.ErrNotHeld)
			}
		}
		require.Equal(w, 1, broken)
		_ = h.Unlock(w.Ctx) // reports the loss
		next := w.lock(m)
		require.ErrorIs(w, m.Break(w.Ctx, queue[0], "", "late"), lock.ErrNotHeld)
		w.Pass(time.Minute)
		require.NoError(w, next.Context().Err())
		w.unlock(next)
	})
}

func TestBreakRefusesWhatIsNoHolder(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		w.Server.ResetStats()
		for _, path := range []string{"", dir, dir + "/", "/locks/b/x", dir + "/x/y", dir + ".waiting/x"} {
			require.ErrorIs(w, m.Break(w.Ctx, lock.Contender{Path: path, Name: "x"}, "", "r"), lock.ErrInvalidArgument, path)
		}
		require.ErrorIs(w, m.Break(w.Ctx, lock.Contender{Path: dir + "/x", Name: "x"}, "", ""), lock.ErrInvalidArgument)
		require.ErrorIs(w, (*lock.Mutex)(nil).Break(w.Ctx, lock.Contender{}, "", "r"), lock.ErrInvalidArgument)
		_, err := (*lock.Mutex)(nil).Breaks(w.Ctx)
		require.ErrorIs(w, err, lock.ErrInvalidArgument)
		_, _, err = (*lock.Held)(nil).Broken(w.Ctx)
		require.ErrorIs(w, err, lock.ErrInvalidArgument)
		require.Zero(w, w.Requests(c))
		require.ErrorIs(w, m.Break(w.Ctx, lock.Contender{Path: dir + "/x", Name: "x"}, "", "r"), lock.ErrNotHeld)
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

// A record that cannot be read is not shown, and does not protect a holder.
func TestGarbageAmongTheBreaks(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, nil))
		m := lock.New(w.Client(), dir, nil)
		queue, err := m.Contenders(w.Ctx)
		require.NoError(w, err)
		for _, path := range []string{dir + ".breaks", dir + ".breaks/x", dir + fmt.Sprintf(".breaks/%016x", queue[0].Token)} {
			require.NoError(w, w.Server.Create(path, []byte(`{"format": 9}`)))
		}
		all, err := m.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, all)
		require.NoError(w, m.Break(w.Ctx, queue[0], "", "it hangs"))
		all, err = m.Breaks(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, 1)
		_ = h.Unlock(w.Ctx) // reports the loss
	})
}

// Whatever is lost, the lock is broken with its record, or neither; and the next contender
// gets it.
func TestBreakUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Break", Paths: []string{dir}, Next: nextLocks(nil),
		Setup: func(_ *matrix.Env, p *world.Party) error {
			h, err := lock.New(p.Other, dir, nil).Lock(context.Background())
			p.State = h
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			h := p.State.(*lock.Held)
			m := lock.New(p.Tested, dir, nil)
			queue, err := m.Contenders(ctx)
			if err == nil {
				err = m.Break(ctx, queue[0], "op", "it hangs")
			}
			world.Pause(h.Session().Heartbeat() + 2*time.Second)
			lost := h.Context().Err() != nil
			b, ok, readErr := h.Broken(context.Background())
			switch {
			case readErr != nil:
				return fmt.Errorf("broken: %w", readErr)
			case lost != ok || ok && b.Token != h.Token():
				return fmt.Errorf("lost: %v, with a record: %v, %+v", lost, ok, b)
			case err == nil && !lost:
				return errors.New("done, and still held")
			case err != nil && lost && !errors.Is(err, session.ErrUnknownOutcome):
				return fmt.Errorf("broken, and the error does not say that it is possible: %w", err)
			}
			_ = h.Unlock(context.Background()) // may report the loss
			return err
		},
	}.Run(t)
}

// The record is found whatever becomes of its read.
func TestBrokenUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Broken", Paths: []string{dir}, Next: nextLocks(nil), Excuses: []error{session.ErrLost},
		Op: func(ctx context.Context, p *world.Party) error {
			h, err := lock.New(p.Tested, dir, nil).Lock(ctx)
			if err != nil {
				return err
			}
			m := lock.New(p.Other, dir, nil)
			queue, err := m.Contenders(context.Background())
			if err == nil && len(queue) > 0 {
				err = m.Break(context.Background(), queue[0], "op", "it hangs")
			}
			if err != nil && !errors.Is(err, lock.ErrNotHeld) {
				return fmt.Errorf("break: %w", err)
			}
			broken := err == nil && len(queue) > 0
			<-h.Context().Done()
			_, ok, err := h.Broken(ctx)
			_ = h.Unlock(ctx) // reports the loss
			if err == nil && ok != broken {
				return fmt.Errorf("broken: %v, and said: %v", broken, ok)
			}
			return err
		},
	}.Run(t)
}
