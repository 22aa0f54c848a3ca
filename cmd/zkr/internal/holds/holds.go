// Package holds has what can be taken away from a holder: locks and leaderships, for
// "zkr lock break", "zkr elect depose" and the dashboard.
package holds

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Lock is the mutex at a path.
func Lock(client *session.Client, path string) takeaway.Hold {
	return &held{m: lock.New(client, path, nil)}
}

// Leadership is the leadership of the election at a path.
func Leadership(client *session.Client, path string) takeaway.Hold {
	return &leadership{e: election.New(client, path, nil)}
}

// held is a lock for package takeaway.
type held struct {
	m      *lock.Mutex
	holder lock.Contender
}

func (h *held) Find(ctx context.Context) (*takeaway.Holder, error) {
	all, err := h.m.Contenders(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	h.holder = all[0]
	return &takeaway.Holder{ID: h.holder.Data, Session: h.holder.Session, Token: h.holder.Token, Since: h.holder.Since, Waiting: len(all) - 1}, nil
}

func (h *held) Take(ctx context.Context, by, reason string) (gone, err error) {
	err = h.m.Break(ctx, h.holder, by, reason)
	if (errors.Is(err, lock.ErrNotHeld) || errors.Is(err, lock.ErrInvalidArgument)) && !errors.Is(err, session.ErrUnknownOutcome) {
		return err, nil
	}
	return nil, err
}

func (h *held) Records(ctx context.Context) ([]takeaway.Record, error) {
	all, err := h.m.Breaks(ctx)
	out := make([]takeaway.Record, len(all))
	for i, b := range all {
		out[i] = takeaway.Record{At: b.At, By: b.By, Reason: b.Reason, Holder: b.Holder, Session: cli.SessionID(b.Session), Token: b.Token}
	}
	return out, err
}

// leadership is an election for package takeaway.
type leadership struct {
	e      *election.Elector
	leader election.Candidate
}

func (l *leadership) Find(ctx context.Context) (*takeaway.Holder, error) {
	all, err := l.e.Candidates(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	l.leader = all[0]
	return &takeaway.Holder{ID: l.leader.Data, Session: l.leader.Session, Token: l.leader.Token, Since: l.leader.Since, Waiting: len(all) - 1}, nil
}

func (l *leadership) Take(ctx context.Context, by, reason string) (gone, err error) {
	err = l.e.Depose(ctx, l.leader, by, reason)
	if (errors.Is(err, election.ErrNoLeader) || errors.Is(err, election.ErrInvalidArgument)) && !errors.Is(err, session.ErrUnknownOutcome) {
		return err, nil
	}
	return nil, err
}

func (l *leadership) Records(ctx context.Context) ([]takeaway.Record, error) {
	all, err := l.e.Depositions(ctx)
	out := make([]takeaway.Record, len(all))
	for i, d := range all {
		out[i] = takeaway.Record{At: d.At, By: d.By, Reason: d.Reason, Holder: d.Leader, Session: cli.SessionID(d.Session), Token: d.Token}
	}
	return out, err
}
