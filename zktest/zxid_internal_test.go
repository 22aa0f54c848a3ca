package zktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that starts a few microseconds after another one begins above all
// zxids of the first server, even within one millisecond.
func TestZxidsOfTheClockGrowWithinAMillisecond(t *testing.T) {
	o := &Options{Addr: "127.0.0.1:2181"}
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	last := o.firstZxid(at)
	for range 2500 {
		at = at.Add(10 * time.Microsecond)
		next := o.firstZxid(at)
		require.GreaterOrEqual(t, next, last+40, at)
		last = next
	}
}
