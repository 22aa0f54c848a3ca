package holding

import (
	"context"
	"errors"
	"fmt"
)

// Failure names package, operation and path of an error; a zero value has no path. A
// context's error is there for errors.Is beside its cause.
func Failure(ctx context.Context, pkg, op, path string, err error) error {
	if path != "" {
		op += " " + path
	}
	if ctx == nil { // which Begin has refused
		return fmt.Errorf("%s: %s: %w", pkg, op, err)
	}
	if e := ctx.Err(); e != nil && !errors.Is(err, e) {
		return fmt.Errorf("%s: %s: %w: %w", pkg, op, e, err)
	}
	return fmt.Errorf("%s: %s: %w", pkg, op, err)
}
