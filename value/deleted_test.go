package value_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/value"
)

// A value deleted and created again repeats its versions. A write that
// depends only on the version would change the new value.

// again makes the value again, with data, as often changed as version says.
func (w *World) again(data string, version int32) {
	w.Helper()
	w.wipe()
	w.make(data)
	for w.node().Version < version {
		w.overwrite(data)
	}
}

// N5, N3: between the read and the write of a change the value is deleted and created
// again, at the same version. The change applies to the new value.
func TestVersionOfBeforeADeletionNeverMatches_N5(t *testing.T) {
	for name, change := range map[string]struct {
		change func(w *World, v *value.Value)
		want   string
	}{
		"Update":         {func(w *World, v *value.Value) { w.add(v, "!", "after!") }, "after!"},
		"CompareAndSwap": {func(w *World, v *value.Value) { w.swap(v, "before", "x", false) }, "after"},
		"TrySet":         {func(w *World, v *value.Value) { w.try(v, w.get(v), "x", false) }, "after"},
		"Set":            {func(w *World, v *value.Value) { w.set(v, "x") }, "x"},
	} {
		for _, known := range []int32{0, 1, 3} {
			t.Run(name, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					w.make("before")
					v := value.New(w.Client(), path, nil)
					for range known { // the value knows the version from its own writes
						w.set(v, "before")
					}
					w.Once(writes, func() { w.again("after", known) })
					change.change(w, v)
					w.holds(change.want)
				})
			})
		}
	}
}

// N5 for users who keep a seen state for long.
func TestTrySetOfWhatWasBeforeADeletionFails_N5(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.make("same")
		v := value.New(w.Client(), path, nil)
		seen := w.get(v)
		w.again("same", 0)
		now := w.get(v)
		require.Equal(w, seen.Version, now.Version)
		require.Equal(w, seen.Data, now.Data)
		w.try(v, seen, "x", false)
		w.try(v, now, "x", true)
	})
}

func TestDeletedValueIsMadeAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, nil)
		w.set(v, "old")
		w.wipe()
		require.Equal(w, value.State{}, w.get(v))
		w.add(v, "new", "new")
		require.Len(w, w.Children(path), 1)
		for _, name := range w.Children(path) {
			require.NoError(w, w.Server.Delete(path+"/"+name))
		}
		w.add(v, "er", "newer")
		require.Len(w, w.Children(path), 1)
	})
}

// The folder is deleted with all that is below it.
func TestFolderIsMadeAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, &value.Options{Seed: []byte("s")})
		w.set(v, "old")
		w.wipe()
		require.NoError(w, w.Server.Delete("/values"))
		require.Equal(w, "s", string(w.get(v).Data))
		w.wipe()
		require.NoError(w, w.Server.Delete("/values"))
		w.add(v, "!", "s!")
	})
}

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

// The ensemble is recreated empty, and the new znode's creation and last write have by
// chance the zxids of the state that the caller has seen.
func TestTrySetTellsTheStatesOfTwoEnsemblesApart(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.advanceTo(100) // the new ensemble has time to get ready
		v := value.New(w.Client(), path, nil)
		w.set(v, "a")
		w.set(v, "b")
		seen, old := w.get(v), w.node()
		require.NoError(w, w.Server.RestartEmpty())
		w.Pass(time.Minute)
		require.NoError(w, w.Server.Create("/values", nil))
		w.advanceTo(old.Czxid)
		w.make("c")
		w.advanceTo(old.Mzxid)
		w.overwrite("d")
		require.Equal(w, seen.Zxid, w.node().Mzxid)
		w.try(v, seen, "e", false)
		w.try(v, w.get(v), "e", true)
	})
}
