package cli

import "context"

// Background runs fn beside the caller, until fn returns or stop is called. stop ends the
// context of fn, and waits for fn.
func Background(ctx context.Context, fn func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	// Waited for by stop; ends with ctx.
	go func() {
		defer close(done)
		fn(ctx)
	}()
	return func() { cancel(); <-done }
}
