package holding

import (
	"context"
	"errors"
	"fmt"
)

// Failure names package, operation and path of an error. A context's error is
// there for errors.Is beside its cause.
func Failure(ctx context.Context, pkg, op, path string, err error) error {
	if e := ctx.Err(); e != nil && !errors.Is(err, e) {
		return fmt.Errorf("%s: %s %s: %w: %w", pkg, op, path, e, err)
	}
	return fmt.Errorf("%s: %s %s: %w", pkg, op, path, err)
}
