package holding

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// RunUnder runs fn while something is held whose context is hold, and then give, whose
// error it returns. fn's context has ctx's values and ends grace after ctx (see
// [session.WithGrace]), and at once when the hold does. give is called after fn has returned, also when fn panics, and is passed fn's context
// and error.
func RunUnder(ctx, hold context.Context, grace time.Duration, fn func(context.Context) error, give func(own context.Context, err error) error) (err error) {
	lasting, free := session.WithGrace(ctx, grace)
	own, cancel := session.WithHolds(lasting, hold)
	defer func() {
		cancel(nil)
		free()
		err = give(own, err)
	}()
	return fn(own)
}

// Run is [RunUnder] for the Do methods. The error is fn's, joined with that of give. An
// error of give that is notHeld does not count: fn has given the hold back by itself,
// and has the result of that. The context of give does not end with ctx: give bounds
// its wait for the servers by [session.Session.GiveBackContext].
func Run(ctx, hold context.Context, grace time.Duration, notHeld error, fn, give func(context.Context) error) error {
	return RunUnder(ctx, hold, grace, fn, func(_ context.Context, err error) error {
		if e := give(context.WithoutCancel(ctx)); e != nil && !errors.Is(e, notHeld) {
			return errors.Join(err, e)
		}
		return err
	})
}

// CheckGrace checks an Options.Grace.
func CheckGrace(grace time.Duration, invalid error) error {
	if grace < 0 {
		return fmt.Errorf("%w: Grace is %v; it must be 0 or more", invalid, grace)
	}
	return nil
}
