package discovery_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// watching collects the states of a service until ctx ends.
type watching struct {
	states chan []discovery.Instance
	err    chan error
}

// watch starts to watch a service; it ends with ctx.
func (w *World) watch(ctx context.Context, r *discovery.Registry, service string) *watching {
	out := &watching{make(chan []discovery.Instance, 1000), make(chan error, 1)}
	// The bubble waits for it; it ends with ctx.
	go func() {
		for list, err := range r.Watch(ctx, service) {
			if err != nil {
				out.err <- err
				return
			}
			out.states <- list
		}
	}()
	w.Settle()
	return out
}

// last is the newest state, and forgets all others.
func (x *watching) last(w *World) []string {
	w.Helper()
	var out []string
	for n := 0; ; n++ {
		select {
		case list := <-x.states:
			out = []string{}
			for _, i := range list {
				out = append(out, i.ID)
			}
		default:
			require.NotZero(w, n, "nothing new was told")
			return out
		}
	}
}

// D8, D16: consumers see the instances that come, go and change, in the order of
// their registrations, in which a returning instance is the last.
func TestWatchReportsInstancesThatComeLeaveAndChange_D8_D16(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		r := registry(w.Client())
		ctx, cancel := context.WithCancel(w.Ctx)
		seen := w.watch(ctx, registry(w.Client()), service)
		require.Empty(w, seen.last(w), "a service that does not exist has none")
		z := w.register(r, instance("z"))
		a := w.register(r, instance("a"))
		w.Settle()
		require.Equal(w, []string{"z", "a"}, seen.last(w))
		i := z.Instance()
		i.Port = 1
		require.NoError(w, z.Update(w.Ctx, i))
		w.Settle()
		require.Equal(w, []string{"z", "a"}, seen.last(w))
		w.unregister(z)
		z = w.register(r, instance("z"))
		w.Settle()
		require.Equal(w, []string{"a", "z"}, seen.last(w))
		require.NoError(w, w.Server.Create(dir+"/bad", []byte("no JSON")))
		w.Settle()
		require.Equal(w, []string{"a", "z", "bad"}, seen.last(w))
		w.unregister(z)
		w.unregister(a)
		require.NoError(w, w.Server.Delete(dir+"/bad"))
		w.Settle()
		require.Empty(w, seen.last(w))
		cancel()
		w.Settle()
		require.ErrorIs(w, <-seen.err, context.Canceled)
		// CH48: nothing of the watching is left.
		w.RequireNoWatches()
	})
}

// The loss of the watcher's own connection or session costs it no state.
func TestWatchGoesOnInTheNextSession(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		r, c := registry(w.Client()), w.Client()
		ctx, cancel := context.WithCancel(w.Ctx)
		defer cancel()
		seen := w.watch(ctx, registry(c), service)
		one := w.register(r, instance("one"))
		w.Settle()
		require.Equal(w, []string{"one"}, seen.last(w))
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
		w.Expire(c)
		w.unregister(one)
		two := w.register(r, instance("two"))
		w.Pass(20 * time.Second)
		w.Server.Heal()
		w.Pass(20 * time.Second)
		require.Equal(w, []string{"two"}, seen.last(w))
		w.unregister(two)
	})
}

func TestWatchEndsWithItsClient(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		seen := w.watch(w.Ctx, registry(c), service)
		require.NoError(w, c.Close(w.Ctx))
		w.Settle()
		require.ErrorIs(w, <-seen.err, session.ErrClosed)
	})
}

// CH48: a thousand watchers that came and went leave nothing, here and there.
func TestWatchersLeaveNothing_CH48(t *testing.T) {
	world.Needs(t, world.RemovesWatches)
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		r := registry(c)
		g := w.register(r, instance("one"))
		w.Pass(time.Second)
		before := w.Server.Stats().Watches
		for range 100 {
			for list, err := range r.Watch(w.Ctx, service) {
				require.NoError(w, err)
				require.Len(w, list, 1)
				break
			}
		}
		w.Settle()
		require.Equal(w, before, w.Server.Stats().Watches, "%v", w.Server.Watches())
		w.unregister(g)
	})
}

func TestWatchOfAGroupListsItsMembersInTheOrderOfTheirJoining_N13(t *testing.T) {
	for name, layout := range map[string]discovery.Layout{"Curator": discovery.Curator, "Kazoo": discovery.Kazoo, "KazooShallow": discovery.KazooShallow} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				o := &discovery.Options{Layout: layout}
				g := discovery.NewGroup(w.Client(), "/members", o)
				ctx, cancel := context.WithCancel(w.Ctx)
				defer cancel()
				var ids []string
				// The bubble waits for it; it ends with ctx.
				go func() {
					for list, err := range discovery.NewGroup(w.Client(), "/members", o).Watch(ctx) {
						if err != nil {
							return
						}
						ids = ids[:0]
						for _, m := range list {
							ids = append(ids, m.ID)
						}
					}
				}()
				w.Settle()
				z, err := g.Join(w.Ctx, "z", nil)
				require.NoError(w, err)
				a, err := g.Join(w.Ctx, "a", nil)
				require.NoError(w, err)
				w.Settle()
				require.Equal(w, []string{"z", "a"}, ids)
				require.NoError(w, z.Leave(w.Ctx))
				w.Settle()
				require.Equal(w, []string{"a"}, ids)
				require.NoError(w, a.Leave(w.Ctx))
				w.Settle()
				require.Empty(w, ids)
			})
		})
	}
}
