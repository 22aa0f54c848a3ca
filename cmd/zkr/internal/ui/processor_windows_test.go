package ui

import (
	"testing"
	"time"
)

// processor would be the processor time of this process; on Windows it is the
// elapsed time.
func processor(testing.TB) time.Duration { return time.Since(time.Time{}) }
