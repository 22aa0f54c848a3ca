package holding

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

// Begin has the first checks of a method: wrong is the error that the constructor has
// found in its arguments. A zero value, which constructor has not made, has no client
// and no such error. Errors about arguments wrap invalid.
func Begin(ctx context.Context, client *session.Client, constructor string, wrong, invalid error) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("%w: the context is nil", invalid)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case wrong != nil:
		return wrong
	case client == nil:
		return NoClient(constructor, invalid)
	}
	return nil
}

// NoClient is the error of a zero value, which constructor has not made.
func NoClient(constructor string, invalid error) error {
	return fmt.Errorf("%w: it has no client: make it with %s", invalid, constructor)
}
