package barrier

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Barrier is a meeting point for a number of parties, in any number of rounds: no
// party passes before all parties are present at the same time, and then all
// pass.
type Barrier struct{ m *core }

// New makes a barrier for a number of parties on path. All clients of the path
// must use the same number: the number is kept in the data of the path, and a
// client with another number gets ErrParties. New sends nothing; the first call
// of a method reports an invalid argument. o may be nil.
func New(client *session.Client, path string, parties int, o *Options) *Barrier {
	return &Barrier{newCore(client, kindBarrier, path, parties, o)}
}

// Path returns the path argument of [New].
func (b *Barrier) Path() string { return b.core().path }

func (b *Barrier) core() *core { return receiver.OrZero(b).m.orZero("barrier.New") }

// Await waits until all parties of the barrier are waiting at the same time, and
// returns the number of the round in which they pass together, from 1. The next
// round begins at once.
//
// A party that arrives when enough other parties are waiting waits for the next
// round. More parties than the barrier has therefore pass in turns.
//
// ctx bounds the wait. When ctx ends, Await takes the party back, and may take
// a second longer for that. Three outcomes are possible:
//   - nil: the party passed at the last moment;
//   - an error that wraps the context's error: the party has not passed, and will
//     not;
//   - an error that also wraps session.ErrUnknownOutcome: the servers could not
//     be reached. The deletion of the party's znode continues in the background,
//     and until then the party may still count.
//
// If the session is lost during the wait, the place is lost; if the party had
// not passed before, Await continues in the next session. The error wraps
// session.ErrUnknownOutcome if the outcome cannot be decided:
//   - the path was deleted with its record;
//   - the reply to the arrival was lost, or the party was delayed, and the
//     barrier completed more rounds than it remembers;
//   - the session was given up at the moment of arrival, and the servers may
//     still have it.
func (b *Barrier) Await(ctx context.Context) (int64, error) {
	const op = "await"
	if err := b.core().checkCall(ctx); err != nil {
		return 0, failure(ctx, op, b.Path(), err)
	}
	waiting := observing.BeginWait(ctx, b.m.client, observe.Round, b.m.path)
	p, err := b.m.await(ctx, b.m.identity())
	if err != nil {
		err = reportedFailure(ctx, b.m.client, op, b.m.path, err)
		waiting.End(err)
		return 0, err
	}
	waiting.Passed(p.round, b.m.parties)
	return p.round, nil
}

// Waiting lists the waiting parties in the order of arrival, as of one moment,
// which precedes the call if the server lags behind; the list may have changed since.
// A majority of the servers has confirmed an empty list.
func (b *Barrier) Waiting(ctx context.Context) ([]Party, error) { return b.core().waiting(ctx) }

// await arrives and waits, in one session after the other.
func (m *core) await(ctx context.Context, id string) (pass, error) {
	for lost := 0; ; {
		s, err := m.client.Session(ctx)
		if err != nil {
			return pass{}, err
		}
		v, reason := m.arrive(ctx, s, id)
		if v == nil && ctx.Err() == nil && session.IsSessionLoss(reason) {
			continue // in the next session
		} else if v == nil {
			return pass{}, reason
		}
		if reason == nil {
			lost = 0
			var p pass
			if p, reason = v.await(ctx); reason == nil {
				return p, nil
			}
		}
		p, err := v.conclude(ctx, reason)
		if !errors.Is(err, errNotCounted) {
			return p, err
		}
		if errors.Is(reason, session.ErrUnknownOutcome) {
			_ = s.BackOff(ctx, lost) // an arrival may cost the connection each time
			lost++
		}
	}
}

// conclude finds out the outcome for v, whose wait ended with reason. After
// errNotCounted the party may arrive again.
func (v *arrival) conclude(ctx context.Context, reason error) (pass, error) {
	switch {
	case errors.Is(reason, errGone):
		return pass{}, errNotCounted
	case ctx.Err() == nil && (v.node.Path == "" || v.s.Err() != nil || errors.Is(reason, errUnknownRelease)):
		p, err := v.recoverOutcome(ctx)
		if err != nil && !errors.Is(err, errNotCounted) {
			v.m.remains(v.id)
			err = unknown(v, errors.Join(reason, err))
		}
		return p, err
	case v.node.Path == "", v.s.Err() != nil, errors.Is(reason, errUnknownRelease):
		v.m.remains(v.id)
		return pass{}, unknown(v, reason)
	case ctx.Err() != nil:
		return v.withdraw(ctx, reason)
	case errors.Is(reason, ErrParties), errors.Is(reason, ErrRecord):
		v.leave(ctx)
		return pass{}, reason // a round of another barrier is not a round of this one
	}
	// A request of v was refused, and other parties may have let v through since.
	p, err := v.recoverOutcome(ctx)
	if errors.Is(err, errNotCounted) {
		return p, reason
	} else if err != nil {
		v.m.remains(v.id)
		err = unknown(v, errors.Join(reason, err))
	}
	return p, err
}
