package lock

import "context"

// looking is a context whose Err first looks at what it depends on, and so at
// the clock: after a pause of the process it tells the truth before any timer
// does.
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
