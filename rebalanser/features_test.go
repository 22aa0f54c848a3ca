package rebalanser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A resource is removed and added again while its owner is slow to stop: the
// barrier is not below the resource, so no other member gets the resource
// early.
func TestRemovedAndAddedAgainHasNoSecondOwner_X4(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		c1 := w.node("c1", rebalanser.Options{})
		c1.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			if what[0] == '-' {
				world.Pause(time.Minute)
			}
			return nil
		}
		c1.run()
		w.Settle()
		_, err := a.RemoveResources(w.Ctx, "r00")
		require.NoError(w, err)
		w.Settle()
		c2 := w.node("c2", rebalanser.Options{}).run()
		_, err = a.AddResources(w.Ctx, "r00")
		require.NoError(w, err)
		w.Pass(50 * time.Second)
		require.Contains(w, w.of("c1"), "r00")
		quiet(w, c2)
		w.Pass(3 * time.Minute)
		w.shared(2, c1, c2)
	})
}

func TestBarriersOfRemovedResourcesGoWhenTheyAreFree_X4(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		a := w.stock(3)
		c1 := w.node("c2", rebalanser.Options{})
		c1.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			if what[0] == '-' {
				world.Pause(10 * time.Second)
			}
			return nil
		}
		c1.run()
		w.Settle()
		_, err := a.RemoveResources(w.Ctx, "r01")
		require.NoError(w, err)
		w.Pass(5 * time.Second)
		require.Equal(w, names(3), w.Children(path+"/barriers"), "r01 is still owned")
		w.Pass(10 * time.Second)
		require.Equal(w, []string{"r00", "r02"}, w.Children(path+"/barriers"))

		// A member dies with a removed resource: the next coordinator cleans up.
		w.markDead("c2")
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
		_, err = a.RemoveResources(w.Ctx, "r02")
		require.NoError(w, err)
		w.node("c3", rebalanser.Options{}).run()
		w.Pass(time.Minute)
		require.Equal(w, []string{"r00"}, w.Children(path+"/barriers"))
	})
}

// A member that gets another assignment while waiting for a barrier touches no
// other member's barrier.
func TestCanceledWaitTouchesNoBarrier_X2(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(2)
		c1 := w.node("c1", rebalanser.Options{})
		c1.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			if what[0] == '-' {
				world.Pause(time.Minute)
			}
			return nil
		}
		c1.run()
		w.Settle()
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Settle()
		before := w.owner("r00") + w.owner("r01")
		var written []string
		w.Server.OnApply(func(txn zktest.Txn) { written = append(written, fmt.Sprintf("%+v", txn)) })
		c2.stop() // c2 waits for the resource that c1 is giving up
		w.Settle()
		for _, txn := range written {
			require.NotContains(w, txn, "/barriers/")
		}
		require.Equal(w, before, w.owner("r00")+w.owner("r01"))
		require.Empty(w, c2.takeCalls())
		w.Pass(2 * time.Minute)
		w.shared(2, c1)
	})
}

// Members come and go all the time, faster than a handler stops. R47: a rebalancing in
// progress is finished, not aborted, and later changes belong to the next rebalancing.
func TestChurnDoesNotStarveTheSharingOut_X12(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(4)
		slow := func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			if what[0] == '-' {
				world.Pause(5 * time.Second)
			}
			return nil
		}
		c1, c2 := w.node("c1", rebalanser.Options{}), w.node("c2", rebalanser.Options{})
		c1.before, c2.before = slow, slow
		c1.run()
		w.Settle()
		c2.run()
		churn := w.Client()
		for range 20 {
			n := w.nodeOf(churn, "churn", rebalanser.Options{Subscription: []string{"none"}}).run()
			w.Pass(500 * time.Millisecond)
			n.stop()
		}
		require.Len(w, w.of("c2"), 2, "c2 has got its share in the middle of the stop")
	})
}

func TestInitialDelayGathersMembers_R35_R49(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(6)
		c1 := w.node("c1", rebalanser.Options{InitialDelay: 10 * time.Second}).run()
		w.Pass(9 * time.Second)
		quiet(w, c1)
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(2 * time.Second)
		w.shared(6, c1, c2)
		require.Len(w, c1.takeCalls(), 1)
		require.Len(w, c2.takeCalls(), 1)
	})
}

func TestMinIntervalKeepsChangesTogether_R35_R49(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(6)
		o := rebalanser.Options{MinInterval: 10 * time.Second}
		c1 := w.node("c1", o).run()
		w.Settle()
		require.Equal(w, 6, count(c1.takeCalls(), "+"))
		c2 := w.node("c2", o).run()
		c3 := w.node("c3", o).run()
		w.Pass(9 * time.Second)
		quiet(w, c1, c2, c3)
		w.Pass(2 * time.Second)
		w.shared(6, c1, c2, c3)
		require.Len(w, c1.takeCalls(), 1)
	})
}

func TestPauseBeginsNothingNew(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(4)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Settle()
		c1.takeCalls()
		require.NoError(w, a.Pause(w.Ctx))
		st := w.status(a)
		require.True(w, st.Paused)
		require.Equal(w, "admin", st.PausedBy)
		require.False(w, st.PausedSince.IsZero())
		c2 := w.node("c2", rebalanser.Options{}).run()
		_, err := a.AddResources(w.Ctx, "r04")
		require.NoError(w, err)
		w.Pass(time.Minute)
		quiet(w, c1, c2)
		require.NoError(w, a.Resume(w.Ctx))
		w.Settle()
		w.shared(5, c1, c2)
		require.False(w, w.status(a).Paused)
	})
}

// static starts members "c2", ..., each with its own instance, one by one.
func (w *World) static(n int, o rebalanser.Options) []*node {
	w.Helper()
	var out []*node
	for i := range n {
		o.Instance = fmt.Sprintf("instance-%02d", i)
		out = append(out, w.node(fmt.Sprintf("c%d", i+2), o).run())
	}
	w.Pass(5 * time.Second)
	return out
}

// Twenty members are restarted one after the other, each in less than the
// departure delay: no resource moves.
func TestRollingRestartMovesNothing(t *testing.T) {
	inBoth(t, func(w *World) {
		members := 12
		if testing.Short() {
			members = 6
		}
		w.stock(60)
		c := w.static(members, together)
		w.shared(60, c...)
		had := map[string]string{}
		for _, name := range names(60) {
			had[name] = w.owner(name)
		}
		for i, n := range c {
			if i%2 == 0 {
				n.stop()
			} else { // killed: its session expires
				w.markDead(n.memberID)
				w.Server.BlackHole(zktest.Link{Client: fmt.Sprintf("c%d", i+2)}, zktest.Both)
			}
			w.Pass(5 * time.Second)
			o := together
			o.Instance = fmt.Sprintf("instance-%02d", i)
			c[i] = w.node(fmt.Sprintf("d%d", i+2), o).run()
			w.Pass(25 * time.Second)
			for name, owner := range had {
				if owner == fmt.Sprintf("c%d", i+2) {
					had[name] = c[i].memberID
				}
			}
			for name, owner := range had {
				require.Equal(w, owner, w.owner(name), "%s, after the restart of %s", name, c[i].memberID)
			}
		}
		for _, n := range c {
			require.Zero(w, count(n.takeCalls(), "-"), "%s has given something up", n.memberID)
		}
	})
}

func TestStaticMemberThatStaysAwayLosesItsShare(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(4)
		c := w.static(2, rebalanser.Options{InitialDelay: 2 * time.Second, DepartureDelay: 20 * time.Second})
		w.shared(4, c...)
		c[1].stop()
		w.Pass(19 * time.Second)
		require.Len(w, w.of(c[0].memberID), 2, "the instance is expected back")
		w.Pass(2 * time.Second)
		w.shared(4, c[0])
	})
}

func TestInstanceInUseIsRefusedAndNamesTheHolder(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		c1 := w.node("c1", rebalanser.Options{Instance: "one", ID: "the first"}).run()
		w.Settle()
		c1.takeCalls()
		n := w.node("c2", rebalanser.Options{Instance: "one"})
		n.run()
		w.Settle()
		require.Equal(w, "waiting for the instance", n.group.State().Phase)
		began := time.Now()
		err := n.awaitEnd()
		require.ErrorIs(w, err, rebalanser.ErrInstanceInUse)
		require.ErrorContains(w, err, "the first")
		require.ErrorContains(w, err, `"one"`)
		require.InDelta(w, 20*time.Second, time.Since(began), float64(time.Second), "two session timeouts")
		w.Settle()
		quiet(w, c1)

		n.run()
		w.Settle()
		c1.stop()
		w.Pass(time.Second)
		require.Equal(w, names(2), w.of("c2"), "the waiting member takes over when the first has gone")
	})
}

// With a limit no more resources than that are on their way at a time.
func TestMaxMovesLimitsWhatIsOnItsWay(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(12)
		o := rebalanser.Options{MaxMoves: 2}
		c1 := w.node("c1", o)
		c1.before = func(_ context.Context, what string, rs []*rebalanser.Resource) error {
			if what[0] == '-' && c1.group.State().Phase == "member" {
				require.LessOrEqual(w, len(rs), 2)
				world.Pause(10 * time.Second)
			}
			return nil
		}
		c1.run()
		w.Settle()
		c2 := w.node("c2", o).run()
		w.Pass(15 * time.Second)
		require.LessOrEqual(w, len(w.of("c2")), 4)
		w.Pass(2 * time.Minute)
		w.shared(12, c1, c2)
		require.GreaterOrEqual(w, len(c2.takeCalls()), 3, "in several steps")
	})
}

func TestSubscriptionsWeightsAndAssignorsAreHeeded(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(8)
		_, err := a.AddResources(w.Ctx, "nobodys")
		require.NoError(w, err)
		o := rebalanser.Options{Assignor: assignor.Weighted(), InitialDelay: 2 * time.Second, Subscription: []string{"r*"}}
		c1 := w.node("c1", o).run()
		o.Weight = 3
		c2 := w.node("c2", o).run()
		w.Pass(5 * time.Second)
		require.Len(w, w.of("c1"), 2)
		require.Len(w, w.of("c2"), 6)
		st := w.status(a)
		require.Equal(w, []string{"nobodys"}, st.Unowned)
		for _, m := range st.Members {
			require.Equal(w, assignor.Weighted().Name(), m.Assignor)
			require.Equal(w, []string{"r*"}, m.Subscription)
		}
		_, _ = c1, c2
	})
}

// An assignor that panics ends only the coordinator.
func TestPanickingAssignorEndsItsMemberOnly(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		c1 := w.node("c1", rebalanser.Options{Assignor: badAssignor{}}).run()
		err := c1.awaitEnd()
		require.ErrorContains(w, err, "panicked: not today")
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Settle()
		w.shared(2, c2)
	})
}

type badAssignor struct{}

func (badAssignor) Name() string { return "bad" }

func (badAssignor) Assign([]assignor.Member, []assignor.Resource) [][]string { panic("not today") }

// Foreign znodes among the clients, and elsewhere, disturb no member.
func TestBadMemberNeverDisturbsTheGroup_X14(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(4)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Settle()
		s := w.Session(w.Client())
		bad := map[string]string{
			"empty": "", "no JSON": "{", "list": "[]", "format": `{"format":2,"mode":"` + w.mode.String() + `"}`,
			"mode": `{"format":1,"mode":"other"}`, "weight": `{"format":1,"mode":"` + w.mode.String() + `","weight":-1}`,
			"instance": `{"format":1,"mode":"` + w.mode.String() + `","instance":"../epoch"}`,
			"key":      `{"format":1,"mode":"` + w.mode.String() + `","instance":"_c_x"}`,
			"patterns": `{"format":1,"mode":"` + w.mode.String() + `","subscription":["["]}`,
		}
		for name, data := range bad {
			_, err := s.Create(w.Ctx, path+"/clients/_c_0000-latch-", []byte(data), session.EphemeralSequential, nil)
			require.NoError(w, err, name)
		}
		require.NoError(w, w.Server.Create(path+"/clients/config", nil))
		require.NoError(w, w.Server.Create(path+"/clients/_c_x-latch-9999999999", nil))
		if w.mode == rebalanser.GlobalBarrier {
			for _, name := range []string{"x", "a.b", "a.99999999999999999999", "."} {
				if name != "." {
					require.NoError(w, w.Server.Create(path+"/stopped/"+name, nil))
				}
			}
		}
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(time.Second)
		w.shared(4, c1, c2)
		st, n := w.status(a), 0
		for _, m := range st.Members {
			if m.Err != nil {
				require.ErrorIs(w, m.Err, rebalanser.ErrRecord)
				require.Zero(w, m.Assigned)
				n++
			}
		}
		require.GreaterOrEqual(w, n, len(bad))
	})
}

// Invalid records are replaced by their owners.
func TestBrokenRecordsAreRepaired(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(4)
		for _, node := range []string{"epoch", "config", "status"} {
			_ = w.Server.Set(path+"/"+node, []byte("{"+node))
		}
		require.NoError(w, w.Server.Create(path+"/assignments/stranger", []byte("?")))
		require.NoError(w, w.Server.Create(path+"/assignments/stranger/child", nil))
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Pass(time.Second)
		w.shared(4, c1)
		w.Pass(40 * time.Second) // could be an instance that comes back
		require.Equal(w, []string{c1.group.State().Client}, w.Children(path+"/assignments"))
		require.EqualValues(w, 1, w.status(a).Epoch)
		shard := path + "/assignments/" + c1.group.State().Client
		require.NoError(w, w.Server.Set(shard, []byte(`{"client":"`)))
		w.Pass(time.Second)
		w.shared(4, c1)
		_, err := a.AddResources(w.Ctx, "r04")
		require.NoError(w, err)
		w.Pass(time.Second)
		w.shared(5, c1)
	})
}

// A shard that is too long for one znode continues in further znodes.
func TestShardsAreAsLongAsTheyMust(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.admin()
		require.NoError(w, a.Create(w.Ctx))
		var long []string
		n := 1500
		if testing.Short() {
			n = 1100
		}
		for i := range n {
			long = append(long, fmt.Sprintf("%04d-%s", i, strings.Repeat("x", 500)))
		}
		added, err := a.AddResources(w.Ctx, long...)
		require.NoError(w, err)
		require.Len(w, added, len(long))
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Pass(5 * time.Second)
		require.Equal(w, long, w.of("c1"))
		shard := path + "/assignments/" + c1.group.State().Client
		require.GreaterOrEqual(w, len(w.Children(shard)), 2)
		for _, n := range w.Server.Dump() {
			require.Less(w, len(n.Data), 300_000, n.Path)
		}
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(5 * time.Second)
		require.Len(w, w.of("c1"), n/2)
		require.Len(w, w.of("c2"), n/2)
		for _, name := range w.Children(shard) {
			require.True(w, strings.HasPrefix(name, "2-"), "those of the generation before are gone: %s", name)
		}
		c1.stop()
		w.Pass(5 * time.Second)
		require.Equal(w, long, w.of("c2"))
		require.Equal(w, []string{c2.group.State().Client}, w.Children(path+"/assignments"))
	})
}

// A new coordinator of a paused group begins nothing.
func TestPauseOutlivesTheCoordinator(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(4)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Settle()
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Settle()
		c2.takeCalls()
		require.NoError(w, a.Pause(w.Ctx))
		c1.stop()
		w.Pass(10 * time.Second)
		require.True(w, c2.group.State().Coordinator)
		quiet(w, c2)
		require.NoError(w, a.Resume(w.Ctx))
		w.Settle()
		w.shared(4, c2)
	})
}

// After a removal of a group's nodes, one by one, the nodes are created again,
// and in the end all resources are owned.
func TestRemovedFoldersAreMadeAgain(t *testing.T) {
	inBoth(t, func(w *World) {
		for _, dir := range []string{"resources", "assignments", "barriers", "status", "stopped", "config", "epoch"} {
			a := w.stock(2)
			c1 := w.node("c1", rebalanser.Options{}).run()
			w.Settle()
			if _, err := w.Server.Get(path + "/" + dir); err != nil {
				c1.stop()
				continue // the other mode's
			}
			if dir == "barriers" { // nothing is safe without barriers: all resources are removed first
				_, err := a.RemoveResources(w.Ctx, names(2)...)
				require.NoError(w, err)
				w.Settle()
			}
			for _, name := range w.Children(path + "/" + dir) {
				require.NoError(w, w.Server.Delete(path+"/"+dir+"/"+name))
			}
			require.NoError(w, w.Server.Delete(path+"/"+dir))
			c2 := w.node("c2", rebalanser.Options{}).run()
			w.Pass(5 * time.Second)
			require.NoError(w, a.Create(w.Ctx))
			_, err := a.AddResources(w.Ctx, names(2)...)
			require.NoError(w, err, dir)
			w.Pass(5 * time.Second)
			w.shared(2, c1, c2)
			c1.stop()
			c2.stop()
		}
	})
}
