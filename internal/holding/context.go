package holding

import (
	"context"
	"errors"
)

// Looking returns ctx with an Err that first looks at the contexts in at, and so
// at the clock: after a pause of the process it tells the truth before any timer
// does. cancel ends ctx.
func Looking(ctx context.Context, cancel context.CancelCauseFunc, at ...context.Context) context.Context {
	return looking{ctx, cancel, at}
}

type looking struct {
	context.Context
	cancel context.CancelCauseFunc
	at     []context.Context
}

func (l looking) Err() error {
	for _, ctx := range l.at {
		if ctx.Err() != nil {
			l.cancel(context.Cause(ctx))
		}
	}
	return l.Context.Err()
}

// Run runs fn while something is held whose context is hold. fn's context has
// ctx's values and ends when ctx, or the hold, does; Run waits for fn before it
// gives back. The error is fn's, joined with what went wrong with the giving
// back. If ctx has ended by then, only a loss counts: give goes on in the
// background.
func Run(ctx, hold context.Context, fn, give func(context.Context) error) (err error) {
	both, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(hold, func() { cancel(context.Cause(hold)) })
	defer func() {
		stop()
		cancel(nil)
		if e := give(ctx); e != nil && (ctx.Err() == nil || IsLoss(e)) {
			err = errors.Join(err, e)
		}
	}()
	return fn(Looking(both, cancel, hold))
}
