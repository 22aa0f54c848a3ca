package discoverycmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"pgregory.net/rapid"
)

// TestChangesOfAListAddUpToIt: for every sequence of lists, the changes make
// the list each time, and no change is printed without need.
func TestChangesOfAListAddUpToIt(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		file, err := os.Create(filepath.Join(dir, "out"))
		require.NoError(rt, err)
		defer func() { _ = file.Close() }()
		a := &app{App: &cli.App{Stdout: file}}
		a.Flags.Output = "json"
		r := newListDiff(a, "member")
		mirror, seen := map[string]string{}, 0
		lists := rapid.SliceOfN(rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.SampledFrom([]string{"1", "2"})), 1, 8).Draw(rt, "lists")
		for round, list := range lists {
			var all []listed
			for key, state := range list {
				m := &Member{ID: key, Path: state}
				all = append(all, listed{key: key, state: state, text: key, json: ListEvent{Member: m}})
			}
			require.NoError(rt, r.update(all))
			text, err := os.ReadFile(file.Name())
			require.NoError(rt, err)
			differ := 0
			for key, state := range list {
				if old, ok := mirror[key]; !ok || old != state {
					differ++
				}
			}
			for key := range mirror {
				if _, ok := list[key]; !ok {
					differ++
				}
			}
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			if len(text) == 0 {
				lines = nil
			}
			said := 0
			for _, line := range lines[seen:] {
				var e ListEvent
				require.NoError(rt, json.Unmarshal([]byte(line), &e))
				if e.Event == "ready" {
					require.Zero(rt, round)
					require.Equal(rt, len(list), *e.Count)
					continue
				}
				said++
				replay(rt, mirror, e, round == 0)
			}
			seen = len(lines)
			require.Equal(rt, differ, said, "each difference is said once")
			require.Equal(rt, list, mirror)
		}
	})
	require.Greater(t, n, 10)
}

// replay applies an event to mirror, which must be possible.
func replay(t *rapid.T, mirror map[string]string, e ListEvent, first bool) {
	_, there := mirror[e.Member.ID]
	switch e.Event {
	case "present":
		require.True(t, first && !there)
	case "added":
		require.False(t, first || there)
	case "updated":
		require.True(t, there)
		require.NotEqual(t, mirror[e.Member.ID], e.Member.Path)
	case "removed":
		require.True(t, there)
		delete(mirror, e.Member.ID)
		return
	default:
		t.Fatalf("event %q", e.Event)
	}
	mirror[e.Member.ID] = e.Member.Path
}
