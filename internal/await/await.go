// Package await waits for events that happen once, and for changes of a value. The
// package is pure, and imports nothing of this module.
package await

import "context"

// Closed waits until done is closed, and returns nil. If ctx ends first, Closed returns
// the cause of its end. A select alone answers at random if both have happened; Closed
// then returns nil, so that a result that is known is reported whenever ctx has ended.
func Closed(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done:
		return nil
	default:
		return context.Cause(ctx)
	}
}
