package ui

import (
	"testing"
	"time"
)

// processor would be how long this process has kept processors busy; here it is the
// time that has passed.
func processor(testing.TB) time.Duration { return time.Since(time.Time{}) }
