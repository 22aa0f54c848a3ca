package election

import (
	"context"
	"fmt"
)

// Run campaigns, and runs fn whenever it leads, until fn returns by itself or ctx
// ends. It blocks; the goroutine is the caller's.
//
// fn's context has ctx's values and ends when ctx, or the leadership, does. Run
// waits for fn, whatever it does with that, and only then gives the leadership
// back: so fn's work has ended before somebody else can lead, except after a
// loss, of which fn's context tells in time.
//
//   - If fn returns while the leadership is intact, Run resigns, without waiting
//     longer than ctx, and returns fn's error, nil included, joined with what went
//     wrong with the resigning. fn may have resigned itself.
//   - If the leadership was lost meanwhile, whatever fn returned, Run campaigns
//     again, in the next session if there was a loss of that. So fn may run
//     several times, one after the other.
//   - If ctx ends, Run waits for fn, resigns, and returns an error that wraps the
//     context's, joined with fn's if that is another. The server's confirmation is
//     not waited for: the deletion goes on in the background until the znode or
//     the session is gone.
//   - If fn panics, Run resigns, and the panic goes on.
//
// Other errors, such as session.ErrClosed and session.ErrNoAuth, end Run.
func (e *Elector) Run(ctx context.Context, fn func(ctx context.Context, l *Leadership) error) error {
	const op = "run"
	err := e.begin(ctx)
	if err == nil && fn == nil {
		err = fmt.Errorf("%w: fn is nil", ErrArgument)
	}
	if err != nil {
		return failure(ctx, op, e.path, err)
	}
	for {
		l, err := e.campaign(ctx, op)
		if err != nil {
			return err
		}
		if again, err := l.run(ctx, fn); !again {
			return err
		}
	}
}
