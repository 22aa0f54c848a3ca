package cache

import (
	"context"

	"github.com/zkrecipes/zkrecipes/session"
)

// Run keeps the view up to date until ctx ends or the view cannot continue: when
// the client is closed, when the view's own path may not be read (ErrNoAuth), or
// when a list of children, or a znode's data, is longer than the client accepts
// (session.ErrReplyTooLarge). A lost connection or session does not end Run: the
// view stays unchanged, and changes meanwhile are found as soon as the client is
// connected. Run returns nil when ctx has ended, because a view holds nothing;
// otherwise the error wraps the reason. A ctx that had ended before the call is
// an error that wraps the context's error.
//
// The caller owns the goroutine. A second Run at the same time fails with
// ErrRunning; after the first Run has ended, another Run continues with the
// view's content. Decode and Filter run on the goroutine of Run, without locks:
// if they panic, so does Run, and a later Run repeats the unfinished work.
func (v *View[T]) Run(ctx context.Context) error {
	const op = "run"
	v = v.orZero()
	if err := v.checkCall(ctx); err != nil {
		return failure(ctx, op, v.path, err)
	}
	if !v.start() {
		return failure(ctx, op, v.path, ErrRunning)
	}
	var err error
	defer func() { v.stop(err) }()
	v.reports = startReporter(ctx, v.client, v.reportID(), v.eventPath)
	defer func() { v.reports.end(err) }()
	for err == nil {
		var s *session.Session
		if s, err = v.client.ReadSession(ctx); err == nil {
			err = v.follow(ctx, s)
		}
		if ctx.Err() != nil {
			err = nil
			return nil
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
	v.store.endWith(nil)
	return true
}

// stop gets the reason why the view cannot continue, if there is one: callers that wait
// for the view need not wait any longer. All at once: the next Run must not find that
// it is over.
func (v *View[T]) stop(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.store.endWith(err)
	}
	v.running = false
}
