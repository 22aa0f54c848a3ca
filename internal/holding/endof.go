package holding

import (
	"context"
	"errors"
	"fmt"
)

// EndOf is the error of a context that has ended, with its cause; nil before. An error that has
// the cause alone, as after the failure of another goroutine of an errgroup, does not say that
// a caller has given up.
func EndOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// IsContextEnd reports whether err says nothing but that ctx has ended: whatever err wraps is
// the context's error or its cause. nil says less than that.
func IsContextEnd(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() == nil {
		return false
	}
	if errors.Is(ctx.Err(), err) || errors.Is(context.Cause(ctx), err) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // one level at a time
	case interface{ Unwrap() error }:
		return IsContextEnd(ctx, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if inner != nil && !IsContextEnd(ctx, inner) {
				return false
			}
		}
		return len(e.Unwrap()) > 0
	}
	return false
}
