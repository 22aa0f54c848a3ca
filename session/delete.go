package session

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/await"
)

// discardPause is how long a background deletion waits after a refusal that may
// pass before it tries again.
const discardPause = 100 * time.Millisecond

// insistPause is the wait of a deletion that a server forbids, and longestInsistPause
// the limit of its growth.
const (
	insistPause        = time.Second
	longestInsistPause = 30 * time.Second
)

// EnsureDeleted deletes, reliably, a znode that this session made, and whose name is
// never used by another client (see [Session.CreateProtected]). EnsureDeleted tries at
// once, even if ctx has ended already, and returns nil when the znode is gone. If
// ctx ends first, EnsureDeleted returns an error, and the deletion continues in the
// background until the znode or the session is gone; [Client.Close] waits for it.
// To give something back, pass [Session.GiveBackContext]: EnsureDeleted itself waits
// for a server as long as ctx.
//
// If a server forbids the deletion, the error wraps ErrNoAuth, and the deletion
// is retried in the background, in the end every half minute. Close does not wait
// for it. The znode goes when the deletion is allowed again, without further
// action.
func (s *Session) EnsureDeleted(ctx context.Context, path string) error {
	s.mustBeUsable(ctx)
	if err := ValidatePath(path); err != nil {
		return &OpError{Op: "delete", Path: path, Err: err}
	}
	// Sent before EnsureDeleted returns, also when ctx has ended already: the caller's
	// next request in this session does not see the node any more.
	first := s.StartDelete(path, -1)
	if _, err := first.Wait(ctx); deleted(err) {
		return nil
	}
	var err error
	done := make(chan struct{})
	s.runInBackground(func(life context.Context) {
		defer close(done)
		if _, err = first.Wait(life); deleted(err) {
			err = nil
		} else {
			err = s.deleteUntilGone(life, path)
		}
		if errors.Is(err, ErrNoAuth) {
			s.spawn(func() { s.retryForbiddenDelete(path) })
		}
	})
	if await.Closed(ctx, done) != nil {
		return &OpError{Op: "delete", Path: path, Err: endError(ctx)}
	}
	return err
}

// deleteUntilGone deletes path until it is gone. Repeating a delete whose answer was
// lost is safe, since the name is not used again; the delete may be what costs the
// connection each time, so pauses grow.
func (s *Session) deleteUntilGone(ctx context.Context, path string) error {
	for lost := 0; ; {
		err := s.Delete(ctx, path, -1)
		switch {
		case deleted(err):
			return nil
		case s.Err() != nil:
			// An ephemeral node goes with its session, or in the next one; no
			// other is meant.
			s.EnsureRemainsDeleted(path)
			return &OpError{Op: "delete", Path: path, Err: s.Err()}
		case errors.Is(err, ErrUnknownOutcome):
			if s.BackOff(ctx, lost) != nil && s.Err() == nil {
				return err
			}
			lost++
		case errors.Is(err, ErrNoAuth), errors.Is(err, ErrNotEmpty), errors.Is(err, ErrTooLarge):
			return err // trying again would not change it
		default:
			if s.sleep(ctx, discardPause) != nil && s.Err() == nil {
				return err
			}
		}
	}
}

func deleted(err error) bool { return err == nil || errors.Is(err, ErrNoNode) }

// retryForbiddenDelete deletes path as soon as the servers allow the deletion.
func (s *Session) retryForbiddenDelete(path string) {
	for pause := insistPause; s.sleep(s.ctx, pause) == nil; pause = min(2*pause, longestInsistPause) {
		if err := s.deleteUntilGone(s.ctx, path); !errors.Is(err, ErrNoAuth) {
			return
		}
	}
}

// runInBackground runs fn outside its caller's context. Close waits for it; it must
// end when its context, the session's life, does.
func (s *Session) runInBackground(fn func(life context.Context)) {
	s.mu.Lock()
	s.pending++
	s.mu.Unlock()
	run := func() {
		fn(s.ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pending--
		if s.pending == 0 && s.idle != nil {
			close(s.idle)
			s.idle = nil
		}
	}
	if !s.spawn(run) {
		run() // the session is over: fn finds that out at once
	}
}

// awaitBackground waits until no background work is in progress, or ctx or the session
// ends.
func (s *Session) awaitBackground(ctx context.Context) { s.awaitIdle(ctx.Done(), s.ctx.Done()) }

// awaitIdle waits until no background work is in progress, or until done or over. It reports
// whether none is.
func (s *Session) awaitIdle(done, over <-chan struct{}) bool {
	s.mu.Lock()
	if s.pending == 0 {
		s.mu.Unlock()
		return true
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return true
	case <-done:
	case <-over:
	}
	return false
}
