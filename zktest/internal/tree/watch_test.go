package tree

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

func newEvent(t proto.EventType, p string) Event { return Event{Type: t, Path: p} }

func TestOneShotWatchesFireOnce(t *testing.T) {
	w := NewWatches()
	w.AddData("/a", 1)
	w.AddData("/a", 2)
	w.AddChild("/a", 1)
	require.Equal(t, 3, w.Count())
	require.Equal(t, []int64{1, 2}, w.Fire(newEvent(proto.EventNodeDataChanged, "/a")))
	require.Empty(t, w.Fire(newEvent(proto.EventNodeDataChanged, "/a")))
	require.Equal(t, []int64{1}, w.Fire(newEvent(proto.EventNodeChildrenChanged, "/a")))
	require.Zero(t, w.Count())
}

func TestDeletionTellsEachOwnerOnce(t *testing.T) {
	w := NewWatches()
	w.AddData("/a", 1)
	w.AddChild("/a", 1)
	w.AddChild("/a", 2)
	require.Equal(t, []int64{1, 2}, w.Fire(newEvent(proto.EventNodeDeleted, "/a")))
	require.Zero(t, w.Count())
}

func TestPersistentAndRecursiveWatchesStay(t *testing.T) {
	w := NewWatches()
	w.AddPersistent("/a", 1, PersistentWatch)
	w.AddPersistent("/a", 2, RecursiveWatch)
	for range 2 {
		require.Equal(t, []int64{1, 2}, w.Fire(newEvent(proto.EventNodeDataChanged, "/a")))
		require.Equal(t, []int64{1}, w.Fire(newEvent(proto.EventNodeChildrenChanged, "/a")), "recursive ones hear of the child itself")
		require.Equal(t, []int64{2}, w.Fire(newEvent(proto.EventNodeCreated, "/a/b/c")))
		require.Equal(t, []int64{2}, w.Fire(newEvent(proto.EventNodeDeleted, "/a/b")))
		require.Equal(t, []int64{1, 2}, w.Fire(newEvent(proto.EventNodeDeleted, "/a")))
		require.Empty(t, w.Fire(newEvent(proto.EventNodeCreated, "/ab")), "not below /a")
	}
	w.AddPersistent("/", 3, RecursiveWatch)
	require.Equal(t, []int64{3}, w.Fire(newEvent(proto.EventNodeCreated, "/x")))
}

func TestAOneShotWatchTakesThePlaceOfAPersistentOne(t *testing.T) {
	// ZOOKEEPER-4466, mended in 3.9.
	w := NewWatches()
	w.AddPersistent("/a", 1, RecursiveWatch)
	w.AddData("/a", 1)
	require.Equal(t, []int64{1}, w.Fire(newEvent(proto.EventNodeDataChanged, "/a")))
	require.Empty(t, w.Fire(newEvent(proto.EventNodeDataChanged, "/a")))
}

func TestRemoveAndForget(t *testing.T) {
	w := NewWatches()
	w.AddData("/a", 1)
	w.AddChild("/a", 1)
	require.True(t, w.Has("/a", 1, WatchAny))
	require.False(t, w.Has("/a", 2, WatchAny))
	require.True(t, w.Remove("/a", 1, WatchData))
	require.False(t, w.Remove("/a", 1, WatchData))
	require.True(t, w.Remove("/a", 1, WatchAny))
	w.AddPersistent("/b", 1, RecursiveWatch)
	w.AddData("/b", 2)
	require.Equal(t, map[string][]int64{"/b": {1, 2}}, w.ByPath())
	w.Forget(1)
	require.Equal(t, 1, w.Count())
	require.Equal(t, []int64{2}, w.Fire(newEvent(proto.EventNodeCreated, "/b")))
}
