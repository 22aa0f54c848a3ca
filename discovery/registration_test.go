package discovery_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stateIs waits until the registration's state is as wanted.
func (w *World) stateIs(g interface {
	States(context.Context) iter.Seq2[discovery.State, error]
}, wanted func(discovery.State) bool) discovery.State {
	w.Helper()
	return w.until(func(ctx context.Context) func(func(discovery.State, error) bool) { return g.States(ctx) }, wanted)
}

// The counts of services that were asked for on a lost connection are asked for again.
func TestServicesAreCountedAfterALostReply(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		r := registry(w.Client())
		w.register(r, instance("one"))
		lost := 0
		remove := w.Server.OnRequest(func(q zktest.Request) zktest.Action {
			if strings.HasPrefix(q.Op, "exists") && q.Path == dir && lost == 0 {
				lost++
				return zktest.Action{Do: zktest.DropReplyCut}
			}
			return zktest.Action{}
		})
		defer remove()
		counts, err := r.ServiceCounts(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, []discovery.ServiceCount{{Service: service, Instances: 1}}, counts)
		require.Equal(w, 1, lost)
	})
}

// D6, D8, N13: an instance is listed while it is registered, and all clients see
// it.
func TestInstanceIsListedUntilItIsUnregistered_D6_D8_N13(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := registry(w.Client()), registry(w.Client())
		require.Empty(w, w.ids(b, service))
		one, two := w.register(a, instance("one")), w.register(b, instance("two"))
		require.Equal(w, []string{"one", "two"}, w.ids(a, service))
		services, err := b.Services(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, []string{service}, services)
		counts, err := b.ServiceCounts(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, []discovery.ServiceCount{{Service: service, Instances: 2}}, counts)

		seen, err := b.Instance(w.Ctx, service, "one")
		require.NoError(w, err)
		require.Equal(w, one.Instance(), seen)
		require.Equal(w, dir+"/one", seen.Path)
		require.NotZero(w, seen.Token)
		require.NoError(w, one.Context().Err())

		w.unregister(one)
		require.Equal(w, []string{"two"}, w.ids(a, service))
		require.ErrorIs(w, context.Cause(one.Context()), session.ErrReleased)
		require.ErrorIs(w, one.State().Err, discovery.ErrUnregistered)
		_, err = b.Instance(w.Ctx, service, "one")
		require.ErrorIs(w, err, session.ErrNoNode)
		w.unregister(two)
		w.unregister(two)
		require.Empty(w, w.ids(a, service))
	})
}

// A process that dies is taken off the list by the servers (N13).
func TestInstanceGoesWithItsClient(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, other := w.Client(), registry(w.Client())
		g := w.register(registry(c), instance("one"))
		require.NoError(w, c.Close(w.Ctx))
		require.Empty(w, w.ids(other, service))
		s := w.stateIs(g, unregistered)
		require.ErrorIs(w, s.Err, session.ErrClosed)
		require.ErrorIs(w, g.Update(w.Ctx, instance("one")), session.ErrClosed)
	})
}

// CL14, CH58: a reconnect in the same session does not touch the znode.
func TestReconnectDoesNotBlink_CL14(t *testing.T) {
	world.Needs(t, world.Resumes)
	for _, typ := range []discovery.Type{discovery.Dynamic, discovery.DynamicSequential, discovery.Static} {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c := w.Client()
				i := instance("one")
				i.Type = typ
				g := w.register(registry(c), i)
				before := w.Children(dir)
				var changes []zktest.Txn
				w.Server.OnApply(func(x zktest.Txn) { changes = append(changes, x) })
				for range 3 {
					w.Server.Cut(w.ID(c))
					w.Pass(2 * time.Second)
				}
				for _, x := range changes {
					require.NotContains(w, []string{"create", "create2", "delete", "setData"}, x.Op, "%+v", x)
				}
				require.Equal(w, before, w.Children(dir))
				require.True(w, g.State().Registered)
				w.unregister(g)
				require.Empty(w, w.Children(dir))
			})
		})
	}
}

// CH58, CL14, CH53: a new session registers it once more, and once.
func TestRegistersAgainInTheNextSession_CH53_CH58(t *testing.T) {
	for _, typ := range []discovery.Type{discovery.Dynamic, discovery.DynamicSequential, discovery.Static} {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c, other := w.Client(), registry(w.Client())
				i := instance("one")
				i.Type = typ
				g := w.register(registry(c), i)
				first := g.State()
				for n := range 5 {
					i.Port = 9000 + n
					require.NoError(w, g.Update(w.Ctx, i))
					w.Expire(c)
					w.Pass(5 * time.Second)
					s := w.stateIs(g, registered)
					require.Equal(w, []string{"one"}, w.ids(other, service), "once")
					list, err := other.Instances(w.Ctx, service)
					require.NoError(w, err)
					require.Equal(w, i.Port, list[0].Port, "the data of the last update")
					require.Equal(w, s.Path, list[0].Path)
					if typ != discovery.Static {
						require.Greater(w, s.Token, first.Token)
					}
					require.Len(w, s.Path, len(first.Path), "names do not grow")
				}
				w.unregister(g)
				require.Empty(w, w.Children(dir))
			})
		})
	}
}

// CH51: an update without a connection, or without a session, is not lost, and the
// newest update wins.
func TestUpdateWhileDisconnectedIsNotLost_CH51_CH58(t *testing.T) {
	for _, expire := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			c, other := w.Client(), registry(w.Client())
			g := w.register(registry(c), instance("one"))
			id := w.ID(c)
			w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			w.Server.Cut(id)
			if expire {
				require.NoError(w, w.Server.ExpireSession(id))
			}
			i := instance("one")
			i.Port = 1
			err := g.Update(w.Within(time.Second), i)
			require.ErrorIs(w, err, context.DeadlineExceeded)
			done := make(chan error, 1)
			// Waited for below; ends with the update.
			go func() {
				i := i
				i.Port = 2
				done <- g.Update(w.Ctx, i)
			}()
			w.Pass(time.Second)
			require.Equal(w, 2, g.Instance().Port)
			w.Server.Heal()
			require.NoError(w, <-done)
			seen, err := other.Instance(w.Ctx, service, "one")
			require.NoError(w, err)
			require.Equal(w, 2, seen.Port)
			w.unregister(g)
		})
	}
}

// CL19: the registration that has the name keeps it.
func TestAnotherOneWithTheNameIsAConflict_CL19(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		ca, cb := w.Client(), w.Client()
		a, b := registry(ca), registry(cb)
		first := w.register(a, instance("one"))
		before := w.node(dir + "/one")
		_, err := b.Register(w.Ctx, instance("one"))
		require.ErrorIs(w, err, discovery.ErrConflict)
		_, err = a.Register(w.Ctx, instance("one"))
		require.ErrorIs(w, err, discovery.ErrConflict, "also in the same process")
		w.Settle()
		require.Equal(w, before, w.node(dir+"/one"))
		require.True(w, first.State().Registered)
		w.unregister(first)
		w.unregister(w.register(b, instance("one")))
	})
}

// CH52, CL19: a registration made while ours is away is not removed; when it
// leaves, ours comes back.
func TestConflictIsTriedAgainWhenTheOtherGoes_CH52(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		ca, cb := w.Client(), w.Client()
		mine := w.register(registry(ca), instance("one"))
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		w.Expire(ca)
		theirs := w.register(registry(cb), instance("one"))
		w.Pass(10 * time.Second) // mine has lost its trust
		w.Server.Heal()
		s := w.stateIs(mine, func(s discovery.State) bool { return !s.Registered && s.Err != nil && isConflict(s.Err) })
		require.Error(w, mine.Context().Err())
		require.Equal(w, dir+"/one", s.Path)
		w.Pass(time.Minute)
		require.True(w, theirs.State().Registered, "never taken over")
		i := instance("one")
		i.Port = 4711
		require.ErrorIs(w, mine.Update(w.Ctx, i), discovery.ErrConflict)
		w.ResetStats()
		w.Pass(time.Hour)
		require.Zero(w, w.Requests(ca), "no polling: %v", w.Server.Stats().BySession[w.ID(ca)])

		require.NoError(w, cb.Close(w.Ctx)) // its owner dies
		w.stateIs(mine, registered)
		seen, err := registry(ca).Instance(w.Ctx, service, "one")
		require.NoError(w, err)
		require.Equal(w, 4711, seen.Port, "what was wanted last")
		w.unregister(mine)
	})
}

// Two of the same id are two, and neither takes the other's node (CL14).
func TestSequentialInstancesOfOneIDAreTwo_CL14(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		r := registry(c)
		i := typed("one", discovery.DynamicSequential)
		a, b := w.register(r, i), w.register(r, i)
		require.Len(w, w.Children(dir), 2)
		require.NotEqual(w, a.State().Path, b.State().Path)
		w.unregister(a)
		require.Equal(w, []string{b.State().Path[len(dir)+1:]}, w.Children(dir))
		w.Expire(c)
		w.Pass(10 * time.Second)
		w.stateIs(b, registered)
		require.Len(w, w.Children(dir), 1)
		w.unregister(b)
		require.Empty(w, w.Children(dir))
	})
}

// Both answers are lost at the same time, and the created znodes look alike.
func TestTwinsWhoseAnswersAreLostAreTwo_CL14_CH53(t *testing.T) {
	for _, fault := range []zktest.Fault{zktest.DropReplyCut, zktest.CutBefore} {
		inWorld(t, nil, func(w *World) {
			r := registry(w.Client())
			w.unregister(w.register(r, instance("x"))) // the path exists
			w.Server.OnRequest(w.first(4, "create", zktest.Action{Do: fault}))
			i := typed("one", discovery.DynamicSequential)
			got := make(chan *discovery.Registration, 2)
			for range 2 {
				// Waited for below; ends when it is registered.
				go func() { got <- w.register(r, i) }()
			}
			a, b := <-got, <-got
			require.NotEqual(w, a.State().Path, b.State().Path)
			require.Len(w, w.Children(dir), 2)
			w.unregister(a)
			require.True(w, b.State().Registered)
			w.unregister(b)
			require.Empty(w, w.Children(dir))
		})
	}
}

// first is a hook that does act to the first n requests of that kind.
func (w *World) first(n int, op string, act zktest.Action) func(zktest.Request) zktest.Action {
	return func(r zktest.Request) zktest.Action {
		if (r.Op == op || world.Creates(r.Op) && world.Creates(op)) && n > 0 {
			n--
			return act
		}
		return zktest.Action{}
	}
}

// The node is created again, whatever an administrator does to it.
func TestDeletedByAnAdministratorItIsRegisteredAgain(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				g := w.register(registry(w.Client()), typed("one", typ))
				for range 3 {
					before, ctx := g.State(), g.Context()
					require.NoError(w, w.Server.Delete(before.Path))
					w.Pass(2 * time.Second)
					s := w.stateIs(g, registered)
					require.Greater(w, s.Token, before.Token)
					require.ErrorIs(w, context.Cause(ctx), session.ErrNodeDeleted)
					require.NoError(w, g.Context().Err())
				}
				require.Len(w, w.Children(dir), 1)
				w.unregister(g)
			})
		})
	}
}

// An update replaces what another client has written into our znode, and does
// not unregister the instance.
func TestStrangersDataInOurNodeIsReplacedByTheNextUpdate(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				r := registry(w.Client())
				g := w.register(r, typed("one", typ))
				at := g.State()
				require.NoError(w, w.Server.Set(at.Path, []byte("what?")))
				w.Settle()
				require.Equal(w, at, g.State())
				i := g.Instance()
				i.Port = 7
				require.NoError(w, g.Update(w.Ctx, i))
				list, err := r.Instances(w.Ctx, service)
				require.NoError(w, err)
				require.Len(w, list, 1)
				require.Equal(w, 7, list[0].Port)
				require.NoError(w, w.Server.Set(at.Path, []byte("what?")))
				w.unregister(g)
				require.Empty(w, w.Children(dir))
			})
		})
	}
}

// D7: a watcher of both services sees the instance in one or the other, never
// in both and never in none.
func TestMoveIsOneTransaction_D7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		r := registry(w.Client())
		g := w.register(r, instance("one"))
		seen := map[string]int{}
		w.Server.OnApply(func(zktest.Txn) {
			seen[service+w.present("web")+" api"+w.present("api")]++
		})
		ctx := g.Context()
		require.NoError(w, g.Move(w.Ctx, "api", g.Instance()))
		require.ErrorIs(w, context.Cause(ctx), session.ErrReleased)
		require.NoError(w, g.Context().Err())
		require.Equal(w, "api", g.Instance().Service)
		require.Equal(w, base+"/api/one", g.State().Path)
		require.Equal(w, []string{"one"}, w.ids(r, "api"))
		require.NoError(w, g.Move(w.Ctx, service, g.Instance()))
		require.Equal(w, []string{"one"}, w.ids(r, service))
		for state := range seen {
			require.Contains(w, []string{"web: one api:", "web: api: one"}, state)
		}
		require.Len(w, seen, 2)
		w.unregister(g)
	})
}

func (w *World) present(service string) string {
	if len(w.Children(base+"/"+service)) > 0 {
		return ": one"
	}
	return ":"
}

// D7: the other one keeps its name, and ours its old one.
func TestMoveToATakenNameLeavesItWhereItWas_D7_CL19(t *testing.T) {
	for _, typ := range types[:1] {
		inWorld(t, nil, func(w *World) {
			a, b := registry(w.Client()), registry(w.Client())
			theirs := instance("one")
			theirs.Service = "api"
			other := w.register(a, theirs)
			g := w.register(b, typed("one", typ))
			before := g.State()
			require.ErrorIs(w, g.Move(w.Ctx, "api", g.Instance()), discovery.ErrConflict)
			s := w.stateIs(g, registered)
			require.Equal(w, before.Path, s.Path)
			require.Equal(w, before.Token, s.Token, "the node was not touched")
			require.Equal(w, service, g.Instance().Service)
			require.NoError(w, g.Context().Err())
			w.unregister(other)
			require.NoError(w, g.Move(w.Ctx, "api", g.Instance()))
			w.unregister(g)
		})
	}
}

// CL19: a move whose request is lost does not take for its own what another process
// has registered there, although it says the same to the byte.
func TestMoveDoesNotAdoptWhatItDidNotMake_D7_CL19(t *testing.T) {
	for _, fault := range []zktest.Fault{zktest.DropReplyCut, zktest.CutBefore} {
		inWorld(t, nil, func(w *World) {
			theirs := typed("one", discovery.Static)
			theirs.Service = "api"
			other := w.register(registry(w.Client()), theirs)
			g := w.register(registry(w.Client()), typed("one", discovery.Static))
			w.Server.OnRequest(w.first(1, "multi", zktest.Action{Do: fault}))
			require.ErrorIs(w, g.Move(w.Ctx, "api", g.Instance()), discovery.ErrConflict)
			require.Equal(w, dir+"/one", w.stateIs(g, registered).Path)
			w.unregister(g)
			require.Empty(w, w.Children(dir))
			require.Len(w, w.Children(base+"/api"), 1)
			w.unregister(other)
		})
	}
}

// A second registration waits for the name while the first goes: the deletion that
// it hears of is not that of its own node, which it makes in the same instant.
func TestDeletionOfTheNodeBeforeIsNotTakenForOurs(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, other := w.Client(), registry(w.Client())
		waiting := discovery.NewRegistry(c, base, &discovery.Options{Wait: true})
		for n := range 20 {
			held := w.register(other, instance("one"))
			ctx, cancel := context.WithCancel(w.Ctx)
			// The bubble waits for it; ends with ctx. Its watch is the session's as well.
			go func() { _, _ = waiting.Register(ctx, instance("one")) }()
			w.Settle()
			w.Server.Delay(zktest.Link{Client: "c1"}, zktest.Both, 10*time.Millisecond)
			left := make(chan error, 1)
			// Waited for below; ends with the unregistering.
			go func() { left <- held.Unregister(w.Ctx) }()
			w.Pass(time.Duration(n) * time.Millisecond)
			cancel()
			var g *discovery.Registration
			for g == nil {
				g, _ = registry(c).Register(w.Ctx, instance("one"))
			}
			require.NoError(w, <-left)
			at, hold := g.State(), g.Context()
			w.Pass(10 * time.Second)
			require.NoError(w, hold.Err())
			require.Equal(w, at, g.State())
			w.unregister(g)
			w.Server.Heal()
			w.Settle()
		}
	})
}

// CL19: while a registration has no connection, an administrator deletes its znode,
// and another process registers under its name: it hears of that when it is back, and
// does not unregister the other.
func TestAnothersNodeUnderOurNameIsNotTakenForOurs_CL19(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		a, b := registry(c), registry(w.Client())
		g := w.register(a, instance("one"))
		w.Pass(10 * time.Second)
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		w.Server.Cut(w.ID(c))
		require.NoError(w, w.Server.Delete(dir+"/one"))
		other := w.register(b, instance("one"))
		at := other.State()
		w.Server.Heal()
		w.Pass(10 * time.Second)
		require.ErrorIs(w, w.stateIs(g, unregistered).Err, discovery.ErrConflict)
		w.unregister(g)
		w.Settle()
		require.Equal(w, at, other.State())
		w.unregister(other)
	})
}
