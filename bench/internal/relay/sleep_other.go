//go:build !linux

package relay

import "time"

// sleep waits for d, and for the granularity of the system's timers.
func sleep(d time.Duration) { <-time.After(d) }
