package discovery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// CH54: a registration that leaves before the answer to its creation leaves no
// znode, whenever it leaves.
func TestLeavingBeforeTheAnswerLeavesNothing_CH54(t *testing.T) {
	for _, typ := range types {
		for _, after := range []time.Duration{0, 5, 15, 25, 35, 45, 55, 65, 100} {
			t.Run(fmt.Sprint(typ, after), func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					r := registry(w.Client())
					w.Server.Delay(zktest.Link{}, zktest.Both, 10*time.Millisecond)
					g, err := r.Register(w.Within(after*time.Millisecond+1), typed("one", typ))
					if err == nil {
						// It was faster than that: leave at once.
						over, cancel := context.WithCancel(w.Ctx)
						cancel()
						require.ErrorIs(w, g.Unregister(over), context.Canceled)
					} else {
						require.ErrorIs(w, err, context.DeadlineExceeded)
					}
					w.Pass(time.Second)
					require.Empty(w, w.Children(dir))
					w.Server.Heal()
					w.unregister(w.register(r, typed("one", typ)))
				})
			})
		}
	}
}

// CH54: with no connection at all, unregistering ends with its context, and goes
// on as soon as there is one.
func TestUnregisteringWhileDisconnectedGoesOn_CH54(t *testing.T) {
	for _, typ := range types {
		for _, expire := range []bool{false, true} {
			t.Run(fmt.Sprint(typ, expire), func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					c := w.Client()
					g := w.register(registry(c), typed("one", typ))
					id := w.ID(c)
					w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
					w.Server.Cut(id)
					if expire {
						require.NoError(w, w.Server.ExpireSession(id))
					}
					require.ErrorIs(w, g.Unregister(w.Within(time.Second)), context.DeadlineExceeded)
					require.False(w, g.State().Registered)
					w.Server.Heal()
					require.NoError(w, g.Unregister(w.Within(time.Minute)))
					if !world.Has(world.Resumes) {
						w.Pass(time.Second) // what the lost session has left goes later
					}
					require.Empty(w, w.Children(dir))
				})
			})
		}
	}
}

// A client without a session has nothing that goes with one: leaving is done at
// once.
func TestUnregisteringWithoutASessionWaitsForNone(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := w.register(registry(w.Client()), instance("one"))
		require.NoError(w, w.Server.Stop(1))
		w.stateIs(g, unregistered)
		w.unregister(g)
		require.NoError(w, w.Server.Restart(1))
	})
}

// The states name their causes, and come in order.
func TestStatesTellWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		g := w.register(registry(c), instance("one"))
		var seen []string
		over := make(chan error, 1)
		// Waited for below; ends with the registration.
		go func() {
			for s, err := range g.States(w.Ctx) {
				if err != nil {
					over <- err
					return
				}
				// It may first hear that the node has gone, and then why.
				if now := fmt.Sprint(s.Registered, s.Err != nil); len(seen) == 0 || seen[len(seen)-1] != now {
					seen = append(seen, now)
				}
			}
			over <- nil
		}()
		w.Settle()
		w.Expire(c)
		w.Pass(20 * time.Second)
		w.Server.Delay(zktest.Link{}, zktest.Both, time.Millisecond) // time to see each state
		require.NoError(w, w.Server.Delete(dir+"/one"))
		w.Pass(20 * time.Second)
		w.unregister(g)
		w.Server.Heal()
		require.NoError(w, <-over)
		require.Equal(w, []string{"true false", "false true", "true false", "false true", "true false", "false true"}, seen)
		n := 0
		for s, err := range g.States(w.Ctx) { // afterwards: the last one
			require.NoError(w, err)
			require.ErrorIs(w, s.Err, discovery.ErrUnregistered)
			n++
		}
		require.Equal(w, 1, n)
		require.ErrorIs(w, g.Update(w.Ctx, instance("one")), discovery.ErrUnregistered)
		require.ErrorIs(w, g.Move(w.Ctx, "api", instance("one")), discovery.ErrUnregistered)
	})
}

// The context ends before the servers can expire the session, as a lock's does:
// when others see the instance go, its owner knows.
func TestContextEndsBeforeTheInstanceGoes(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, other := w.Client(), registry(w.Client())
		g := w.register(registry(c), instance("one"))
		ctx := g.Context()
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		for len(w.ids(other, service)) > 0 {
			w.Pass(10 * time.Millisecond)
		}
		require.Error(w, ctx.Err())
		require.ErrorIs(w, context.Cause(ctx), session.ErrTrustRanOut)
		require.False(w, g.State().Registered)
		w.Server.Heal()
		w.stateIs(g, registered)
		w.unregister(g)
	})
}

// Static instances do not go with sessions; the next process takes over an existing
// znode that is equal but for the time.
func TestStaticInstanceOutlivesItsProcessAndIsTakenOver(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		g := w.register(registry(c), typed("one", discovery.Static))
		ctx, at := g.Context(), g.State()
		w.Expire(c)
		w.Pass(20 * time.Second)
		require.NoError(w, ctx.Err(), "a lost session takes nothing from it")
		require.Equal(w, at, g.State())
		require.NoError(w, c.Close(w.Ctx))
		next := registry(w.Client())
		i := typed("one", discovery.Static)
		i.Port = 1
		_, err := next.Register(w.Ctx, i)
		require.ErrorIs(w, err, discovery.ErrConflict, "it says something else")
		i = typed("one", discovery.Static)
		i.RegistrationTime = time.Time{}
		again := w.register(next, i)
		require.Equal(w, at.Token, again.State().Token)
		seen, err := next.Instance(w.Ctx, service, "one")
		require.NoError(w, err)
		require.True(w, seen.RegistrationTime.After(i.RegistrationTime))
		require.Equal(w, again.Instance(), seen)
		w.unregister(again)
		require.Empty(w, w.Children(dir))
	})
}

// Of concurrent updates, the last is registered in the end, and all are answered.
func TestNewestOfManyUpdatesWins_CH51(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		g := w.register(registry(c), instance("one"))
		w.Server.Delay(zktest.Link{}, zktest.Both, 20*time.Millisecond)
		w.ResetStats()
		const n = 50
		done := make(chan error, n)
		for k := 1; k <= n; k++ {
			i := instance("one")
			i.Payload = json.RawMessage(fmt.Sprint(k))
			// Waited for below; ends with the update.
			go func() { done <- g.Update(w.Ctx, i) }()
			synctest.Wait() // in this order
		}
		for range n {
			require.NoError(w, <-done)
		}
		require.Equal(w, json.RawMessage("50"), g.Instance().Payload)
		require.Contains(w, string(w.node(dir+"/one").Data), `"payload":50`)
		require.Equal(w, 2, w.Server.Stats().BySession[w.ID(c)]["setData"], "what is out of date is not written")
		w.Server.Heal()
		w.unregister(g)
	})
}
