package discovery_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestEventsOfARegistrationUnderEveryFault(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			world.Trial{
				Name: "Register, Update, Move, Unregister", Paths: []string{dir, base + "/api"},
				Op: func(ctx context.Context, p *world.Party) error {
					g, err := discovery.NewRegistry(p.Tested, base, nil).Register(ctx, typed("one", typ))
					if err != nil {
						return err
					}
					i := typed("one", typ)
					i.Port++
					err = g.Update(ctx, i)
					if err == nil {
						err = g.Move(ctx, "api", i)
					}
					if failed := g.Unregister(context.WithoutCancel(ctx)); err == nil {
						err = failed
					}
					return err
				},
			}.RunObserved(t, *update, "registration-"+typ.String())
		})
	}
}

func TestEventsOfAMembershipUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Join, Leave", Paths: []string{"/members"},
		Op: func(ctx context.Context, p *world.Party) error {
			m, err := discovery.NewGroup(p.Tested, "/members", nil).Join(ctx, "one", nil)
			if err != nil {
				return err
			}
			return m.Leave(ctx)
		},
	}.RunObserved(t, *update, "membership")
}

// holdEvents are the events of waits and holds that an observer was told of.
type holdEvents chan observe.Event

func (h holdEvents) Observe(_ context.Context, e observe.Event) {
	switch e.(type) {
	case observe.WaitBegun, observe.WaitEnded, observe.HoldBegun, observe.HoldEnded:
		h <- e
	}
}

// begun requires that the next event is the beginning of a hold of g.
func (h holdEvents) begun(w *World, path string, g session.Held) observe.Hold {
	w.Helper()
	w.Settle()
	e := (<-h).(observe.HoldBegun)
	require.Equal(w, path, e.Path)
	require.Equal(w, g.Token(), e.Token)
	require.False(w, e.Local)
	return e.Hold
}

// ended requires that the next event is the end of hold.
func (h holdEvents) ended(w *World, hold observe.Hold, end observe.End) observe.HoldEnded {
	w.Helper()
	w.Settle()
	e := (<-h).(observe.HoldEnded)
	require.Equal(w, hold, e.Hold)
	require.Equal(w, end, e.End)
	return e
}

// A registration over its whole life: two losses, an update, moves and a removal.
func TestEventsOfARegistrationSayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		events := make(holdEvents, 100)
		c := w.ClientWith(session.Options{Observer: events})
		g := w.register(registry(c), instance("one"))
		wait := (<-events).(observe.WaitBegun).Wait
		require.Equal(w, observe.Wait{ID: wait.ID, Kind: observe.Registration, Path: dir, Begun: wait.Begun}, wait)
		require.Equal(w, observe.WaitEnded{Wait: wait}, <-events)
		hold := events.begun(w, dir, g)
		require.Equal(w, observe.Hold{
			ID: hold.ID, Kind: observe.Registration, Path: dir, Wait: wait.ID, Znode: dir + "/one", Token: g.Token(), Session: w.ID(c), Begun: hold.Begun,
		}, hold)

		i := instance("one")
		i.Port++
		require.NoError(w, g.Update(w.Ctx, i))
		w.Settle()
		require.Empty(w, events, "an update keeps the znode")

		require.NoError(w, w.Server.Delete(dir+"/one"))
		w.Pass(time.Second)
		require.ErrorIs(w, events.ended(w, hold, observe.Lost).Err, session.ErrNodeDeleted)
		hold = events.begun(w, dir, g)
		require.Zero(w, hold.Wait)

		w.Expire(c)
		w.Pass(time.Minute)
		require.ErrorIs(w, events.ended(w, hold, observe.Lost).Err, session.ErrLost)
		hold = events.begun(w, dir, g)
		require.Equal(w, w.ID(c), hold.Session)

		require.NoError(w, g.Move(w.Ctx, "api", i))
		require.NoError(w, events.ended(w, hold, observe.Released).Err)
		hold = events.begun(w, base+"/api", g)

		require.NoError(w, w.Server.Create(dir+"/taken", []byte("another's")))
		taken := i
		taken.ID = "taken"
		require.ErrorIs(w, g.Move(w.Ctx, service, taken), discovery.ErrConflict)
		require.NoError(w, events.ended(w, hold, observe.Released).Err)
		hold = events.begun(w, base+"/api", g)

		w.unregister(g)
		require.NoError(w, events.ended(w, hold, observe.Released).Err)
		require.Empty(w, events)
	})
}

// A conflict, a caller that gives up, and an instance that goes with no session.
func TestEventsOfARegistrationThatFails(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		events := make(holdEvents, 100)
		c := w.ClientWith(session.Options{Observer: events})
		w.register(registry(w.Client()), instance("one"))
		_, err := registry(c).Register(w.Ctx, instance("one"))
		require.ErrorIs(w, err, discovery.ErrConflict)
		require.IsType(w, observe.WaitBegun{}, <-events)
		require.Equal(w, err, (<-events).(observe.WaitEnded).Err)

		group := discovery.NewGroup(c, dir, &discovery.Options{Wait: true})
		_, err = group.Join(w.Within(time.Second), "one", nil)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		wait := (<-events).(observe.WaitBegun).Wait
		require.Equal(w, observe.Membership, wait.Kind)
		require.Equal(w, observe.WaitEnded{Wait: wait, Took: time.Second, Err: err}, <-events)

		g := w.register(registry(c), typed("two", discovery.Static))
		w.unregister(g)
		w.Pass(time.Minute)
		require.Empty(w, events, "a Static instance has no session")

		g = w.register(registry(c), typed("two", discovery.Static))
		require.NoError(w, g.Move(w.Ctx, service, typed("three", discovery.Dynamic)))
		hold := events.begun(w, dir, g)
		require.NoError(w, g.Move(w.Ctx, service, typed("four", discovery.Static)))
		events.ended(w, hold, observe.Released)
		w.unregister(g)
		w.Pass(time.Minute)
		require.Empty(w, events)
	})
}

// A removal that a server refuses is reported once, when the call returns.
func TestEventsOfARefusedRemoval(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		events := make(holdEvents, 100)
		g := w.register(registry(w.ClientWith(session.Options{Observer: events})), instance("one"))
		<-events
		<-events
		hold := events.begun(w, dir, g)
		w.rights(mayNotDelete)
		require.ErrorIs(w, g.Unregister(w.Within(time.Minute)), session.ErrNoAuth)
		require.ErrorIs(w, events.ended(w, hold, observe.Released).Err, session.ErrNoAuth)
		w.rights(zk.PermAll)
		w.unregister(g)
		require.Empty(w, events)
	})
}

// An observer may use the registry that reports to it.
func TestObserverMayUseTheRegistry(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var r *discovery.Registry
		var inside, over atomic.Bool
		calls := 0
		c := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			switch e.(type) {
			case observe.WaitBegun, observe.WaitEnded, observe.HoldBegun, observe.HoldEnded:
			default:
				return
			}
			if over.Load() || !inside.CompareAndSwap(false, true) {
				return
			}
			defer inside.Store(false)
			calls++
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			if _, err := r.Instances(within, service); err != nil {
				w.Errorf("%s: %v", e.Name(), err)
			}
			g, err := r.Register(within, instance("another"))
			if err == nil {
				err = g.Unregister(within)
			}
			if err != nil {
				w.Errorf("%s: %v", e.Name(), err)
			}
		})})
		r = registry(c)
		g := w.register(r, instance("one"))
		w.unregister(g)
		over.Store(true)
		w.Settle() // a call in progress ends
		require.Positive(w, calls)
	})
}
