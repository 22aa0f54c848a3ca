package session

import (
	"context"
	"errors"
	"time"
)

// discardPause is how long a background deletion waits after a refusal that may
// pass before it tries again.
const discardPause = 100 * time.Millisecond

// insistPause is how long one waits that may not delete, and longestInsistPause to
// how much that grows.
const (
	insistPause        = time.Second
	longestInsistPause = 30 * time.Second
)

// Discard deletes a znode that this session made, and whose name nobody else
// ever uses (see [Session.CreateProtected]), for sure: it tries at once, also if
// ctx has ended already, and returns nil when the node is gone. If ctx ends first
// it returns an error, and the deletion goes on in the background until the node or
// the session is gone; [Client.Close] waits for it. A server that forbids it is
// asked again in the background, too, every half minute in the end, for which Close
// does not wait: the error wraps ErrNoAuth, and the node goes when that is allowed
// again, with nobody having to see to it.
func (s *Session) Discard(ctx context.Context, path string) error {
	if err := ValidatePath(path); err != nil {
		return &OpError{Op: "discard", Path: path, Err: err}
	}
	// Sent before this returns, also when ctx has ended already: what the caller
	// asks next in this session does not see the node any more.
	first := s.StartDelete(path, -1)
	if _, err := first.Wait(ctx); deleted(err) {
		return nil
	}
	done := make(chan error, 1)
	s.background(func(life context.Context) {
		_, err := first.Wait(life)
		if deleted(err) {
			err = nil
		} else {
			err = s.discard(life, path)
		}
		if errors.Is(err, ErrNoAuth) {
			s.spawn(func() { s.insist(path) })
		}
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return &OpError{Op: "discard", Path: path, Err: ended(ctx)}
	}
}

// discard deletes path until it is gone. Repeating a delete whose answer was
// lost is safe, since the name is not used again.
func (s *Session) discard(ctx context.Context, path string) error {
	for {
		err := s.Delete(ctx, path, -1)
		switch {
		case deleted(err):
			return nil
		case s.Err() != nil:
			// An ephemeral node goes with its session; no other is meant.
			return &OpError{Op: "discard", Path: path, Err: s.Err()}
		case errors.Is(err, ErrUnknownOutcome):
		case errors.Is(err, ErrNoAuth), errors.Is(err, ErrNotEmpty), errors.Is(err, ErrTooLarge):
			return err // trying again would not change it
		default:
			if s.sleep(ctx, discardPause) != nil {
				return err
			}
		}
	}
}

func deleted(err error) bool { return err == nil || errors.Is(err, ErrNoNode) }

// insist deletes path as soon as that is allowed.
func (s *Session) insist(path string) {
	for pause := insistPause; s.sleep(s.ctx, pause) == nil; pause = min(2*pause, longestInsistPause) {
		if err := s.discard(s.ctx, path); !errors.Is(err, ErrNoAuth) {
			return
		}
	}
}

// background runs fn outside its caller's context. Close waits for it; it must
// end when its context, the session's life, does.
func (s *Session) background(fn func(life context.Context)) {
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

// settleDiscards waits until nothing goes on in the background, or ctx or the
// session ends.
func (s *Session) settleDiscards(ctx context.Context) {
	s.mu.Lock()
	if s.pending == 0 {
		s.mu.Unlock()
		return
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}
