package stm

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// commitUnmarked is commitWrites for a function that recognizes its applied attempts.
// After a lost reply, session.Client.Retry waits until the attempt was applied
// or never will be in its session, and calls inSession again.
func (r *run) commitUnmarked(ctx context.Context, s *session.Session, tx *Tx, p plan) error {
	began := time.Now()
	results, err := r.t.send(ctx, s, tx, p)
	switch {
	case err == nil:
		r.results = p.resultsOfWrites(results)
		r.backoff.Won(time.Since(began))
		return r.endCall(nil, false)
	case errors.Is(err, session.ErrUnknownOutcome):
		r.unanswered++
		r.open = append(r.open, newPendingTxn(tx, nil, err))
		return err
	}
	return r.interpretFailure(ctx, s, tx, p, err)
}

// refuteOpen forgets the attempts that never will be applied, given that all reads
// of tx are true.
func (r *run) refuteOpen(tx *Tx) {
	r.open = slices.DeleteFunc(r.open, func(p *pendingTxn) bool { return p.refutedBy(tx) })
}

// refutedBy reports whether the attempt, which was not recognized as applied,
// never will be applied, given that all reads of tx are true: the attempt's
// session has no request in flight any more, or one of the attempt's conditions
// is false.
func (p *pendingTxn) refutedBy(tx *Tx) bool {
	if p.tx.s == tx.s || errors.Is(p.tx.s.Err(), session.ErrExpired) {
		return true
	}
	for _, e := range p.tx.reads {
		now := tx.nodes[e.was.Path]
		if now == nil || !now.read {
			continue
		}
		if now.was.Exists != e.was.Exists || now.was.Stat.Version != e.was.Stat.Version {
			return true
		}
	}
	return false
}
