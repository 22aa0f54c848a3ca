package node_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// A znode that goes with a session is a wait and a hold at its path, and another hold
// after a loss; other znodes have no events.
func TestEventsOfKeptZnodes(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		c, events := w.ClientObserved(world.IsWaitOrHold)
		k := w.keep(c, mode, "a")
		was := k.Token()
		w.Settle()
		require.NoError(w, w.Server.DeleteAll(k.Path()))
		w.remakes(k, was, "a")
		again := k.Token()
		w.Settle()
		w.release(k)
		w.Pass(time.Minute)
		if !ephemeral(mode) {
			require.Empty(w, events)
			return
		}
		require.Equal(w, observe.Node, (<-events).(observe.WaitBegun).Kind)
		require.NoError(w, (<-events).(observe.WaitEnded).Err)
		for _, hold := range []struct {
			token int64
			end   observe.End
		}{{was, observe.Lost}, {again, observe.Released}} {
			begun := (<-events).(observe.HoldBegun).Hold
			require.Equal(w, path, begun.Path)
			require.Equal(w, hold.token, begun.Token)
			ended := (<-events).(observe.HoldEnded)
			require.Equal(w, begun.ID, ended.ID)
			require.Equal(w, hold.end, ended.End)
		}
		require.Empty(w, events)
	})
}

// A call that fails has waited, and holds nothing.
func TestEventsOfAConflict(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.ClientObserved(world.IsWaitOrHold)
		other := w.keep(w.Client(), session.Ephemeral, "other")
		_, err := node.New(c, path, session.Ephemeral, nil).Keep(w.Ctx, nil)
		require.ErrorIs(w, err, node.ErrConflict)
		require.Equal(w, path, (<-events).(observe.WaitBegun).Path)
		require.Equal(w, err, (<-events).(observe.WaitEnded).Err)
		require.Empty(w, events)
		w.release(other)
	})
}

// An observer may keep other znodes, and read the state of the znode that reports to it.
func TestObserverMayUseTheNode(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var own atomic.Pointer[node.Kept]
		var inside, over atomic.Bool
		var calls atomic.Int64
		var c *session.Client
		c = w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			if !world.IsWaitOrHold(e) || over.Load() || !inside.CompareAndSwap(false, true) {
				return
			}
			defer inside.Store(false)
			calls.Add(1)
			if k := own.Load(); k != nil {
				_ = k.State()
			}
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			k, err := node.New(c, folder+"/another", session.Ephemeral, nil).Keep(within, []byte("b"))
			if err == nil {
				err = k.Release(within)
			}
			if err != nil {
				w.Errorf("%s: %v", e.Name(), err)
			}
		})})
		k := w.keep(c, session.Ephemeral, "a")
		own.Store(k)
		was := k.Token()
		require.NoError(w, w.Server.DeleteAll(k.Path()))
		w.remakes(k, was, "a")
		w.Pass(time.Minute)
		w.release(k)
		over.Store(true)
		w.Settle() // a call in progress ends
		require.Greater(w, calls.Load(), int64(3), "the wait, and both holds")
	})
}
