package rebalanser_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// rmr deletes a node with all descendants, as an administrator may.
func (w *World) rmr(node string) {
	w.Helper()
	for _, child := range w.Children(node) {
		w.rmr(node + "/" + child)
	}
	require.NoError(w, w.Server.Delete(node))
}

// After a removal of any part of a balanced group, the next rebalancing still
// completes, and so does the rebalancing after an election.
func TestGroupGoesOnAfterSomethingWasRemoved(t *testing.T) {
	for _, dir := range []string{"assignments", "status", "stopped", "config", "epoch", "clients"} {
		t.Run(dir, func(t *testing.T) {
			inBoth(t, func(w *World) {
				if !slices.Contains(w.folders(), dir) {
					return
				}
				a := w.stock(9)
				var c []*node
				for _, memberID := range []string{"c2", "c3", "c4"} {
					c = append(c, w.node(memberID, rebalanser.Options{}).run())
					w.Pass(time.Second)
				}
				w.shared(9, c...)
				if dir == "clients" { // no member is safe without its znode
					for _, n := range c {
						w.excuse(n.memberID, time.Minute)
					}
				}
				w.rmr(path + "/" + dir)
				_, err := a.RemoveResources(w.Ctx, names(9)[:3]...)
				require.NoError(w, err)
				w.Pass(30 * time.Second)
				_, err = a.AddResources(w.Ctx, names(9)[:3]...)
				require.NoError(w, err)
				w.Pass(30 * time.Second)
				w.shared(9, c...)
				c[0].stop()
				w.Pass(30 * time.Second)
				w.shared(9, c[1:]...)
				for _, n := range c[1:] {
					n.stop()
				}
			})
		})
	}
}

func (w *World) folders() []string {
	w.Helper()
	return w.Children(path)
}

// The same, if the next event is an election.
func TestElectionAfterShardsWereRemoved(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(9)
		var c []*node
		for _, memberID := range []string{"c2", "c3", "c4"} {
			c = append(c, w.node(memberID, rebalanser.Options{}).run())
			w.Pass(time.Second)
		}
		w.rmr(path + "/assignments")
		c[0].stop()
		w.Pass(30 * time.Second)
		w.shared(9, c[1:]...)
	})
}

// A member's report of its stop is removed in the middle of a generation: the
// member repeats the report.
func TestWordThatWasRemovedIsGivenAgain(t *testing.T) {
	inWorld(t, rebalanser.GlobalBarrier, nil, func(w *World) {
		w.stock(4)
		hold := make(chan struct{})
		resume := sync.OnceFunc(func() { close(hold) })
		defer resume()
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(time.Second)
		c2.before = waitFor(hold)
		c3 := w.node("c3", rebalanser.Options{}).run()
		w.Pass(time.Second)
		words := w.Children(path + "/stopped")
		require.Len(w, words, 1)
		require.NoError(w, w.Server.Delete(path+"/stopped/"+words[0]))
		w.Pass(time.Second)
		require.Equal(w, words, w.Children(path+"/stopped"))
		resume()
		w.Pass(time.Second)
		w.shared(4, c2, c3)
		require.Empty(w, w.Children(path+"/stopped"))
	})
}

// A refused request ends the member, even a request sent only when the member
// gets a resource.
func TestRefusedBarrierEndsTheMember(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(4)
		readOnly := []session.ACL{{Perms: 1, Scheme: "world", ID: "anyone"}}
		_, err := w.Session(w.Client()).SetACL(w.Ctx, path+"/barriers", readOnly, -1)
		require.NoError(w, err)
		n := w.node("c3", rebalanser.Options{}).run()
		require.ErrorIs(w, n.awaitEnd(), session.ErrNoAuth)
		require.Empty(w, w.Children(path+"/clients"))
	})
}

// A resource without a barrier moves to a member: the end of the move is
// noticed, and the next resource can move.
func TestMoveOfAFreeResourceEnds(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		a := w.stock(0)
		o := rebalanser.Options{MaxMoves: 1}
		c2 := w.node("c2", o).run()
		w.Pass(time.Second)
		s := w.Session(w.Client())
		_, err := a.AddResources(w.Ctx, names(6)...)
		require.NoError(w, err)
		w.Pass(time.Second)
		require.NoError(w, a.Pause(w.Ctx))
		c3 := w.node("c4", o).run()
		w.Pass(time.Second)
		hold := make(chan struct{})
		resume := sync.OnceFunc(func() { close(hold) })
		defer resume()
		c2.before = waitFor(hold)
		require.NoError(w, a.Resume(w.Ctx))
		w.Pass(time.Second)
		moving := w.status(a).Waiting
		require.Len(w, moving, 1)
		// Its barrier is removed, and the new owner is slow to create another.
		w.Server.Delay(zktest.Link{Client: "c4"}, zktest.Both, time.Second)
		require.NoError(w, s.Delete(w.Ctx, path+"/barriers/"+moving[0].Resource, -1))
		w.excuse("c2", time.Minute)
		w.Pass(10 * time.Second)
		w.Server.Heal()
		resume()
		w.Pass(time.Minute)
		w.shared(6, c2, c3)
	})
}

// A handler that ends its goroutine, like a test's FailNow, has failed.
func TestHandlerThatEndsItsGoroutineEndsTheMembership(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		n := w.node("c2", rebalanser.Options{})
		n.before = func(context.Context, string, []*rebalanser.Resource) error { runtime.Goexit(); return nil }
		w.excuse("c2", time.Hour)
		n.run()
		require.ErrorContains(w, n.awaitEnd(), "has ended its goroutine")
		require.Empty(w, w.Children(path+"/clients"))
	})
}

// Two administrators add the same resources concurrently: each needs a few
// requests per hundred resources, and each resource is added by exactly one.
func TestTwoAdministratorsAddTheSameAtOnce(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(0)
		all := names(2000)
		other, c := w.admin(), w.Client()
		w.Session(c)
		one := rebalanser.Open(c, path, nil)
		added := 0
		w.Once(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks && r.Client == "c3" }, func() {
			for _, name := range all {
				if err := w.Server.Create(path+"/resources/"+name, nil); err != nil {
					w.Error(err)
				}
			}
			added = len(all)
		})
		txns := 0
		defer w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" && !r.OnlyChecks && r.Client == "c3" {
				txns++
			}
			return zktest.Action{}
		})()
		mine, err := one.AddResources(w.Ctx, all...)
		require.NoError(w, err)
		require.Equal(w, 2000, added)
		require.Empty(w, mine)
		require.LessOrEqual(w, txns, 4)
		again, err := other.AddResources(w.Ctx, all...)
		require.NoError(w, err)
		require.Empty(w, again)
	})
}

// twice is an assignor that assigns everything to every member, until
// corrected.
type twice struct {
	assignor.Assignor
	wrong *atomic.Bool
}

func (t twice) Assign(members []assignor.Member, resources []assignor.Resource) [][]string {
	out := t.Assignor.Assign(members, resources)
	if t.wrong.Load() {
		for i := range out {
			out[i] = out[0]
		}
	}
	return out
}

// An invalid result is not written, and the coordinator reports the reason.
func TestWrongResultOfAnAssignorIsSaid(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(4)
		var wrong atomic.Bool
		o := rebalanser.Options{Assignor: twice{assignor.Sticky(), &wrong}}
		c1 := w.node("c1", o).run()
		w.Settle()
		w.shared(4, c1)
		require.NoError(w, c1.group.State().Err)
		wrong.Store(true)
		c2 := w.node("c2", o).run()
		w.Pass(time.Minute)
		require.ErrorIs(w, c1.group.State().Err, assignor.ErrInvalid)
		w.shared(4, c1)
		quiet(w, c2)
		wrong.Store(false)
		_, err := a.AddResources(w.Ctx, "one-more")
		require.NoError(w, err)
		w.Pass(time.Minute)
		require.NoError(w, c1.group.State().Err)
		require.NotEmpty(w, w.of("c2"))
	})
}

// Foreign nodes below a shard, and below the shard of a leaving member, do not
// keep the shard from being deleted.
func TestShardGoesWithWhatOthersHavePutBelowIt(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(4)
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(time.Second)
		c3 := w.node("c3", rebalanser.Options{}).run()
		w.Pass(time.Second)
		w.shared(4, c2, c3)
		shard := path + "/assignments/" + c3.group.State().Client
		require.NoError(w, w.Server.Create(shard+"/stranger", nil))
		c3.stop()
		w.Pass(time.Second)
		w.shared(4, c2)
		require.NotContains(w, w.Children(path+"/assignments"), shard[len(path+"/assignments/"):])
		c2.stop()
	})
}
