package session

import (
	"context"
	"errors"
	"fmt"
)

// IsConnectionLoss reports whether err says that a request was not sent, or got no
// reply, because of the network, while its session continues: another request can
// find out the outcome. The end of a context, and the loss of a session
// ([IsSessionLoss]) or of a hold, are excluded.
func IsConnectionLoss(err error) bool {
	switch {
	case errors.Is(err, ErrLost):
		return false
	case NotSent(err), Unanswered(err):
		return true
	}
	return errors.Is(err, ErrUnknownOutcome) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// Retry calls f with the present session until f returns nil, or an error that is
// not the network's. After a lost connection ([IsConnectionLoss]) Retry calls f again,
// and after a lost session ([IsSessionLoss]) with the next session.
//
// f must find out by itself how much the former call has done, from nothing to
// everything: f reads, and writes on condition of the state that it has read, or f
// makes only writes that may be applied twice. In one session, Retry calls f again only
// when every request of the former call has been carried out and is visible to f's
// reads, or never will be. Requests of a lost session may still be carried out later
// ([ErrTrustRanOut]), but not on a condition that is not true any more.
//
// Between calls Retry waits as [Session.BackOff] does. If ctx ends, or the client
// is closed, and a write of any call was not answered, the error wraps
// [ErrUnknownOutcome]. f must remember the replies that it got.
func (c *Client) Retry(ctx context.Context, f func(s *Session) error) error {
	c.mustBeUsable(ctx)
	mustHaveFunction(f != nil)
	var lastUnknown error
	for {
		s, err := c.Session(ctx)
		if err != nil {
			return unresolved(lastUnknown, err)
		}
		err = s.retry(ctx, func() error { return f(s) }, &lastUnknown)
		// The loss of a hold, in a session that lives, is f's own affair.
		if !s.awaitEndIfLost(ctx) || !IsSessionLoss(err) && !IsConnectionLoss(err) {
			return err
		}
	}
}

// Retry is [Client.Retry] within this session, whose loss ends it.
func (s *Session) Retry(ctx context.Context, f func() error) error {
	s.mustBeUsable(ctx)
	mustHaveFunction(f != nil)
	var lastUnknown error
	return s.retry(ctx, f, &lastUnknown)
}

// retry is Retry; lastUnknown is the last error of a call that has left the outcome
// of a write unknown. No later call need have found the outcome before the session
// ends.
func (s *Session) retry(ctx context.Context, f func() error, lastUnknown *error) error {
	for lost := 0; ; lost++ {
		err := f()
		if errors.Is(err, ErrUnknownOutcome) {
			*lastUnknown = err
		}
		switch {
		case IsConnectionLoss(err):
		case ctx.Err() != nil && isEndOf(ctx, err), errors.Is(err, ErrLost) && s.awaitEndIfLost(ctx):
			return unresolved(*lastUnknown, err)
		default:
			return err // f's own verdict
		}
		if over := s.awaitCarriedOut(ctx, lost); over != nil {
			return unresolved(*lastUnknown, over)
		}
	}
}

// awaitEndIfLost reports whether the session is over. Calls learn of the end from the
// connection, a moment before the session does.
func (s *Session) awaitEndIfLost(ctx context.Context) bool {
	if s.link.Ended() == nil {
		return s.Err() != nil
	}
	select {
	case <-s.ctx.Done():
	case <-ctx.Done():
	}
	return true
}

// isEndOf reports whether err says that ctx is over.
func isEndOf(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Cause(ctx))
}

// unresolved returns over, the error that ends all attempts. If an earlier
// attempt has left an unknown outcome, the error says so.
func unresolved(lastUnknown, over error) error {
	var unknown *UnknownOutcomeError
	switch {
	case lastUnknown == nil || errors.Is(over, ErrUnknownOutcome):
		return over
	case errors.As(lastUnknown, &unknown):
		return &UnknownOutcomeError{Op: unknown.Op, Path: unknown.Path, Reason: over}
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, over)
}

// awaitCarriedOut waits until there is a connection, and no request that was sent on an
// earlier connection can take effect any more. A transaction proves this, although it
// changes nothing: the leader answers the transaction after all that it has proposed
// before, and refuses later requests on an old connection, as the session has moved. A
// sync does not prove this: a leader answers a sync of its own clients at once.
func (s *Session) awaitCarriedOut(ctx context.Context, lost int) error {
	for ; ; lost++ {
		err := s.alive(ctx)
		if err == nil {
			err = s.BackOff(ctx, lost)
		}
		if err != nil {
			return err
		}
		_, err = s.Txn(ctx, CheckOp("/", -1))
		var verdict *TxnError
		var unanswered *UnknownOutcomeError
		switch {
		case errors.As(err, &verdict):
			return nil // also a refusal is an answer
		case IsConnectionLoss(err):
		case errors.As(err, &unanswered):
			return unanswered.Reason // the outcome does not matter: no change
		default:
			return err // nil, too
		}
	}
}
