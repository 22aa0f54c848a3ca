package barrier

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// Barrier is a place where a number of parties meet, again and again: nobody
// gets past it before all of them are there at the same time, and then all do.
type Barrier struct{ m *meeting }

// New makes a barrier of so many parties on path. All who use the path must say
// the same number: it is kept in the data of the path, and who says another gets
// ErrParties. It does nothing yet; a wrong argument is reported by the first call
// of a method. o may be nil.
func New(client *session.Client, path string, parties int, o *Options) *Barrier {
	return &Barrier{newMeeting(client, kindBarrier, path, parties, o)}
}

// Path is the path that the barrier was made with.
func (b *Barrier) Path() string { return b.m.path }

// Await waits until as many parties as the barrier has are waiting at the same
// time, and returns the number of the round in which they were let through
// together, from 1. The next round begins at once.
//
// Whoever comes when enough others are waiting waits for the next round; so more
// parties than the barrier has get past it in turns.
//
// ctx bounds the wait. When it ends, Await takes the party back, and may take a
// second longer for that. There are three outcomes: nil, if the party was let
// through at the last moment; an error that wraps the context's, if it was not,
// and will not be; one that also wraps session.ErrUnknownOutcome, if the servers
// could not be reached: then the deletion of the party's znode goes on in the
// background, and until it is done the party may still count.
//
// A session that is lost during the wait costs the place: if the party was not
// let through before, Await goes on in the next session. The error wraps
// session.ErrUnknownOutcome if that cannot be told: when somebody has deleted
// the path with all that it says; when the answer to the arrival was lost, or
// the party held up, and the barrier went on for more rounds than it remembers;
// when the session was given up in the moment of arrival, and the servers may
// still have it.
func (b *Barrier) Await(ctx context.Context) (int64, error) {
	const op = "await"
	if err := b.m.begin(ctx); err != nil {
		return 0, failure(ctx, op, b.m.path, err)
	}
	p, err := b.m.await(ctx, b.m.identity())
	if err != nil {
		return 0, failure(ctx, op, b.m.path, err)
	}
	return p.round, nil
}

// Waiting lists who waits, in the order of arrival: as it was at one moment,
// which is over.
func (b *Barrier) Waiting(ctx context.Context) ([]Party, error) { return b.m.waiting(ctx) }

// await arrives and waits, in one session after the other.
func (m *meeting) await(ctx context.Context, id string) (pass, error) {
	for lost := 0; ; {
		s, err := m.client.Session(ctx)
		if err != nil {
			return pass{}, err
		}
		v, reason := m.arrive(ctx, s, id)
		if v == nil && ctx.Err() == nil && session.Passing(reason) {
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

// conclude finds out what became of v, whose wait was broken off by reason. With
// errNotCounted it may arrive anew.
func (v *visit) conclude(ctx context.Context, reason error) (pass, error) {
	switch {
	case errors.Is(reason, errGone):
		return pass{}, errNotCounted
	case ctx.Err() == nil && (v.node.Path == "" || v.s.Err() != nil || errors.Is(reason, errDoubt)):
		p, err := v.aftermath(ctx)
		if err != nil && !errors.Is(err, errNotCounted) {
			v.m.remains(v.id)
			err = unknown(v, errors.Join(reason, err))
		}
		return p, err
	case v.node.Path == "", v.s.Err() != nil, errors.Is(reason, errDoubt):
		v.m.remains(v.id)
		return pass{}, unknown(v, reason)
	case ctx.Err() != nil:
		return v.withdraw(ctx, reason)
	case errors.Is(reason, ErrParties), errors.Is(reason, ErrRecord):
		v.leave(ctx)
		return pass{}, reason // no round of another barrier is one of this
	}
	// It was refused something, and others may have let it through since.
	p, err := v.aftermath(ctx)
	if errors.Is(err, errNotCounted) {
		return p, reason
	} else if err != nil {
		v.m.remains(v.id)
		err = unknown(v, errors.Join(reason, err))
	}
	return p, err
}
