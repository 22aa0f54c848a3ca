// Package holds has what can be taken away from a holder: locks, permits and leaderships, for
// "zkr lock break", "zkr rwlock break", "zkr elect depose" and the dashboard.
package holds

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Lock is the mutex at a path.
func Lock(client *session.Client, path string) takeaway.Hold {
	m := lock.New(client, path, nil)
	return &hold[lock.Contender, lock.Break]{
		list: m.Contenders, take: m.Break, gone: lock.ErrNotHeld, records: m.Breaks, record: lockRecord,
		holder: func(c lock.Contender) (takeaway.Holder, bool) {
			return takeaway.Holder{ID: c.Data, Session: c.Session, Token: c.Token, Since: c.Since}, c.Holds
		},
	}
}

func lockRecord(b lock.Break) takeaway.Record {
	return takeaway.Record{At: b.At, By: b.By, Reason: b.Reason, Holder: b.Holder, Session: cli.SessionID(b.Session), Token: b.Token}
}

// Permits are those of the semaphore at a path; total is their number, and v2 says that the
// semaphore is Curator's.
func Permits(client *session.Client, path string, total int, v2 bool) takeaway.Hold {
	s := lock.NewSemaphore(client, path, total, &lock.Options{CuratorV2: v2})
	return &hold[lock.Contender, lock.Break]{
		list: s.Contenders, take: s.Break, gone: lock.ErrNotHeld, records: s.Breaks, record: lockRecord,
		holder: func(c lock.Contender) (takeaway.Holder, bool) {
			share := fmt.Sprintf("%s of %d", cli.Count(c.Permits, "permit"), total)
			return takeaway.Holder{ID: c.Data, Session: c.Session, Token: c.Token, Since: c.Since, Share: share}, c.Holds
		},
	}
}

// LockOrPermits is the mutex at a path or, if it has no contender and the path has a number
// of permits, the semaphore.
func LockOrPermits(client *session.Client, path string) takeaway.Hold {
	return &either{Hold: Lock(client, path), client: client, path: path}
}

type either struct {
	takeaway.Hold
	client *session.Client
	path   string
}

func (e *either) Find(ctx context.Context) ([]takeaway.Holder, error) {
	holders, err := e.Hold.Find(ctx)
	if err != nil || len(holders) > 0 {
		return holders, err
	}
	total, err := lock.PermitsAt(ctx, e.client, e.path)
	if err != nil || total == 0 {
		return nil, err
	}
	e.Hold = Permits(e.client, e.path, total, false)
	return e.Hold.Find(ctx)
}

// RWLock is the read/write lock at a path.
func RWLock(client *session.Client, path string) takeaway.Hold {
	m := rwlock.New(client, path, nil)
	return &hold[rwlock.Contender, rwlock.Break]{
		list: m.Contenders, take: m.Break, gone: rwlock.ErrNotHeld, records: m.Breaks,
		holder: func(c rwlock.Contender) (takeaway.Holder, bool) {
			share := "reading"
			if c.Exclusive {
				share = "writing"
			}
			return takeaway.Holder{ID: c.Data, Session: c.Session, Token: c.Token, Since: c.Since, Share: share}, c.Holds
		},
		record: func(b rwlock.Break) takeaway.Record {
			return takeaway.Record{At: b.At, By: b.By, Reason: b.Reason, Holder: b.Holder, Session: cli.SessionID(b.Session), Token: b.Token}
		},
	}
}

// Leadership is the leadership of the election at a path.
func Leadership(client *session.Client, path string) takeaway.Hold {
	e := election.New(client, path, nil)
	return &hold[election.Candidate, election.Deposition]{
		list: e.Candidates, take: e.Depose, gone: election.ErrNoLeader, records: e.Depositions,
		holder: func(c election.Candidate) (takeaway.Holder, bool) {
			return takeaway.Holder{ID: c.Data, Session: c.Session, Token: c.Token, Since: c.Since}, c.Leads
		},
		record: func(d election.Deposition) takeaway.Record {
			return takeaway.Record{At: d.At, By: d.By, Reason: d.Reason, Holder: d.Leader, Session: cli.SessionID(d.Session), Token: d.Token}
		},
	}
}

// hold is what the first of several contenders C hold; R is a record of its loss.
type hold[C, R any] struct {
	list func(context.Context) ([]C, error)
	// holder describes a contender, and reports whether it holds.
	holder func(C) (takeaway.Holder, bool)
	take   func(ctx context.Context, c C, by, reason string) error
	// gone is the error of take for a contender that holds no more.
	gone    error
	records func(context.Context) ([]R, error)
	record  func(R) takeaway.Record

	seen []C // the contenders, as Find has listed them
}

func (h *hold[C, R]) Find(ctx context.Context) (found []takeaway.Holder, err error) {
	if h.seen, err = h.list(ctx); err != nil {
		return nil, err
	}
	for _, c := range h.seen {
		if one, holds := h.holder(c); holds {
			found = append(found, one)
		}
	}
	for i := range found {
		found[i].Waiting = len(h.seen) - len(found)
	}
	return found, nil
}

func (h *hold[C, R]) Take(ctx context.Context, token int64, by, reason string) (gone, err error) {
	i := slices.IndexFunc(h.seen, func(c C) bool { one, _ := h.holder(c); return one.Token == token })
	if i < 0 {
		return fmt.Errorf("no contender has the token %d: %w", token, h.gone), nil
	}
	err = h.take(ctx, h.seen[i], by, reason)
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
