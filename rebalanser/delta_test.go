package rebalanser_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stockLong makes the group with n resources with long names: a shard of a hundred has a base.
func (w *World) stockLong(n int) (*rebalanser.Admin, []string) {
	w.Helper()
	a := w.admin()
	require.NoError(w, a.Create(w.Ctx))
	var long []string
	for i := range n {
		long = append(long, fmt.Sprintf("r%04d-%s", i, strings.Repeat("x", 100)))
	}
	_, err := a.AddResources(w.Ctx, long...)
	require.NoError(w, err)
	return a, long
}

// shardOf is the record of the shard of a member.
func (w *World) shardOf(n *node) (r struct {
	Format, Count, Chunks int
	Base, Generation      int64
	Resources, Removed    []string
}) {
	w.Helper()
	znode, err := w.Server.Get(path + "/assignments/" + n.group.State().Client)
	require.NoError(w, err)
	require.NoError(w, json.Unmarshal(znode.Data, &r))
	return r
}

// A small change of a long shard is written and read as the difference to a base.
func TestASmallChangeOfALongShardIsADifference(t *testing.T) {
	inBoth(t, func(w *World) {
		a, long := w.stockLong(200)
		c1 := w.node("c1", rebalanser.Options{InitialDelay: time.Second}).run()
		w.Pass(20 * time.Millisecond) // it is the coordinator
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(3 * time.Second)
		w.ownThePresent(c1, c2)
		first := w.shardOf(c1)
		require.Equal(w, []int{2, 100, 1}, []int{first.Format, first.Count, first.Chunks})
		require.Empty(w, first.Resources)
		var reads atomic.Int64
		defer w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "getData" && strings.Contains(r.Path, fmt.Sprintf("/%d-", first.Base)) {
				reads.Add(1)
			}
			return zktest.Action{}
		})()
		_, err := a.RemoveResources(w.Ctx, long[0], long[1], long[2])
		require.NoError(w, err)
		_, err = a.AddResources(w.Ctx, "new1", "new2")
		require.NoError(w, err)
		w.Pass(time.Second)
		w.ownThePresent(c1, c2)
		for _, c := range []*node{c1, c2} {
			r := w.shardOf(c)
			require.Equal(w, []int64{2, first.Base}, []int64{int64(r.Format), r.Base})
			require.Equal(w, r.Count, 100+len(r.Resources)-len(r.Removed))
		}
		require.Zero(w, reads.Load(), "each member knows its base")
		// A new coordinator reads the base, and goes on with it.
		c1.stop()
		w.Pass(time.Second)
		w.ownThePresent(c2)
		require.NotZero(w, reads.Load())
		r := w.shardOf(c2)
		require.Equal(w, []int{2, 199}, []int{r.Format, r.Count})
		require.Len(w, w.Children(path+"/assignments/"+c2.group.State().Client), r.Chunks, "the former base was deleted")
		require.Greater(w, r.Base, first.Base)
		require.Equal(w, []string{c2.group.State().Client}, w.Children(path+"/assignments"))
		c2.stop()
	})
}

// The base of a shard that another client has deleted or spoiled is written again.
func TestABaseThatWasDeletedIsWrittenAgain(t *testing.T) {
	inBoth(t, func(w *World) {
		a, _ := w.stockLong(100)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Pass(time.Second)
		shard := path + "/assignments/" + c1.group.State().Client
		base := w.Children(shard)
		require.NoError(w, w.Server.Delete(shard+"/"+base[0]))
		_, err := a.AddResources(w.Ctx, "new1")
		require.NoError(w, err)
		w.Pass(time.Second)
		w.ownThePresent(c1)
		again := w.Children(shard)
		require.Len(w, again, 1)
		require.NotEqual(w, base, again)
		require.NoError(w, w.Server.Set(shard+"/"+again[0], []byte(`["wrong"]`)))
		_, err = a.AddResources(w.Ctx, "new2")
		require.NoError(w, err)
		w.Pass(time.Second)
		w.ownThePresent(c1) // it knows its base
		require.Equal(w, []string{shard}, w.unreadable(a))
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(time.Second)
		w.ownThePresent(c1, c2)
		require.Empty(w, w.unreadable(a))
	})
}

// As long as a member reads no differences, none is written.
func TestAMemberOfAnOlderVersionKeepsTheOldFormat(t *testing.T) {
	inBoth(t, func(w *World) {
		a, _ := w.stockLong(300)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Pass(time.Second)
		require.Equal(w, 2, w.shardOf(c1).Format)
		c := w.Client()
		older := path + "/clients/_c_0e0b3a1c-5a55-4c2e-9f3a-0e6f6f3f7a11-latch-0000000009"
		record := fmt.Sprintf(`{"format":1,"mode":%q,"id":"older","assignor":"sticky"}`, w.mode)
		_, err := w.Session(c).Create(w.Ctx, older, []byte(record), session.Ephemeral, nil)
		require.NoError(w, err)
		w.Pass(time.Second)
		for _, name := range w.Children(path + "/assignments") {
			w.contains(path+"/assignments/"+name, `{"format":1,"client":"`)
			w.contains(path+"/assignments/"+name, `"count":150,"resources":["r`)
		}
		require.Len(w, w.Children(path+"/assignments"), 2)
		require.NoError(w, w.Server.Delete(older))
		_, err = a.AddResources(w.Ctx, "new1")
		require.NoError(w, err)
		w.Pass(time.Second)
		w.ownThePresent(c1)
		require.Equal(w, 2, w.shardOf(c1).Format)
	})
}
