package stm

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

// pendingTxn is a transaction whose reply is missing and whose session is lost:
// the transaction may have been applied, or may still be. Two things tell the
// outcome:
//
// The marker, as long as it exists: its version says whether the transaction was applied,
// and once the marker is deleted, the transaction never will be.
//
// When the marker is gone, an existing znode that the transaction would have
// changed: if the znode still has the same creation and modification zxids as
// at the read, the transaction was not applied. Zxids never repeat, so another
// writer cannot restore such a state, and neither can the transaction itself.
type pendingTxn struct {
	marker   *marker
	unchange []Node // the reads of the znodes to be changed by the transaction
	tx       *Tx
	reason   error
}

// newPendingTxn records tx as pending. m is nil for a transaction without a
// marker.
func newPendingTxn(tx *Tx, m *marker, reason error) *pendingTxn {
	p := &pendingTxn{marker: m, tx: tx, reason: reason}
	for _, e := range tx.reads {
		if e.was.Exists && e.written {
			p.unchange = append(p.unchange, e.was)
		}
	}
	return p
}

// findOutcome finds out the outcome of the transaction. If the outcome is notApplied, the
// transaction never will be applied.
func (p *pendingTxn) findOutcome(ctx context.Context, s *session.Session) (outcome, error) {
	for {
		out, err := p.marker.readOutcome(ctx, s)
		switch out {
		case notApplied:
		case gone:
			return p.compareZnodes(ctx, s)
		default:
			return out, err
		}
		// The former session is not over yet: the transaction may still arrive.
		err = s.Delete(ctx, p.marker.path, p.marker.version)
		switch {
		case err == nil:
			return notApplied, nil
		case errors.Is(err, session.ErrBadVersion), errors.Is(err, session.ErrNoNode), session.IsConnectionLoss(err):
			// Look again. When this deletion was made and its reply lost, the znodes tell.
		default:
			return unknown, err
		}
	}
}

// compareZnodes finds out the outcome without the marker.
func (p *pendingTxn) compareZnodes(ctx context.Context, s *session.Session) (outcome, error) {
	for _, was := range p.unchange {
		stat, exists, err := existsFresh(ctx, s, was.Path)
		if err != nil {
			return unknown, err
		}
		if exists && stat.Czxid == was.Stat.Czxid && stat.Mzxid == was.Stat.Mzxid {
			return notApplied, nil
		}
	}
	return unknown, nil
}

// unknownError returns the error of an Apply that could not find out the outcome,
// because of why.
func (p *pendingTxn) unknownError(why error) error {
	return fmt.Errorf("%w: %w; then: %w", session.ErrUnknownOutcome, p.reason, why)
}
