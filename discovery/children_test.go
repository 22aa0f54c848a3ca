package discovery_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// whileRead runs do right before each read of an instance of the service.
func (w *World) whileRead(do func(path string)) (remove func()) {
	return w.Server.OnRequest(func(q zktest.Request) zktest.Action {
		if q.Op == "getData" && strings.HasPrefix(q.Path, dir+"/") {
			do(q.Path)
		}
		return zktest.Action{}
	})
}

// orphans makes an instance without an owner, "one" of the type DynamicSequential, and "other".
func (w *World) orphans() {
	w.Helper()
	r := registry(w.Client())
	g, other := w.register(r, typed("one", discovery.DynamicSequential)), w.register(r, instance("other"))
	one, two := w.node(g.State().Path), w.node(other.State().Path)
	w.unregister(g)
	w.unregister(other)
	w.Settle()
	require.NoError(w, w.Server.Create(one.Path, one.Data))
	require.NoError(w, w.Server.Create(two.Path, two.Data))
}

// replaced makes another znode in the place of that at path, as the owner of a sequential
// instance does in its next session.
func (w *World) replaced(path string, n int) {
	old := w.node(path)
	require.NoError(w, w.Server.Delete(path))
	require.NoError(w, w.Server.Create(path[:len(path)-10]+strings.Repeat("0", 9)+string(rune('0'+n)), old.Data))
}

// An instance that stays registered is in each list, also while another znode takes the place
// of its znode.
func TestInstanceThatIsReplacedWhileItIsReadIsListed_D7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.orphans()
		reader := registry(w.Client())
		var times atomic.Int32
		remove := w.whileRead(func(path string) {
			if strings.Contains(path, "one") && times.Add(1) == 1 {
				w.replaced(path, 9)
			}
		})
		require.ElementsMatch(w, []string{"one", "other"}, w.ids(reader, service))
		remove()
		require.EqualValues(w, 2, times.Load())
	})
}

// A list ends, however fast its instances come and go, and has those that were read.
func TestListEndsWhileInstancesComeAndGo(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.orphans()
		c := w.Client()
		reader := registry(c)
		n := 0
		remove := w.whileRead(func(path string) {
			if strings.Contains(path, "one") {
				n++
				w.replaced(path, n)
			}
		})
		w.ResetStats()
		begun := time.Now()
		require.Equal(w, []string{"other"}, w.ids(reader, service))
		remove()
		require.Less(w, time.Since(begun), time.Second)
		require.Equal(w, 4, n)
		require.Equal(w, map[string]int{"getChildren2": 4, "getData": 5}, w.Server.Stats().BySession[w.ID(c)], "what has been read is not read again")
	})
}
