//go:build !linux

package session

import "time"

// suspended is 0 where there is no portable clock that counts suspension: a
// holder on a machine that was asleep learns of it from the server only.
func suspended() time.Duration { return 0 }
