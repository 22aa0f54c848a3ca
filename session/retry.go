package session

import (
	"context"
	"errors"
	"fmt"
)

// Interrupted reports whether err says that a request was not sent, or got no
// answer, because of the network, while its session goes on: what it has done, if
// anything, can be found out by asking again. The end of a context, and the loss of
// a session ([Passing]) or of what was held, are none.
func Interrupted(err error) bool {
	switch {
	case errors.Is(err, ErrLost):
		return false
	case NotSent(err), Unanswered(err):
		return true
	}
	return errors.Is(err, ErrUnknownOutcome) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// Retry calls f with the present session until it returns nil, or an error that is
// not the network's: when its connection was lost ([Interrupted]) it is called
// again, and when the session was ([Passing]), with the next one.
//
// f must find out by itself what the call before has done, for that may have been
// anything or nothing: it reads, and writes on condition of what it has read, or it
// writes what may be written twice. In one session it is called again only when
// all that was sent before has been carried out, and its reads see that, or never
// will be. What was sent in a session that was lost may still be carried out later
// ([ErrTrustRanOut]), but not on a condition that does not hold any more.
//
// Between calls it waits as [Session.BackOff] does. When ctx ends, or the client
// is closed, and a write of any call was not answered, the error wraps
// [ErrUnknownOutcome]; what was answered, f has to remember.
func (c *Client) Retry(ctx context.Context, f func(s *Session) error) error {
	var doubt error
	for {
		s, err := c.Session(ctx)
		if err != nil {
			return unresolved(doubt, err)
		}
		err = s.retry(ctx, func() error { return f(s) }, &doubt)
		// The loss of something else, in a session that lives, is f's own affair.
		if !s.gone(ctx) || !Passing(err) && !Interrupted(err) {
			return err
		}
	}
}

// Retry is [Client.Retry] within this session, whose loss ends it.
func (s *Session) Retry(ctx context.Context, f func() error) error {
	var doubt error
	return s.retry(ctx, f, &doubt)
}

// retry is Retry; doubt is the last error of a call that has left unknown what became
// of a write. No later call need have found out before all ends.
func (s *Session) retry(ctx context.Context, f func() error, doubt *error) error {
	for lost := 0; ; lost++ {
		err := f()
		if errors.Is(err, ErrUnknownOutcome) {
			*doubt = err
		}
		switch {
		case Interrupted(err):
		case ctx.Err() != nil && isEndOf(ctx, err), errors.Is(err, ErrLost) && s.gone(ctx):
			return unresolved(*doubt, err)
		default:
			return err // f's own verdict
		}
		if over := s.settle(ctx, lost); over != nil {
			return unresolved(*doubt, over)
		}
	}
}

// gone reports whether the session is over. Calls hear of that from the connection, a
// moment before the session does.
func (s *Session) gone(ctx context.Context) bool {
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

// unresolved is over, the end of all trying, when doubt is left.
func unresolved(doubt, over error) error {
	var unknown *UnknownOutcomeError
	switch {
	case doubt == nil || errors.Is(over, ErrUnknownOutcome):
		return over
	case errors.As(doubt, &unknown):
		return &UnknownOutcomeError{Op: unknown.Op, Path: unknown.Path, Reason: over}
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, over)
}

// settle waits until there is a connection, and nothing that was sent on an earlier
// one can take effect any more. A transaction does that, although it changes
// nothing: the leader answers it behind all that it has proposed before, and what
// comes later on an old connection it refuses, as the session has moved. A sync
// does not: a leader answers that to its own clients at once.
func (s *Session) settle(ctx context.Context, lost int) error {
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
		case err == nil, errors.As(err, &verdict):
			return nil // also a refusal is an answer
		case Interrupted(err):
		case errors.As(err, &unanswered):
			return unanswered.Reason // it changes nothing: there is nothing to know
		default:
			return err
		}
	}
}
