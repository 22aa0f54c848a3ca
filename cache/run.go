package cache

import (
	"context"

	"github.com/zkrecipes/zkrecipes/session"
)

// Run keeps the view up to date until ctx ends or it cannot go on: when the
// client is closed, when the view's own path may not be read (ErrNoAuth), or
// when a list of children, or a znode's data, is longer than the client accepts
// (session.ErrReplyTooLarge). A lost connection or session is none of these: the
// view stays as it is, and what has changed meanwhile is found out as soon as
// there is a connection.
//
// The caller owns the goroutine. A second Run at the same time fails with
// ErrRunning; after the first has ended, another goes on with what the view
// has. Decode and Filter run here, without locks: if they panic, so does Run, and
// a later Run repeats what was not done.
func (v *View[T]) Run(ctx context.Context) error {
	const op = "run"
	if ctx.Err() != nil {
		return failure(ctx, op, v.path, context.Cause(ctx))
	}
	if v.err != nil {
		return failure(ctx, op, v.path, v.err)
	}
	if !v.start() {
		return failure(ctx, op, v.path, ErrRunning)
	}
	var err error
	defer func() { v.stop(ctx, err) }()
	for err == nil {
		var s *session.Session
		if s, err = v.client.Session(ctx); err == nil {
			err = v.follow(ctx, s)
		}
	}
	return failure(ctx, op, v.path, err)
}

func (v *View[T]) start() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running {
		return false
	}
	v.running = true
	v.store.end(nil)
	return true
}

// stop is told why Run ends; if that is not its context, those who wait for the
// view need not go on. All at once: the next Run must not be told that it is over.
func (v *View[T]) stop(ctx context.Context, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		v.store.end(err)
	}
	v.running = false
}
