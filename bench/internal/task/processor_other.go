//go:build !unix

package task

import "time"

// ProcessorTime is not known here.
func ProcessorTime() time.Duration { return 0 }

// WakeUps is not known here.
func WakeUps() int64 { return 0 }
