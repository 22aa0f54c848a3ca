package tree

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// dumbWatch is a watch in a plain list.
type dumbWatch struct {
	owner int64
	path  string
	child bool // in the table of child watches
	mode  Mode
}

// dumbWatches keeps all watches in a single list and scans the list.
type dumbWatches struct{ list []dumbWatch }

func (d *dumbWatches) add(w dumbWatch) {
	for i, old := range d.list {
		if old.owner == w.owner && old.path == w.path && old.child == w.child {
			d.list[i].mode = w.mode
			return
		}
	}
	d.list = append(d.list, w)
}

func (d *dumbWatches) keepOnly(f func(dumbWatch) bool) {
	var left []dumbWatch
	for _, w := range d.list {
		if f(w) {
			left = append(left, w)
		}
	}
	d.list = left
}

func isBelow(path, root string) bool {
	return path == root || root == "/" || strings.HasPrefix(path, root+"/")
}

// fireWatches returns the owners to be told of e.
func (d *dumbWatches) fireWatches(e Event) map[int64]bool {
	told := map[int64]bool{}
	d.keepOnly(func(w dumbWatch) bool {
		table := e.Type == proto.EventNodeChildrenChanged == w.child || e.Type == proto.EventNodeDeleted
		switch {
		case !table:
			return true
		case w.mode == RecursiveWatch:
			if e.Type != proto.EventNodeChildrenChanged && isBelow(e.Path, w.path) {
				told[w.owner] = true
			}
			return true
		case w.path != e.Path:
			return true
		}
		told[w.owner] = true
		return w.mode == PersistentWatch
	})
	return told
}

func TestWatchesDoWhatTheirDumbTwinDoes(t *testing.T) {
	paths := []string{"/", "/a", "/a/b", "/a/b/c", "/ab", "/b"}
	types := []proto.EventType{
		proto.EventNodeCreated, proto.EventNodeDeleted, proto.EventNodeDataChanged, proto.EventNodeChildrenChanged,
	}
	rapid.Check(t, func(t *rapid.T) {
		w, d := NewWatches(), &dumbWatches{}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			p := rapid.SampledFrom(paths).Draw(t, "path")
			owner := rapid.Int64Range(1, 3).Draw(t, "owner")
			kind := rapid.Int32Range(WatchChildren, WatchAny).Draw(t, "kind")
			switch rapid.IntRange(0, 6).Draw(t, "op") {
			case 0:
				w.AddData(p, owner)
				d.add(dumbWatch{owner, p, false, OneShot})
			case 1:
				w.AddChild(p, owner)
				d.add(dumbWatch{owner, p, true, OneShot})
			case 2:
				mode := rapid.SampledFrom([]Mode{PersistentWatch, RecursiveWatch}).Draw(t, "mode")
				w.AddPersistent(p, owner, mode)
				d.add(dumbWatch{owner, p, false, mode})
				d.add(dumbWatch{owner, p, true, mode})
			case 3:
				before := len(d.list)
				d.keepOnly(func(x dumbWatch) bool {
					return x.owner != owner || x.path != p || (kind&WatchChildren == 0 || !x.child) && (kind&WatchData == 0 || x.child)
				})
				require.Equal(t, before != len(d.list), w.Has(p, owner, kind))
				require.Equal(t, before != len(d.list), w.Remove(p, owner, kind))
			case 4:
				w.Forget(owner)
				d.keepOnly(func(x dumbWatch) bool { return x.owner != owner })
			default:
				e := Event{Type: rapid.SampledFrom(types).Draw(t, "type"), Path: p}
				told := w.Fire(e)
				want := d.fireWatches(e)
				require.Len(t, told, len(want), "%v told %v, want %v", e, told, want)
				for _, o := range told {
					require.True(t, want[o], "%v told %v, want %v", e, told, want)
				}
			}
			require.Equal(t, len(d.list), w.Count())
		}
		wantPaths := map[string]bool{}
		for _, x := range d.list {
			wantPaths[x.path] = true
		}
		var got []string
		for p, owners := range w.ByPath() {
			require.NotEmpty(t, owners)
			got = append(got, p)
		}
		sort.Strings(got)
		require.Len(t, got, len(wantPaths))
	})
}
