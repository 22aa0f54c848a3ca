package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// startAwait starts h.AwaitRevocation, and returns once it waits or has ended.
func (w *World) startAwait(ctx context.Context, h *lock.Held) <-chan error {
	out := make(chan error, 1)
	// The bubble waits for the goroutine, which ends with the hold at the latest.
	go func() { out <- h.AwaitRevocation(ctx) }()
	synctest.Wait()
	return out
}

func TestHolderIsAskedToGiveTheLockBack(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, two := lock.New(w.Client(), dir, &lock.Options{ID: "one"}), lock.New(w.Client(), dir, nil)
		h := w.lock(one)
		asked := w.startAwait(w.Ctx, h)
		next := w.startLock(w.Ctx, two)
		queue, err := two.Contenders(w.Ctx)
		require.NoError(w, err)
		w.Pass(time.Hour)
		require.Empty(w, asked)
		if world.Has(world.Resumes) {
			w.Server.CutAll() // the watch goes with the connection, and is set again
			w.Pass(time.Second)
			require.Empty(w, asked)
		}

		require.NoError(w, two.Revoke(w.Ctx, queue[0]))
		w.Settle()
		require.NoError(w, <-asked)
		require.NoError(w, h.Context().Err(), "nothing is taken away")
		w.requirePending(next)
		require.NoError(w, h.AwaitRevocation(w.Ctx), "the request stays")
		w.unlock(h)
		got := <-next
		require.NoError(w, got.err)

		require.ErrorIs(w, one.Revoke(w.Ctx, queue[0]), lock.ErrNotHeld)
		require.ErrorIs(w, h.AwaitRevocation(w.Ctx), session.ErrReleased)
		w.unlock(got.held)
		w.RequireNoWatches()
	})
}

func TestAwaitRevocationEndsWithTheHoldAndWithItsContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		for what, end := range map[string]func(h *lock.Held){
			"released": func(h *lock.Held) { w.unlock(h) },
			"lost":     func(h *lock.Held) { require.NoError(w, w.Server.ExpireSession(h.Session().ID())) },
			"deleted":  func(h *lock.Held) { require.NoError(w, w.Server.Delete(h.Path())) },
		} {
			h := w.lock(m)
			asked := w.startAwait(w.Ctx, h)
			end(h)
			err := <-asked
			require.ErrorIs(w, err, context.Cause(h.Context()), what)
			require.ErrorContains(w, err, "lock: await revocation "+dir, what)
			if what != "released" {
				require.ErrorIs(w, err, session.ErrLost, what)
				_ = h.Unlock(w.Ctx) // reports the loss
			}
		}
		h := w.lock(m)
		short, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		require.ErrorIs(w, h.AwaitRevocation(short), context.DeadlineExceeded)
		require.NoError(w, h.Context().Err())
		w.unlock(h)
		w.RequireNoWatches()
	})
}

func TestRevokeRefusesWhatIsNoContender(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		w.ResetStats()
		for _, path := range []string{"", dir, dir + "/", "/locks/b/x", dir + "/x/y", dir + ".waiting/x"} {
			require.ErrorIs(w, m.Revoke(w.Ctx, lock.Contender{Path: path}), lock.ErrInvalidArgument, path)
		}
		require.Zero(w, w.Requests(c))
		require.ErrorIs(w, (*lock.Mutex)(nil).Revoke(w.Ctx, lock.Contender{}), lock.ErrInvalidArgument)
		require.ErrorIs(w, (*lock.Held)(nil).AwaitRevocation(w.Ctx), lock.ErrInvalidArgument)
		require.ErrorIs(w, m.Revoke(w.Ctx, lock.Contender{Path: dir + "/x"}), lock.ErrNotHeld)
	})
}

// The holder learns of the request whatever is lost, as long as it holds.
func TestAwaitRevocationUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "AwaitRevocation", Paths: []string{dir}, Next: nextLocks(nil),
		Op: func(ctx context.Context, p *world.Party) error {
			h, err := lock.New(p.Tested, dir, nil).Lock(ctx)
			if err != nil {
				return err
			}
			m := lock.New(p.Other, dir, nil)
			asked := make(chan error, 1)
			// Waited for below; ends with the hold.
			go func() { asked <- h.AwaitRevocation(ctx) }()
			world.Pause(time.Second)
			if queue, err := m.Contenders(context.Background()); err == nil && len(queue) > 0 {
				if err := m.Revoke(context.Background(), queue[0]); err != nil && !errors.Is(err, lock.ErrNotHeld) {
					return fmt.Errorf("revoke: %w", err)
				}
			}
			if err := <-asked; err != nil && h.Context().Err() == nil && ctx.Err() == nil {
				return fmt.Errorf("held, and not told: %w", err)
			}
			return h.Unlock(ctx)
		},
	}.Run(t)
}

func TestRevokeUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Revoke", Paths: []string{dir}, Next: nextLocks(nil),
		Setup: func(_ *matrix.Env, p *world.Party) error {
			h, err := lock.New(p.Other, dir, nil).Lock(context.Background())
			p.State = h
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			h := p.State.(*lock.Held)
			defer func() { _ = h.Unlock(context.Background()) }()
			m := lock.New(p.Tested, dir, nil)
			queue, err := m.Contenders(ctx)
			if err != nil {
				return err
			}
			if err := m.Revoke(ctx, queue[0]); err != nil {
				return err
			}
			asked, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			return h.AwaitRevocation(asked)
		},
	}.Run(t)
}
