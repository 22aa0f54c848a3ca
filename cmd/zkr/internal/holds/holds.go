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
	m := lock.New(client, path, nil)
	return &hold[lock.Contender, lock.Break]{
		list: m.Contenders, take: m.Break, gone: lock.ErrNotHeld, records: m.Breaks,
		holder: func(c lock.Contender) takeaway.Holder {
			return takeaway.Holder{ID: c.Data, Session: c.Session, Token: c.Token, Since: c.Since}
		},
		record: func(b lock.Break) takeaway.Record {
			return takeaway.Record{At: b.At, By: b.By, Reason: b.Reason, Holder: b.Holder, Session: cli.SessionID(b.Session), Token: b.Token}
		},
	}
}

// Leadership is the leadership of the election at a path.
func Leadership(client *session.Client, path string) takeaway.Hold {
	e := election.New(client, path, nil)
	return &hold[election.Candidate, election.Deposition]{
		list: e.Candidates, take: e.Depose, gone: election.ErrNoLeader, records: e.Depositions,
		holder: func(c election.Candidate) takeaway.Holder {
			return takeaway.Holder{ID: c.Data, Session: c.Session, Token: c.Token, Since: c.Since}
		},
		record: func(d election.Deposition) takeaway.Record {
			return takeaway.Record{At: d.At, By: d.By, Reason: d.Reason, Holder: d.Leader, Session: cli.SessionID(d.Session), Token: d.Token}
		},
	}
}

// hold is what the first of several contenders C holds; R is a record of its loss.
type hold[C, R any] struct {
	list   func(context.Context) ([]C, error)
	holder func(C) takeaway.Holder
	take   func(ctx context.Context, c C, by, reason string) error
	// gone is the error of take for a contender that holds no more.
	gone    error
	records func(context.Context) ([]R, error)
	record  func(R) takeaway.Record

	first C // as Find has seen it
}

func (h *hold[C, R]) Find(ctx context.Context) (*takeaway.Holder, error) {
	all, err := h.list(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	h.first = all[0]
	found := h.holder(h.first)
	found.Waiting = len(all) - 1
	return &found, nil
}

func (h *hold[C, R]) Take(ctx context.Context, by, reason string) (gone, err error) {
	err = h.take(ctx, h.first, by, reason)
	if (errors.Is(err, h.gone) || errors.Is(err, session.ErrInvalidArgument)) && !errors.Is(err, session.ErrUnknownOutcome) {
		return err, nil
	}
	return nil, err
}

func (h *hold[C, R]) Records(ctx context.Context) ([]takeaway.Record, error) {
	all, err := h.records(ctx)
	out := make([]takeaway.Record, len(all))
	for i, r := range all {
		out[i] = h.record(r)
	}
	return out, err
}
