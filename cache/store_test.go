package cache

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// TestSnapshotsAreWhatWasAppliedAndDoNotChange compares a store with a map, and every
// snapshot with its first content.
func TestSnapshotsAreWhatWasAppliedAndDoNotChange(t *testing.T) {
	path := rapid.SampledFrom([]string{"/", "/a", "/a/b", "/a-b", "/a/b/c", "/a0", "/b", "/b/a"})
	rapid.Check(t, func(rt *rapid.T) {
		st := newStore[int](1)
		twin := map[string]int{}
		type taken struct {
			snapshot *Snapshot[int]
			was      map[string]int
		}
		var all []taken
		for i := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			p := path.Draw(rt, "path")
			_, there := twin[p]
			s := step[int]{kind: EventAdded, entry: Entry[int]{Path: p, Value: i}}
			switch {
			case there && rapid.Bool().Draw(rt, "remove"):
				s = step[int]{kind: EventRemoved, entry: Entry[int]{Path: p}}
				delete(twin, p)
			case there:
				s.kind = EventUpdated
				twin[p] = i
			default:
				twin[p] = i
			}
			st.apply([]step[int]{s})
			if rapid.IntRange(0, 3).Draw(rt, "take") == 0 {
				all = append(all, taken{st.snapshot(), maps.Clone(twin)})
			}
		}
		for _, at := range append(all, taken{st.snapshot(), twin}) {
			got := map[string]int{}
			var paths []string
			for e := range at.snapshot.All() {
				got[e.Path] = e.Value
				paths = append(paths, e.Path)
			}
			if !maps.Equal(got, at.was) || !slices.IsSorted(paths) || at.snapshot.Len() != len(at.was) {
				rt.Fatalf("the snapshot is %v, it should be %v", got, at.was)
			}
			for p := range at.was {
				if e, ok := at.snapshot.Lookup(p); !ok || e.Value != at.was[p] {
					rt.Fatalf("%s is not found", p)
				}
				for c := range at.snapshot.Children(p) {
					if parentOf(c.Path) != p || c.Path == p {
						rt.Fatalf("%s is no child of %s", c.Path, p)
					}
				}
			}
		}
	})
}

// Names that come and go must not pile up when no snapshot is taken.
func TestUnusedChangesDoNotPileUp(t *testing.T) {
	st := newStore[int](1)
	for i := range 10 * changedSlack {
		p := fmt.Sprint("/a/", i)
		st.apply([]step[int]{{kind: EventAdded, entry: Entry[int]{Path: p}}, {kind: EventRemoved, entry: Entry[int]{Path: p}}})
		require.LessOrEqual(t, len(st.changed), changedSlack+1)
	}
	st.apply([]step[int]{{kind: EventAdded, entry: Entry[int]{Path: "/a/b", Value: 7}}})
	e, ok := st.snapshot().Lookup("/a/b")
	require.True(t, ok)
	require.Equal(t, 7, e.Value)
	require.Equal(t, 1, st.snapshot().Len())
}

func TestAnUnchangedSnapshotIsTheSame(t *testing.T) {
	st := newStore[int](1)
	st.apply([]step[int]{{kind: EventAdded, entry: Entry[int]{Path: "/a"}}})
	first := st.snapshot()
	require.Same(t, first, st.snapshot())
	require.Zero(t, testing.AllocsPerRun(10, func() { st.snapshot() }))
}

// FuzzEventPaths: whatever path a server sends, the machine stays whole.
func FuzzEventPaths(f *testing.F) {
	for _, path := range []string{"", "/", "/r", "/r/a", "/r/a/b", "/r//", "//", "/rr", "r", "/r/a/", "/r/\x00"} {
		f.Add(path, int32(session.EventCreated))
		f.Add(path, int32(session.EventDeleted))
	}
	f.Fuzz(func(t *testing.T, path string, kind int32) {
		for _, root := range []string{"/", "/r"} {
			p := newPlay(root, false, 2, nil)
			p.s.create("/r", "1")
			p.s.create("/r/a", "2")
			p.begin(false)
			require.NoError(t, p.finishAll())
			p.m.onEvent(session.EventType(kind), path)
			p.begin(false)
			require.NoError(t, p.finishAll())
			require.NoError(t, p.check())
		}
	})
}
