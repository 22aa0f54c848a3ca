package observing

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Unknown reports a call that ends with err, if that leaves the outcome of a write unknown,
// and returns err.
func Unknown(ctx context.Context, c *session.Client, recipe, path, op string, err error) error {
	if to := c.Observer(); to != nil && errors.Is(err, session.ErrUnknownOutcome) && !isSilent(ctx) {
		to.Observe(ctx, observe.OutcomeUnknown{Recipe: recipe, Path: path, Op: op, Err: err})
	}
	return err
}
