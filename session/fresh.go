package session

import (
	"context"
	"errors"
)

// ReadFresh calls read, whose requests in this session see everything that was
// committed before the call, by any client and server, and all requests of this
// session that were carried out. A plain read may return an old state, from a
// server that lags behind or was cut off. path is the znode that is read; it need
// not exist.
//
// ReadFresh sends a transaction that only checks, ahead of read's requests and in
// the same round trip: a quorum commits the transaction. If its reply is lost,
// ReadFresh sends the transaction again, and calls read again; only the results
// of the last call of read count. An error of read ends ReadFresh.
//
// A sync would not be enough. A leader answers a sync by itself, even when it has
// lost its followers and other servers lead by now, and answers its own clients
// at once, while the latest writes are proposed and not yet committed. A
// transaction is answered, even if it fails, when a quorum has got it and
// everything that was proposed before it. Requests of a lost connection that have
// not reached the leader by then are refused later, because the session has
// moved.
func (s *Session) ReadFresh(ctx context.Context, path string, read func() error) error {
	s.mustBeUsable(ctx)
	mustHaveFunction(read != nil)
	for lost := 0; ; {
		front := s.StartTxn(CheckOp(path, -1))
		if err := read(); err != nil { // waits for a connection
			return err
		}
		var verdict *TxnError
		var unknown *UnknownOutcomeError
		switch _, err := front.Wait(ctx); {
		case err == nil, errors.As(err, &verdict):
			return nil
		case Unanswered(err), errors.Is(err, ErrThrottled):
			if err := s.awaitRepetition(ctx, err, &lost); err != nil {
				return err
			}
		case errors.As(err, &unknown):
			return unknown.Reason // it changes nothing: there is nothing to know
		case !NotSent(err):
			return err
		}
	}
}
