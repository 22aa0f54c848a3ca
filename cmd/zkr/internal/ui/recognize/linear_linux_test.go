package recognize

import (
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTimeIsLinear: a look at a tree takes not much longer than eight looks at
// an eighth of the tree; code that compares all pairs would take eight times as
// long. The test measures processor time, because other programs do not affect
// it.
func TestTimeIsLinear(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	small, times, rounds := 1000, 8, 4
	if testing.Short() {
		small, rounds = 500, 2 // the race detector observes
	}
	for name, crowd := range crowds {
		t.Run(name, func(t *testing.T) {
			few, many := processor(t, times*rounds, crowd(small)), processor(t, rounds, crowd(times*small))
			t.Logf("%v, %v", few, many)
			require.Less(t, many, 4*max(few, 20*time.Millisecond))
			runtime.GC()
		})
	}
}

// processor is how long n looks keep a processor busy.
func processor(t *testing.T, looks int, lines []string) time.Duration {
	t.Helper()
	const thread = 1 // RUSAGE_THREAD
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all := nodes(lines...)
	now := func() time.Duration {
		var u syscall.Rusage
		require.NoError(t, syscall.Getrusage(thread, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	begin := now()
	for range looks {
		Look(slices.Values(all), Past{Began: noon.Add(-time.Hour)}, noon)
	}
	return now() - begin
}
