package cache_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// counts are the exact requests of one operation after the other.
type counts struct {
	*world.World
	view *view
	data atomic.Int64
}

func count(w *world.World) *counts {
	c := &counts{World: w}
	w.Server.OnRequest(func(r zktest.Request) zktest.Action {
		if r.Op == "getData" || r.Op == "multiRead" {
			c.data.Add(int64(len(r.Paths)))
		}
		return zktest.Action{}
	})
	return c
}

func (c *counts) reset() {
	c.ResetStats()
	c.data.Store(0)
}

// seen are the requests by their names, and under "data" how many nodes' data was
// read: how many of these go together depends on which of them are known when.
func (c *counts) seen() map[string]int {
	out := requests(c.World)
	delete(out, "getData")
	delete(out, "multiRead")
	if n := int(c.data.Load()); n > 0 {
		out["data"] = n
	}
	return out
}

func (c *counts) cost(what string, want map[string]int, do func()) {
	c.Helper()
	c.Settle()
	c.reset()
	do()
	c.Settle()
	require.Equal(c, want, c.seen(), what)
	require.True(c, c.view.Status().Synced, what)
}

// reconnect loses the connection, and lets do happen before there is another.
func (c *counts) reconnect(do func()) {
	c.Server.BlackHole(zktest.Link{}, zktest.Both)
	c.Server.CutAll()
	c.Settle()
	do()
	c.Server.Heal()
	c.Pass(15 * time.Second)
}

func TestRequestsOfChildren(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	world.In(t, nil, func(w *world.World) {
		put(w, "/c", "")
		for i := range 100 {
			put(w, fmt.Sprintf("/c/%03d", i), "x")
		}
		client := w.Client()
		c := count(w)
		c.view = run(w, cache.NewChildren(client, "/c", text, nil).View)
		c.view.synced(w)
		require.Equal(w, map[string]int{"addWatch": 1, "sync": 1, "getChildren2": 1, "data": 100}, c.seen(), "load")
		require.LessOrEqual(w, w.Server.Stats().Requests["multiRead"]+w.Server.Stats().Requests["getData"], 13, "eight at a time at first")
		c.cost("one created", map[string]int{"data": 1}, func() { put(w, "/c/new", "x") })
		c.cost("one changed", map[string]int{"data": 1}, func() { put(w, "/c/new", "y") })
		c.cost("one deleted", map[string]int{}, func() { del(w, "/c/new") })
		c.cost("the parent changed", map[string]int{}, func() { put(w, "/c", "y") })
		c.cost("deeper down", map[string]int{}, func() { put(w, "/c/001/deep", "y", "/c/001/deep", "z") })
		c.cost("the children of one that came and went", map[string]int{}, func() { del(w, "/c/001/deep") })
		all := map[string]int{"addWatch": 1, "exists": 1, "data": 100}
		// One child has come and one has gone since the list was read.
		c.cost("the first reconnect", map[string]int{"addWatch": 1, "exists": 1, "data": 100, "getChildren2": 1}, func() { c.reconnect(func() {}) })
		c.cost("reconnect, nothing changed", all, func() { c.reconnect(func() {}) })
		c.cost("reconnect, one changed", map[string]int{"addWatch": 1, "exists": 1, "data": 100}, func() {
			c.reconnect(func() { put(w, "/c/007", "z") })
		})
		c.cost("reconnect, one came and one went", map[string]int{"addWatch": 1, "exists": 1, "data": 101, "getChildren2": 1}, func() {
			c.reconnect(func() { put(w, "/c/new", "z"); del(w, "/c/008") })
		})
		c.cost("a new session", map[string]int{"addWatch": 1, "sync": 1, "exists": 1, "data": 100}, func() {
			w.Expire(client)
			w.Pass(15 * time.Second)
		})
		c.cost("Run again", map[string]int{"addWatch": 1, "exists": 1, "data": 100, "removeWatches": 1}, func() {
			_ = c.view.stop()
			c.view = run(w, c.view.View)
		})
		c.cost("the end", map[string]int{"removeWatches": 1}, func() {
			_ = c.view.stop()
			c.view = run(w, cache.NewValue(client, "/none", text, nil).View)
			c.view.synced(w)
			other := run(w, cache.NewChildren(client, "/c", text, nil).View)
			other.synced(w)
			w.Settle()
			c.reset()
			_ = other.stop()
		})
	})
}

// Large data is compared first: it is read again only if it has changed.
func TestLargeDataIsNotReadAgainWithoutNeed(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	world.In(t, nil, func(w *world.World) {
		large := strings.Repeat("x", 2000)
		put(w, "/c", "", "/c/large", large)
		c := count(w)
		c.view = run(w, cache.NewChildren(w.Client(), "/c", text, nil).View)
		c.view.synced(w)
		c.cost("nothing changed", map[string]int{"addWatch": 1, "exists": 2}, func() { c.reconnect(func() {}) })
		c.cost("it changed", map[string]int{"addWatch": 1, "exists": 2, "data": 1}, func() {
			c.reconnect(func() { put(w, "/c/large", large+"y") })
		})
	})
}

// Nodes without children are not listed.
func TestRequestsOfATree(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	world.In(t, nil, func(w *world.World) {
		put(w, "/t", "")
		const dirs, leaves = 10, 9
		for i := range dirs {
			put(w, fmt.Sprintf("/t/%d", i), "x")
			for j := range leaves {
				put(w, fmt.Sprintf("/t/%d/%d", i, j), "x")
			}
		}
		client := w.Client()
		c := count(w)
		c.reset()
		c.view = run(w, cache.NewTree(client, "/t", text, nil).View)
		c.view.synced(w)
		require.Equal(w, map[string]int{"addWatch": 1, "sync": 1, "getChildren2": 1 + dirs, "data": 1 + dirs + dirs*leaves}, c.seen(), "load")
		all := 1 + dirs + dirs*leaves
		c.cost("reconnect, nothing changed", map[string]int{"addWatch": 1, "data": all}, func() { c.reconnect(func() {}) })
		c.cost("reconnect, one came", map[string]int{"addWatch": 1, "data": all + 1, "getChildren2": 1}, func() {
			c.reconnect(func() { put(w, "/t/3/new", "x") })
		})
		c.cost("a subtree goes", map[string]int{}, func() {
			for j := range leaves {
				del(w, fmt.Sprintf("/t/3/%d", j))
			}
			del(w, "/t/3/new", "/t/3")
		})
		c.cost("a subtree comes", map[string]int{"data": 3}, func() { put(w, "/t/3", "", "/t/3/a", "", "/t/3/a/b", "") })
	})
}

func TestRequestsOfAValue(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		client := w.Client()
		c := count(w)
		c.reset()
		c.view = run(w, cache.NewValue(client, "/v", text, nil).View)
		c.view.synced(w)
		require.Equal(w, map[string]int{"sync": 1, "data": 1, "exists": 1}, c.seen(), "of what does not exist")
		c.cost("created", map[string]int{"data": 1}, func() { put(w, "/v", "1") })
		c.cost("changed", map[string]int{"data": 1}, func() { put(w, "/v", "2") })
		c.cost("deleted", map[string]int{"data": 1, "exists": 1}, func() { del(w, "/v") })
		c.cost("created again", map[string]int{"data": 1}, func() { put(w, "/v", "1") })
		c.cost("children", map[string]int{}, func() { put(w, "/v/a", "1") })
		c.cost("reconnect", map[string]int{"sync": 1, "data": 1}, func() { c.reconnect(func() {}) })
	})
}

// TestABurstOfChangesOfOneZnodeCostsFewReads: while one read is in progress, any
// number of changes makes for one more.
func TestABurstOfChangesOfOneZnodeCostsFewReads(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		put(w, "/c", "", "/c/hot", "0")
		v := run(w, cache.NewChildren(w.Client(), "/c", text, nil).View)
		v.synced(w)
		w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToServer, time.Second)
		w.ResetStats()
		for i := range 100 {
			put(w, "/c/hot", fmt.Sprint(i))
			w.Pass(10 * time.Millisecond)
		}
		w.Server.Heal()
		w.Pass(time.Minute)
		v.shows(w, "/c/hot", "99")
		require.LessOrEqual(w, requests(w)["getData"], 3)
	})
}

// TestMoreThan64kChildren_CH47 also has their list exceed what servers accept as
// a request.
func TestMoreThan64kChildren_CH47(t *testing.T) {
	const n = 66_000
	world.In(t, nil, func(w *world.World) {
		put(w, "/c", "")
		for i := range n {
			put(w, fmt.Sprintf("/c/a-name-of-the-usual-length-for-an-instance-of-a-service-%06d", i), "x")
		}
		client := w.Client()
		c := count(w)
		c.reset()
		v := run(w, cache.NewChildren(client, "/c", text, nil).View)
		v.synced(w)
		require.Equal(w, n, v.Len())
		require.Equal(w, n, v.Status().Entries)
		require.Equal(w, n, v.Snapshot().Len())
		require.Equal(w, n, c.seen()["data"])
		require.Equal(w, 1, c.seen()["getChildren2"])
		require.Less(w, requests(w)["multiRead"], n/100, "a hundred and more at a time")
	})
}

// Progress can be seen.
func TestStatusShowsTheProgressOfALoad(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		put(w, "/c", "")
		for i := range 2000 {
			put(w, fmt.Sprintf("/c/%d", i), "x")
		}
		client, at, lost := w.Client(), 0, 70
		if !world.Has(world.Subscriptions) {
			lost *= 10 // a read that sets a watch is a request of its own
		}
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if at++; at == lost { // more than the window holds: the first have been answered
				return zktest.Action{Do: zktest.DropRequest}
			}
			return zktest.Action{}
		})
		v := run(w, cache.NewChildren(client, "/c", text, nil).View)
		w.Pass(time.Second)
		st := v.Status()
		require.False(w, st.Synced || st.Loaded)
		require.Positive(w, st.Entries)
		require.Positive(w, st.Pending)
		require.Equal(w, 2000, st.Entries+st.Pending)
		w.Pass(time.Minute)
		v.synced(w)
		require.Equal(w, 2000, v.Len())
	})
}
