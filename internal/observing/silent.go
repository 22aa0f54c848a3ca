package observing

import "context"

// silent is the key of a context's value.
type silent struct{}

// Silently returns a context for calls that report no wait and no unknown outcome: for a recipe
// that reports a wait of its own around that of another recipe, of which it is made.
func Silently(ctx context.Context) context.Context { return context.WithValue(ctx, silent{}, true) }

func isSilent(ctx context.Context) bool { return ctx.Value(silent{}) != nil }
