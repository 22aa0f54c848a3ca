package contender_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// requireOnce lists the contenders, and requires that all sessions have one, but those that
// have left.
func (c *crowd) requireOnce() []contender.Listed {
	c.Helper()
	list, err := contender.List(c.ctx, c.s, dir, roomPath, []string{marker})
	require.NoError(c, err)
	times := map[int64]int{}
	for _, l := range list {
		times[l.Node.Stat.EphemeralOwner]++
	}
	want := map[int64]int{}
	for i, s := range c.sessions {
		if !c.left[i] {
			want[s.ID()] = 1
		}
	}
	require.Equal(c, want, times)
	return list
}

// loseOne lets fault happen to the next request of op on a child of parent, by the last
// contender.
func (c *crowd) loseOne(op, parent string, fault zktest.Fault) (done func() bool) {
	lost := false
	c.srv.OnRequest(func(r zktest.Request) zktest.Action {
		if !lost && r.Op == op && strings.HasPrefix(r.Path, parent+"/") && r.Session == c.sessions[len(c.sessions)-1].ID() {
			lost = true
			return zktest.Action{Do: fault}
		}
		return zktest.Action{}
	})
	return func() bool { return lost }
}

// The reply to the creation with which a contender comes out of the room is lost, and its
// wait ends before the contender knows: when it waits again, it gets another node.
func TestContenderIsListedOnceAfterALostCreation(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.crowd(firstOutside)
		sp := crowdedSpec()
		last := w.session()
		c.sessions = append(c.sessions, last)
		k := w.enter(last, sp)
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		waiting := func(ctx context.Context) <-chan error {
			out := make(chan error, 1)
			// The bubble waits for it; it ends with ctx.
			go func() { out <- k.Await(ctx) }()
			synctest.Wait()
			return out
		}
		out := waiting(ctx)
		require.Len(w, c.requireOnce(), firstOutside+1)
		lost := c.loseOne("create2", dir, zktest.DropReplyHole)
		for i := range limit + 1 { // the last one is granted place 1, for which k waits
			granted := <-c.outs[i]
			require.NotNil(w, granted)
			if i < limit {
				c.left[i] = true
				require.NoError(w, granted.Leave(w.ctx))
				synctest.Wait()
			}
		}
		require.True(w, lost())
		c.requireOnce()
		cancel()
		require.ErrorIs(w, <-out, context.Canceled)
		again, stop := context.WithCancel(w.ctx)
		defer stop()
		out = waiting(again)
		time.Sleep(time.Minute)
		c.requireOnce()
		require.True(w, strings.HasPrefix(k.Node().Path, dir+"/"))
		stop()
		require.ErrorIs(w, <-out, context.Canceled)
		require.NoError(w, k.Leave(w.ctx))
	})
}

// The request to delete the first node of a contender that goes to the room is lost: until the
// deletion is repeated, the contender has a node in the queue and a place.
func TestContenderIsListedOnceWhileItsNodeIsDeleted(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.crowd(firstOutside)
		c.sessions = append(c.sessions, w.session())
		last := c.sessions[len(c.sessions)-1]
		lost := c.loseOne("delete", dir, zktest.DropRequest)
		c.await(w.ctx, last, crowdedSpec())
		require.True(w, lost())
		require.Len(w, w.children(), firstOutside+1)
		require.Len(w, w.places(), ahead+1)
		list := c.requireOnce()
		require.False(w, list[len(list)-1].Outside)
		behind := w.enter(w.s, crowdedSpec())
		require.NoError(w, behind.GoOutside(w.ctx))
		n, err := behind.Ahead(w.ctx)
		require.NoError(w, err)
		require.Equal(w, firstOutside+1, n)
		require.NoError(w, behind.Leave(w.ctx))
		time.Sleep(time.Minute)
		list = c.requireOnce()
		require.True(w, list[len(list)-1].Outside)
	})
}

// A contender whose reply to the creation of a place is lost takes another place, and deletes
// the first one: for a moment both exist.
func TestContenderWithTwoPlacesIsListedOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.crowd(firstOutside + 2)
		before := c.requireOnce()
		twice := before[len(before)-2].Node.Path
		node, err := w.srv.Get(twice)
		require.NoError(w, err)
		second := roomPath + "/place-0000009999"
		require.NoError(w, w.srv.Create(second, node.Data))
		list, err := contender.List(w.ctx, w.s, dir, roomPath, []string{marker})
		require.NoError(w, err)
		require.Len(w, list, len(before))
		require.Equal(w, second, list[len(list)-1].Node.Path, "the newer one")
	})
}

// Contenders of libraries that give no id are different contenders.
func TestContendersWithoutIDAreAllListed(t *testing.T) {
	inWorld(t, func(w *world) {
		require.NoError(w, w.srv.Create(dir, nil))
		for _, name := range []string{marker + "0000000001", marker + "0000000002", "x" + marker + "0000000003"} {
			require.NoError(w, w.srv.Create(dir+"/"+name, nil))
		}
		list, err := contender.List(w.ctx, w.s, dir, roomPath, []string{marker})
		require.NoError(w, err)
		require.Len(w, list, 3)
	})
}
