package dispatch

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
)

// A snapshot that still shows the assignment of a task that is over does not begin it
// again, and an assignment that names another worker is none.
func TestShiftTakesWhatIsItsOwnOnce(t *testing.T) {
	entry := func(worker, name string) cache.Entry[assignment] {
		return cache.Entry[assignment]{
			Path: "/q/workers/w/x~1-1.1", Value: assignment{Format: format, Task: record{Worker: worker, Assignment: name}},
		}
	}
	sh := &shift{id: "w", jobs: map[string]*job{}, past: map[string]bool{}}
	sh.finish(&job{sh: sh, name: "x~1-1.1"})
	sh.take(entry("w", "x~1-1.1"))
	require.Empty(t, sh.jobs)
	require.False(t, sh.junk)
	sh.see(cache.Event[assignment]{Kind: cache.EventRemoved, Old: entry("w", "x~1-1.1")})
	require.Empty(t, sh.past)
	sh.finish(&job{sh: sh, name: "x~1-1.1", gone: true})
	require.Empty(t, sh.past, "the view will not show it any more")
	for _, other := range []cache.Entry[assignment]{entry("v", "x~1-1.1"), entry("w", "x~1-1.2")} {
		sh.junk = false
		sh.take(other)
		require.Empty(t, sh.jobs)
		require.True(t, sh.junk)
	}
}
