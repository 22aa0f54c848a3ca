//go:build unix

package ui

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// processor is how long this process has kept processors busy.
func processor(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
