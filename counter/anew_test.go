package counter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
)

// advanceTo writes other znodes until the next write has the zxid next.
func (w *World) advanceTo(next int64) {
	w.Helper()
	for i := range next {
		other := fmt.Sprintf("/before-%d-%d", next, i)
		require.NoError(w, w.Server.Create(other, nil))
		n, err := w.Server.Get(other)
		require.NoError(w, err)
		require.Less(w, n.Czxid, next)
		if n.Czxid == next-1 {
			return
		}
	}
}

// The ensemble is recreated empty, and the new znode's last write has by chance the zxid
// of the state that the caller has seen, and in the worst case its creation, too.
func TestTrySetTellsTheStatesOfTwoEnsemblesApart(t *testing.T) {
	for name, create := range map[string]func(w *World, czxid int64){
		"created earlier":          func(w *World, _ int64) { w.make([]byte{0, 0, 0, 5}) },
		"created at the same zxid": func(w *World, czxid int64) { w.advanceTo(czxid); w.make([]byte{0, 0, 0, 5}) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.advanceTo(100) // the new ensemble has time to get ready
				first := counter.NewShared(w.Client(), path, 5, nil)
				require.NoError(w, first.Set(w.Ctx, 6))
				seen, err := first.Get(w.Ctx)
				require.NoError(w, err)
				old := w.node()
				require.NoError(w, w.Server.RestartEmpty())
				w.Pass(time.Minute)
				require.NoError(w, w.Server.Create("/counters", nil))
				create(w, old.Czxid)
				w.advanceTo(old.Mzxid)
				require.NoError(w, w.Server.Set(path, []byte{0, 0, 0, 9}))
				require.Equal(w, seen.Zxid, w.node().Mzxid)

				ok, err := first.TrySet(w.Ctx, seen, 7)
				require.NoError(w, err)
				require.False(w, ok, "the other value was never seen")
				now, err := first.Get(w.Ctx)
				require.NoError(w, err)
				require.EqualValues(w, 9, now.Value)
				ok, err = first.TrySet(w.Ctx, now, 7)
				require.NoError(w, err)
				require.True(w, ok)
				now, err = first.Get(w.Ctx)
				require.NoError(w, err)
				ok, err = first.TrySet(w.Ctx, counter.VersionedValue{Zxid: now.Zxid}, 8)
				require.NoError(w, err)
				require.True(w, ok, "a value of the caller's own, with the zxid alone")
			})
		})
	}
}
