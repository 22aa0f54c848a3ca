package osproc

import (
	"context"
	"io"
	"os"
)

// UntilStdinEnds returns a context that ends with stdin: the process that has started this
// one wants it to end, or has ended itself.
func UntilStdinEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	// No goroutine waits for this one; it ends with stdin, at the latest with the process.
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx, cancel
}
