package rebalanser_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestLowestClientCoordinatesAndTheOthersFollow_R5_R6_R7_R29(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(6)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Settle()
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(time.Second)
		require.True(w, c1.group.State().Coordinator)
		require.False(w, c2.group.State().Coordinator)
		require.Len(w, w.of("c1"), 3, "the coordinator is a member, too")
		st := w.status(a)
		require.Equal(w, c1.group.State().Client, st.Coordinator)
		n, err := w.Server.Get(path + "/clients/" + st.Coordinator)
		require.NoError(w, err)
		require.Equal(w, w.ID(c1.client), n.EphemeralOwner)
		require.Regexp(w, `-latch-0000000000$`, st.Coordinator)
	})
}

func TestEachElectionRaisesTheEpochByOne_R8(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		for i := range int32(4) {
			n := w.node(fmt.Sprint("n", i), rebalanser.Options{}).run()
			w.Pass(time.Second)
			epoch, err := w.Server.Get(path + "/epoch")
			require.NoError(w, err)
			require.Equal(w, i+1, epoch.Version)
			require.Equal(w, int64(i)+1, w.status(a).Epoch)
			n.stop()
		}
	})
}

func TestResourcesThatComeAndGoAreSharedOutAndGivenUp_R3_R9_R10(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(4)
		c := w.start(2, together)
		w.Pass(10 * time.Second)
		w.shared(4, c...)
		_, err := a.AddResources(w.Ctx, "r04", "r05")
		require.NoError(w, err)
		w.Pass(time.Second)
		w.shared(6, c...)
		require.NoError(w, w.Server.Create(path+"/resources/r06", []byte("another client's")), "any tool will do")
		w.Pass(time.Second)
		w.shared(7, c...)
		for _, n := range c {
			n.takeCalls()
		}
		owner := w.owner("r03")
		_, err = a.RemoveResources(w.Ctx, "r03")
		require.NoError(w, err)
		w.Pass(time.Second)
		require.Empty(w, w.owner("r03"))
		for _, n := range c {
			if n.memberID == owner {
				require.Contains(w, n.takeCalls(), "-r03")
			}
		}
	})
}

func TestAddedResourceLeavesTheFoldersVersionAlone_R4(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		var once bool
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" && strings.HasPrefix(r.Path, path+"/epoch") && !once {
				once = true // between the coordinator's read and its write
				require.NoError(w, w.Server.Create(path+"/resources/between", nil))
			}
			return zktest.Action{}
		})
		c := w.start(1, rebalanser.Options{})
		w.Pass(time.Second)
		require.True(w, once)
		require.Equal(w, []string{"between", "r00", "r01"}, w.of(c[0].memberID))
		n, err := w.Server.Get(path + "/resources")
		require.NoError(w, err)
		require.Zero(w, n.Version)
		require.EqualValues(w, 1, w.status(a).Epoch, "and the coordinator is still the same")
	})
}

func TestKilledClientWakesTwoOthers_R13_R14(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(0)
		var c []*node
		for i := range 5 {
			c = append(c, w.node(fmt.Sprintf("c%d", i+1), rebalanser.Options{}).run())
			w.Settle()
		}
		watched := map[string]int{}
		for p, sessions := range w.Server.Watches() {
			if !strings.HasPrefix(p, path+"/clients/") {
				continue
			}
			n, err := w.Server.Get(p)
			require.NoError(w, err)
			for _, s := range sessions {
				if s != n.EphemeralOwner { // each watches its own, too
					watched[p]++
				}
			}
		}
		require.Len(w, watched, 4, "each but the last is watched")
		for i, m := range c {
			p := path + "/clients/" + m.group.State().Client
			require.Equal(w, min(2, len(c)-1-i), watched[p], "by the two behind: %s", p)
		}
		c[2].stop()
		w.Settle()
		require.True(w, c[0].group.State().Coordinator)
		require.False(w, c[3].group.State().Coordinator, "the follower of a member that has left watches the member before")
		c[0].stop()
		w.Settle()
		require.True(w, c[1].group.State().Coordinator)
	})
}

func TestNewEpochDeposesTheCoordinator_R11_R12_R34(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(4)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Settle()
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(time.Second)
		before, s := c1.group.State().Client, w.ID(c1.client)
		require.NoError(w, w.Server.Set(path+"/epoch", []byte(`{"epoch":100,"client":"a stranger"}`)))
		w.Pass(time.Second)
		require.False(w, c1.group.State().Coordinator)
		require.True(w, c2.group.State().Coordinator)
		require.NotEqual(w, before, c1.group.State().Client, "c1 stands again, at the end of the queue")
		require.Equal(w, s, w.ID(c1.client), "in the user's session, which stays")
		w.shared(4, c1, c2)
	})
}

// Another client raises the epoch right before a coordinator's write arrives:
// the shards, or in global mode the status. No part of the write is applied.
func TestWriteOfADeposedCoordinatorFails_R15_R16(t *testing.T) {
	for nth := 1; nth <= 4; nth++ {
		t.Run(fmt.Sprint(nth), func(t *testing.T) {
			inBoth(t, func(w *World) {
				if w.mode == rebalanser.ResourceBarrier && nth > 1 {
					return // only one write in this mode
				}
				w.stock(4)
				n, late, c1 := 0, false, w.node("c1", rebalanser.Options{})
				w.Server.OnRequest(func(r zktest.Request) zktest.Action {
					if r.Op == "multi" && r.Path == path+"/epoch" {
						if n++; n == nth {
							require.NoError(w, w.Server.Set(path+"/epoch", []byte(`{"epoch":100,"client":"another"}`)))
							w.Server.OnApply(func(txn zktest.Txn) {
								for _, p := range txn.Paths {
									if node, err := w.Server.Get(p); err == nil && txn.Op == "multi" {
										late = late || strings.Contains(string(node.Data), `"epoch":1,`) || strings.HasSuffix(string(node.Data), `"epoch":1}`)
									}
								}
							})
						}
					}
					return zktest.Action{}
				})
				c1.run()
				w.Pass(time.Second)
				require.False(w, late, "a write in the past epoch")
				require.Greater(w, n, nth, "the coordinator continues as a new client, in a new epoch")
				epoch, err := w.Server.Get(path + "/epoch")
				require.NoError(w, err)
				require.Contains(w, string(epoch.Data), `"epoch":101`)
				w.shared(4, c1)
			})
		})
	}
}

// A coordinator is cut off, and comes back after others have continued: the
// coordinator writes nothing any more.
func TestZombieCoordinatorChangesNothing_R15_R16(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(4)
		c1 := w.node("c2", rebalanser.Options{}).run() // the administrator's client is c1
		w.Pass(time.Second)
		c2 := w.node("c3", rebalanser.Options{}).run()
		w.Pass(time.Second)
		zombie := c1.group.State().Client
		link := zktest.Link{Client: "c2"}
		w.Server.BlackHole(link, zktest.ToServer) // its requests arrive after Heal
		_, err := a.AddResources(w.Ctx, "r04", "r05")
		require.NoError(w, err)
		w.Pass(30 * time.Second)
		require.True(w, c2.group.State().Coordinator)
		var late []string
		w.Server.OnApply(func(txn zktest.Txn) { late = append(late, fmt.Sprintf("%+v", txn)) })
		w.Server.HealLink(link)
		w.Pass(10 * time.Second)
		for _, txn := range late {
			require.NotContains(w, txn, zombie, "the zombie's requests are not applied")
		}
		w.shared(6, c1, c2)
		require.False(w, c1.group.State().Coordinator)
	})
}

func TestExpiredMemberComesBackAsAnother_R33_X3(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(4)
		c1, c2 := w.node("c1", rebalanser.Options{}).run(), w.node("c2", rebalanser.Options{}).run()
		w.Pass(5 * time.Second)
		w.shared(4, c1, c2)
		c2.takeCalls()
		before := c2.group.State().Client
		w.excuse("c2", time.Second)
		w.Expire(c2.client)
		w.Pass(20 * time.Second)
		calls := c2.takeCalls()
		require.Equal(w, 2, count(calls[:1], "!"), "its resources are lost, once: %v", calls)
		require.Equal(w, 2, count(calls[1:], "+"), "and the member is assigned resources again: %v", calls)
		require.NotEqual(w, before, c2.group.State().Client)
		w.shared(4, c1, c2)
	})
}

func TestDeletedClientNodeIsALoss(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(4)
		c1, c2 := w.node("c1", rebalanser.Options{}).run(), w.node("c2", rebalanser.Options{}).run()
		w.Pass(5 * time.Second)
		c2.takeCalls()
		r := c2.resource(w.of("c2")[0])
		w.excuse("c2", 5*time.Second)
		require.NoError(w, w.Server.Delete(path+"/clients/"+c2.group.State().Client))
		w.Pass(20 * time.Second)
		require.ErrorIs(w, context.Cause(r.Context()), session.ErrNodeDeleted)
		require.Equal(w, 2, count(c2.takeCalls()[:1], "!"))
		w.shared(4, c1, c2)
		c1.stop()
		c2.stop()
		require.NoError(w, leftBehind(w.Server))
	})
}

// The coordinator stops while its handler is slow: none of its resources may
// move before the handler has returned.
func TestStopHandlerRunsBeforeTheClientGoes_X1(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(4)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Settle()
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(time.Second)
		name := c1.group.State().Client
		c1.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			if what[0] == '-' {
				world.Pause(5 * time.Minute)
			}
			return nil
		}
		c1.stopIt()
		w.Pass(4 * time.Minute)
		require.Equal(w, "leaving", c1.group.State().Phase)
		require.Contains(w, w.Children(path+"/clients"), name)
		require.Len(w, w.of("c2"), 2, "no other member has got a resource")
		w.Pass(2 * time.Minute)
		require.NoError(w, c1.awaitEnd())
		w.shared(4, c2)
	})
}

func TestStateSaysStoppedAfterTheEnd_X8_X10(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(1)
		n := w.node("c1", rebalanser.Options{})
		require.Equal(w, "stopped", n.group.State().Phase)
		n.run()
		w.Settle()
		require.Equal(w, "member", n.group.State().Phase)
		require.Equal(w, 1, n.group.State().Owned)
		require.ErrorIs(w, n.group.Run(w.Ctx), rebalanser.ErrRunning)
		n.stop()
		require.Equal(w, rebalanser.State{Phase: "stopped", Since: n.group.State().Since}, n.group.State())
		n.run()
		w.Settle()
		require.Equal(w, "member", n.group.State().Phase, "the group can be run again")
		n.stop()

		ended, cancel := context.WithCancel(w.Ctx)
		cancel()
		require.ErrorIs(w, n.group.Run(ended), context.Canceled)
		broken := w.node("c2", rebalanser.Options{Weight: -1})
		require.ErrorIs(w, broken.group.Run(w.Ctx), rebalanser.ErrInvalidArgument)
		require.ErrorIs(w, broken.group.Run(w.Ctx), rebalanser.ErrInvalidArgument, "a failed start blocks nothing")
	})
}

func TestStatesFollowTheMember(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		n := w.node("c1", rebalanser.Options{})
		ctx, cancel := context.WithCancel(w.Ctx)
		var seen []string
		over := make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() {
			var last error
			for s, err := range n.group.States(ctx) {
				if len(seen) == 0 || seen[len(seen)-1] != s.Phase {
					seen = append(seen, s.Phase)
				}
				last = err
			}
			over <- last
		}()
		w.Settle()
		w.Server.Delay(zktest.Link{}, zktest.Both, 10*time.Millisecond) // or states would be skipped
		n.run()
		w.Pass(time.Second)
		n.stop()
		w.Settle()
		cancel()
		require.ErrorIs(w, <-over, context.Canceled)
		require.Equal(w, []string{"stopped", "joining", "member", "leaving", "stopped"}, seen)
	})
}

func TestSuspendedMemberKeepsWhatItHas(t *testing.T) {
	world.Needs(t, world.Resumes)
	inBoth(t, func(w *World) {
		w.stock(2)
		n := w.node("c2", rebalanser.Options{}).run()
		w.Settle()
		n.takeCalls()
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
		w.Server.CutLink(zktest.Link{Client: "c2"})
		w.Pass(3 * time.Second)
		require.True(w, n.group.State().Suspended)
		w.Server.Heal()
		w.Pass(5 * time.Second)
		require.False(w, n.group.State().Suspended)
		quiet(w, n)
		require.Len(w, w.of("c2"), 2)
	})
}

func TestGuardRefusesWhatIsLost_X5(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(1)
		c1, c2 := w.node("c1", rebalanser.Options{}), w.node("c2", rebalanser.Options{})
		c1.run()
		w.Settle()
		first := c1.resource("r00")
		write := func(r *rebalanser.Resource, s *session.Session) error {
			_, err := s.Txn(w.Ctx, r.Guard())
			return err
		}
		s2 := w.Session(c2.client)
		require.NoError(w, write(first, s2), "any client can check the guard")
		c2.run()
		w.Settle()
		w.excuse("c1", time.Second)
		w.Expire(c1.client)
		w.Pass(20 * time.Second)
		second := c2.resource("r00")
		if second == nil {
			second = c1.resource("r00")
		}
		require.Greater(w, second.Token(), first.Token())
		require.Error(w, write(first, s2))
		require.NoError(w, write(second, s2))
		require.ErrorIs(w, context.Cause(first.Context()), session.ErrLost)
	})
}

func TestOtherModeIsRefusedAndAffectsNoMember(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Settle()
		c1.takeCalls()
		other := rebalanser.GlobalBarrier
		if w.mode == other {
			other = rebalanser.ResourceBarrier
		}
		g := rebalanser.New(w.Client(), path, c1.recorder, &rebalanser.Options{Mode: other})
		err := g.Run(w.Ctx)
		require.ErrorIs(w, err, rebalanser.ErrMode)
		require.ErrorContains(w, err, w.mode.String())
		require.ErrorIs(w, rebalanser.Open(w.Client(), path, &rebalanser.Options{Mode: other}).Create(w.Ctx), rebalanser.ErrMode)
		w.Settle()
		quiet(w, c1)
	})
}

func TestClosedClientEndsTheMember(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		n := w.node("c1", rebalanser.Options{}).run()
		w.Settle()
		n.takeCalls()
		require.NoError(w, n.client.Close(w.Ctx))
		err := n.awaitEnd()
		require.ErrorIs(w, err, session.ErrClosed)
		require.Equal(w, []string{"!r00,r01"}, n.takeCalls())
	})
}

func TestRefusedWriteEndsTheMember(t *testing.T) {
	inBoth(t, func(w *World) {
		s := w.Session(w.Client())
		readOnly := []session.ACL{{Perms: 1, Scheme: "world", ID: "anyone"}}
		require.NoError(w, s.EnsurePath(w.Ctx, "/groups", session.Persistent, nil))
		_, err := s.Create(w.Ctx, path, nil, session.Persistent, &session.CreateOptions{ACL: readOnly})
		require.NoError(w, err)
		n := w.node("c1", rebalanser.Options{})
		err = n.group.Run(w.Ctx)
		require.True(w, errors.Is(err, session.ErrNoAuth), "%v", err)
	})
}
