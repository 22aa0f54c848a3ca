package discovery_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// keptHold is a registration or a membership.
type keptHold interface {
	session.Held
	States(ctx context.Context) iter.Seq2[discovery.State, error]
}

// silence has the client of g lose its session, since it hears nothing from the servers.
// These hear from the client to the end: they keep the session, which silence returns,
// for its timeout.
func (w *World) silence(c *session.Client, g keptHold) int64 {
	w.Helper()
	former := w.ID(c)
	w.Server.BlackHole(zktest.Link{Session: former}, zktest.ToClient)
	<-g.Context().Done()
	if world.Has(world.Resumes) {
		require.ErrorIs(w, context.Cause(g.Context()), session.ErrTrustRanOut)
	}
	for w.ID(c) == former {
		w.Pass(time.Millisecond)
	}
	return former
}

// leaveCutOff has the first client lose its session, unregisters g, and then lets the
// client have its next session, before the servers expire the former one.
func (w *World) leaveCutOff(g *discovery.Registration) {
	w.Helper()
	w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
	w.stateIs(g, unregistered)
	w.unregister(g)
	require.Len(w, w.Children(dir), 1)
	w.Server.Heal()
}

// ephemerals are the types that go with their session.
var ephemerals = types[:2] // read only

// The next session replaces a former znode in one transaction: the instance is listed
// all the while, and once, and does not wait for the servers, which expire the former
// session ten seconds after they are back.
func TestLostInstanceIsRegisteredAgainBeforeItsFormerSessionExpires_CH52(t *testing.T) {
	for _, typ := range ephemerals {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				c := w.Client()
				g := w.register(registry(c), typed("one", typ))
				first, before := w.ID(c), g.State()
				w.Away(g.Context())
				back := time.Now()
				var listed []int
				w.Server.OnApply(func(x zktest.Txn) {
					if x.Op == "multi" {
						listed = append(listed, len(w.Children(dir)))
					}
				})
				s := w.stateIs(g, registered)
				t.Logf("listed again after %v", time.Since(back))
				require.Less(w, time.Since(back), 3*time.Second)
				require.Greater(w, s.Token, before.Token)
				w.Settle()
				for _, n := range listed {
					require.Equal(w, 1, n)
				}
				require.Len(w, w.Children(dir), 1)
				require.NotEqual(w, first, w.node(s.Path).EphemeralOwner)
				w.Pass(time.Minute) // the servers expire the former session
				require.Equal(w, s, g.State())
				w.unregister(g)
				require.Empty(w, w.Children(dir))
			})
		})
	}
}

func TestLostMemberIsBackBeforeItsFormerSessionExpires(t *testing.T) {
	for _, layout := range []discovery.Layout{discovery.Curator, discovery.Kazoo, discovery.KazooShallow} {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			group := discovery.NewGroup(c, "/group", &discovery.Options{Layout: layout})
			m, err := group.Join(w.Ctx, "one", nil)
			require.NoError(w, err)
			former, path := w.silence(c, m), m.State().Path
			lost := time.Now()
			s := w.stateIs(m, registered)
			require.Less(w, time.Since(lost), time.Second)
			require.Equal(w, path, s.Path)
			require.NotEqual(w, former, w.node(path).EphemeralOwner)
			w.Pass(time.Minute)
			require.Equal(w, s, m.State())
			require.NoError(w, m.Leave(w.Ctx))
			require.Empty(w, w.Children("/group"))
		})
	}
}

// The data of a former znode may have been changed, by an update or by others.
func TestFormerInstanceThatWasUpdatedIsReplaced(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		g := w.register(registry(c), instance("one"))
		i := g.Instance()
		i.Port = 7
		require.NoError(w, g.Update(w.Ctx, i))
		w.silence(c, g)
		w.Server.FailNth(isTakeover, 1, zktest.Action{Do: zktest.DelayReply, For: time.Second})
		w.Once(isTakeover, func() { require.NoError(w, w.Server.Set(dir+"/one", []byte("what?"))) })
		lost := time.Now()
		w.stateIs(g, registered)
		require.Less(w, time.Since(lost), 2*time.Second)
		seen, err := registry(c).Instance(w.Ctx, service, "one")
		require.NoError(w, err)
		require.Equal(w, 7, seen.Port)
		w.unregister(g)
	})
}

// isTakeover matches the transaction that replaces a former znode.
func isTakeover(q zktest.Request) bool {
	return q.Op == "multi" && !q.OnlyChecks && q.Path == dir+"/one"
}

// CL19: the servers expire the former session at the worst moment, and another client
// registers under the name. Its znode has the same version as the former one, and is not
// replaced.
func TestStrangerUnderTheNameOfAFormerInstanceStays_CL19(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		t.Run(fmt.Sprint(leaves), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c := w.Client()
				g := w.register(registry(c), instance("one"))
				took, former := 0, w.ID(c)
				w.Server.OnRequest(func(q zktest.Request) zktest.Action {
					if !isTakeover(q) {
						return zktest.Action{}
					}
					if took++; took == 1 {
						require.NoError(w, w.Server.ExpireSession(former))
						require.NoError(w, w.Server.Create(dir+"/one", []byte("{}")))
					}
					return zktest.Action{}
				})
				if leaves {
					w.leaveCutOff(g)
					w.Pass(time.Minute)
				} else {
					w.silence(c, g)
					w.stateIs(g, func(s discovery.State) bool { return isConflict(s.Err) })
					w.Pass(time.Minute)
				}
				require.Positive(w, took)
				require.Equal(w, []byte("{}"), w.node(dir+"/one").Data, "it stays")
				require.Equal(w, []string{"one"}, w.Children(dir))
				if !leaves {
					require.NoError(w, w.Server.Delete(dir+"/one"))
					w.stateIs(g, registered)
					w.unregister(g)
				}
			})
		})
	}
}

// A znode that another one of the process has made in the former session is not taken
// for the one whose creation got no answer: it stays until the servers delete it.
func TestZnodeOfTheFormerSessionThatIsAnothersStays(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		c := w.Client()
		other := w.register(registry(c), instance("other"))
		theirs, err := w.Session(c).Create(w.Ctx, dir+"/one", []byte("{}"), session.Ephemeral, nil)
		require.NoError(w, err)
		w.Server.FailNth(func(q zktest.Request) bool { return world.Creates(q.Op) }, 1, zktest.Action{Do: zktest.DropReplyHole})
		got := make(chan *discovery.Registration, 1)
		// Waited for below; ends with the registration.
		go func() {
			got <- w.register(discovery.NewRegistry(c, base, &discovery.Options{Wait: true}), instance("one"))
		}()
		w.Settle()
		w.Away(other.Context())
		w.Pass(3 * time.Second)
		require.Equal(w, theirs.Stat.Czxid, w.node(dir+"/one").Czxid)
		g := <-got
		require.Equal(w, w.ID(c), w.node(dir+"/one").EphemeralOwner)
		w.unregister(g)
	})
}

// The request, or the reply to it, is lost, or its connection is.
func TestTakeoverWithoutAnAnswerHappensOnce(t *testing.T) {
	for _, fault := range []zktest.Fault{zktest.DropReplyCut, zktest.CutBefore, zktest.DropRequest, zktest.DropReplyHole} {
		for _, typ := range ephemerals {
			for _, leaves := range []bool{false, true} {
				t.Run(fmt.Sprint(fault, typ, leaves), func(t *testing.T) {
					inWorld(t, nil, func(w *World) {
						c := w.Client()
						g := w.register(registry(c), typed("one", typ))
						path := g.State().Path
						former := w.ID(c)
						w.Server.FailNth(func(q zktest.Request) bool {
							return q.Op == "multi" && !q.OnlyChecks && q.Path == path
						}, 1, zktest.Action{Do: fault})
						if leaves {
							w.leaveCutOff(g)
							wait := time.Second
							if fault == zktest.DropRequest || fault == zktest.DropReplyHole {
								wait = 10 * time.Second // nothing is held: the hole is found by a ping
							}
							w.Pass(wait)
							require.Empty(w, w.Children(dir))
							return
						}
						w.silence(c, g)
						s := w.stateIs(g, registered)
						require.Len(w, w.Children(dir), 1)
						require.NotEqual(w, former, w.node(s.Path).EphemeralOwner)
						w.unregister(g)
						require.Empty(w, w.Children(dir))
					})
				})
			}
		}
	}
}

// The session of the takeover is lost, too, and no answer says whether it was carried
// out: whichever znode exists, of the first or of the second session, is replaced.
func TestSecondLossDuringTheTakeover(t *testing.T) {
	world.Needs(t, world.Resumes, world.ResumesInElections)
	for _, fault := range []zktest.Fault{zktest.DropRequest, zktest.DropReplyHole} {
		for _, typ := range ephemerals {
			t.Run(fmt.Sprint(fault, typ), func(t *testing.T) {
				inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
					c := w.Client()
					r := registry(c)
					g := w.register(r, typed("one", typ))
					other := w.register(r, typed("other", discovery.Dynamic))
					path, first := g.State().Path, w.ID(c)
					w.Away(g.Context())
					var ready atomic.Bool
					asked := make(chan struct{})
					w.Server.OnRequest(func(q zktest.Request) zktest.Action {
						switch {
						case q.Op != "multi" || q.OnlyChecks || q.Path != path:
							return zktest.Action{}
						case !ready.Load():
							return zktest.Action{Do: zktest.CutBefore}
						case !isClosed(asked):
							close(asked)
							return zktest.Action{Do: fault}
						}
						return zktest.Action{}
					})
					w.stateIs(other, registered) // it keeps the second session under trial
					// An attempt begun before that registration would be refused because of it.
					w.Settle()
					ready.Store(true)
					<-asked
					w.Settle()
					require.False(w, g.State().Registered)
					second := w.ID(c)
					owner := w.node(dir + "/" + w.named("one")).EphemeralOwner
					require.Equal(w, map[zktest.Fault]int64{zktest.DropRequest: first, zktest.DropReplyHole: second}[fault], owner)
					w.Away(other.Context())
					back := time.Now()
					s := w.stateIs(g, registered)
					require.Less(w, time.Since(back), 3*time.Second)
					require.NotContains(w, []int64{first, second}, w.node(s.Path).EphemeralOwner)
					w.stateIs(other, registered)
					require.Len(w, w.Children(dir), 2)
					w.unregister(g)
					require.Equal(w, []string{"other"}, w.Children(dir))
				})
			})
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// named is the name of the znode of that id, with a number if it is sequential.
func (w *World) named(id string) string {
	w.Helper()
	for _, name := range w.Children(dir) {
		if len(name) >= len(id) && name[:len(id)] == id {
			return name
		}
	}
	w.Fatalf("%s is not one of %v", id, w.Children(dir))
	return ""
}

// A creation whose reply was lost with its session: the znode is told by its data, and
// replaced.
func TestCreationThatWasLostWithItsSessionIsReplaced_CH53(t *testing.T) {
	for _, typ := range ephemerals {
		for _, gives := range []bool{false, true} {
			t.Run(fmt.Sprint(typ, gives), func(t *testing.T) {
				inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
					c := w.Client()
					r := registry(c)
					other := w.register(r, typed("other", discovery.Dynamic))
					w.Server.FailNth(func(q zktest.Request) bool { return world.Creates(q.Op) }, 1, zktest.Action{Do: zktest.DropReplyHole})
					ctx, cancel := context.WithCancel(w.Ctx)
					got := make(chan *discovery.Registration, 1)
					// Waited for below; ends with the registration, or with ctx.
					go func() {
						g, _ := r.Register(ctx, typed("one", typ))
						got <- g
					}()
					w.Settle()
					require.Len(w, w.Children(dir), 2)
					w.Away(other.Context())
					back := time.Now()
					if gives {
						cancel()
						require.Nil(w, <-got)
						w.Pass(3 * time.Second)
						require.Equal(w, []string{"other"}, w.Children(dir))
						return
					}
					g := <-got
					cancel()
					require.Less(w, time.Since(back), 3*time.Second)
					require.Len(w, w.Children(dir), 2)
					w.unregister(g)
				})
			})
		}
	}
}

// An instance that is unregistered after a loss is off the list as soon as its client
// has a session, and the call waits for no session.
func TestUnregisteringAfterALossLeavesNothing(t *testing.T) {
	for _, typ := range ephemerals {
		for _, sooner := range []bool{false, true} {
			t.Run(fmt.Sprint(typ, sooner), func(t *testing.T) {
				inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
					c := w.Client()
					r := registry(c)
					g := w.register(r, typed("one", typ))
					ctx := g.Context()
					if sooner {
						for i := range 3 {
							require.NoError(w, w.Server.Stop(i+1))
						}
						<-ctx.Done()
						w.unregister(g)
						for i := range 3 {
							require.NoError(w, w.Server.Restart(i+1))
						}
					} else {
						w.Away(ctx)
						w.unregister(g)
					}
					require.ErrorIs(w, g.State().Err, discovery.ErrUnregistered)
					w.Session(c)
					w.Pass(3 * time.Second)
					require.Empty(w, w.Children(dir))
					w.unregister(w.register(r, typed("one", typ)))
				})
			})
		}
	}
}

// A registration that is made again while the former one's znode is being deleted waits
// for the deletion, and not for the servers.
func TestRegisterAfterALossWaitsForTheDeletionOnly(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		c := w.Client()
		r := registry(c)
		g := w.register(r, instance("one"))
		w.Away(g.Context())
		w.unregister(g)
		back := time.Now()
		w.unregister(w.register(r, instance("one")))
		require.Less(w, time.Since(back), 3*time.Second)
	})
}

// A client that may not delete in the directory any more waits for the servers.
func TestFormerInstanceThatMayNotBeDeletedIsWaitedFor(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			g := w.register(registry(c), instance("one"))
			w.rights(mayNotDelete)
			former := w.silence(c, g)
			if leaves {
				w.unregister(g)
				w.Pass(20 * time.Second)
				require.Empty(w, w.Children(dir))
				return
			}
			w.Pass(time.Second)
			require.Equal(w, former, w.node(dir+"/one").EphemeralOwner)
			s := w.stateIs(g, registered)
			require.Equal(w, w.ID(c), w.node(s.Path).EphemeralOwner)
		})
	}
}

// A client that may not read the znode, where servers need that for its stat.
func TestFormerInstanceThatMayNotBeSeenIsWaitedFor(t *testing.T) {
	inWorld(t, &zktest.Options{StatNeedsRead: true}, func(w *World) {
		c := w.Client()
		require.NoError(w, w.Server.Create(base, nil))
		require.NoError(w, w.Server.Create(dir, nil))
		g := w.register(registry(c), instance("one"))
		w.rights(zk.PermAll &^ zk.PermRead)
		w.silence(c, g)
		w.stateIs(g, registered)
		w.unregister(g)
	})
}

// After an outage all instances of a service come back at once: each transaction fails
// that is not the next, and all are done long before the servers expire their sessions.
func TestAllInstancesOfAServiceComeBackAtOnce(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		var all []*discovery.Registration
		for n := range 30 {
			all = append(all, w.register(registry(w.Client()), instance(fmt.Sprint("i", n))))
		}
		w.Server.Delay(zktest.Link{}, zktest.Both, time.Millisecond)
		w.Away(all[0].Context())
		back := time.Now()
		for _, g := range all {
			w.stateIs(g, registered)
		}
		t.Logf("%d instances were registered again after %v", len(all), time.Since(back))
		require.Less(w, time.Since(back), 6*time.Second)
		require.Len(w, w.Children(dir), len(all))
		w.Server.Heal()
	})
}

// No list and no watcher sees the znode that the transaction creates to count.
func TestTakeoverShowsNothingElse(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, watcher := w.Client(), w.Client()
		g := w.register(registry(c), instance("one"))
		ctx := w.Within(time.Hour)
		seen := w.watch(ctx, registry(watcher), service)
		require.Len(w, seen.last(w), 1)
		w.silence(c, g)
		w.stateIs(g, registered)
		w.Settle()
		for len(seen.states) > 0 {
			for _, i := range <-seen.states {
				require.NoError(w, i.Err)
				require.Equal(w, "one", i.ID)
			}
		}
		require.Equal(w, []string{"one"}, w.ids(registry(watcher), service))
		w.unregister(g)
	})
}
