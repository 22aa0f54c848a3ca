package election

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

// Run campaigns, and runs fn whenever it leads, until fn returns by itself or ctx
// ends. Run blocks; the caller owns the goroutine.
//
// fn's context has ctx's values, and ends when ctx or the leadership ends (see
// [Options.Grace]). Run always waits for fn, and only then gives the leadership
// back. fn's work has therefore ended before another candidate can lead, except
// after a loss, of which fn's context tells in time.
//
//   - If fn returns while the leadership is intact, Run resigns and returns fn's
//     error, nil included. If no server confirms the resignation, Run's error
//     wraps the error of [Leadership.Resign], usually session.ErrLost, besides
//     fn's error. Run does not call fn again, because fn has returned. fn may
//     resign by itself.
//   - If the leadership was lost before fn returned, Run ignores fn's result and
//     campaigns again, in the next session if the session was lost. fn may
//     therefore run several times, one after the other.
//   - If the leader has to make way ([Options.PreemptAfter]), the context of fn ends with the
//     cause ErrPreempted. Run ignores fn's result, resigns, and campaigns again.
//   - If ctx ends, Run waits for fn and resigns. Run returns nil when the server
//     has confirmed the resignation. Otherwise the error wraps the failure:
//     session.ErrLost if the leadership was lost, before or after ctx ended. An error
//     of fn that says more than that its context has ended is returned too. Run waits
//     for the confirmation at most until no server has answered for a session
//     timeout. While Run waits for its turn, it ends at once, with nil.
//   - If fn panics, Run resigns, and the panic continues.
//
// A ctx that had ended before the call is an error that wraps the context's
// error. Other errors, such as session.ErrClosed and session.ErrNoAuth, end Run.
func (e *Elector) Run(ctx context.Context, fn func(ctx context.Context, l *Leadership) error) error {
	e = receiver.OrZero(e)
	const op = "run"
	err := e.checkCall(ctx)
	if err == nil && fn == nil {
		err = fmt.Errorf("%w: fn is nil", ErrInvalidArgument)
	}
	if err != nil {
		return failure(ctx, op, e.path, err)
	}
	for {
		l, err := e.campaign(ctx, op)
		if err != nil {
			return ignoreContextEnd(ctx, err) // the place in the queue goes in the background
		}
		if again, err := l.run(ctx, fn); !again {
			return err
		}
	}
}

// ignoreContextEnd is err, or nil if ctx has ended: for a Run that holds nothing.
func ignoreContextEnd(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
