package world

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProcessorTimePassesWhenProcessorsWork(t *testing.T) {
	began, day := ProcessorTime(), time.Now()
	SleepContext(t.Context(), 500*time.Millisecond)
	require.Less(t, ProcessorTime()-began, time.Since(day)/2, "the process is idle")
	began = ProcessorTime()
	for n := 0; ProcessorTime()-began < 20*time.Millisecond; n++ {
		require.Less(t, n, 1<<30)
	}
}
