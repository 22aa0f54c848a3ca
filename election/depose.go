package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/breaking"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

// Deposition is the record of a leadership that was taken away.
type Deposition struct {
	// Leader is the former leader's Data as text, Session its session, and Token its token.
	Leader  string
	Session int64
	Token   int64
	// By is who deposed the leader, and Reason is why.
	By, Reason string
	// At is the time by the clock of the client that did it.
	At time.Time
}

func newDeposition(b lockformat.Break) Deposition {
	return Deposition{Leader: b.Holder, Session: b.SessionID(), Token: b.Token, By: b.By, Reason: b.Reason, At: b.At}
}

// Depose takes the leadership away from c, which must be the first of Candidates: from a leader
// that does not work any more and whose session lives on. reason is required, and by names who
// does it; "" means the host name and the process id.
//
// The leader's znode is deleted, and a record with by and reason is written in
// "<path>.breaks", in one transaction and only if the znode is still that of c. Otherwise
// nothing changes: the error wraps ErrNoLeader if c has gone, and ErrInvalidArgument if another
// candidate is ahead of c. It also wraps session.ErrUnknownOutcome if c has gone after a lost
// reply and no record tells why.
//
// The next candidate leads at once. The former leader learns of it within a heartbeat
// (session.Session.Heartbeat), often at once, by the end of its context: until then, or for as
// long as its process hangs, both may believe that they lead. Depose is safe where the leader's
// writes are fenced by its token or guard, or the leader is known to be stopped. A deposed
// candidate may campaign again.
func (e *Elector) Depose(ctx context.Context, c Candidate, by, reason string) error {
	e = receiver.OrZero(e)
	err := e.checkCall(ctx)
	if err == nil {
		err = breaking.Break(ctx, e.client, breaking.Target{
			Queue: breaking.Queue{Dir: e.path, Markers: lockformat.ElectionMarkers(), Records: e.path, Holders: breaking.FirstHolds},
			Path:  c.Path, Token: c.Token,
		}, by, reason)
	}
	if errors.Is(err, breaking.ErrGone) {
		err = fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	if err != nil {
		return failure(ctx, "depose", e.path, err)
	}
	return nil
}

// Depositions lists the records of the leaders that were deposed, the newest first: the last
// 16, or a few more. The list is not older than the call.
func (e *Elector) Depositions(ctx context.Context) ([]Deposition, error) {
	e = receiver.OrZero(e)
	var records []lockformat.Break
	err := e.checkCall(ctx)
	if err == nil {
		records, err = breaking.List(ctx, e.client, e.path)
	}
	if err != nil {
		return nil, failure(ctx, "list depositions", e.path, err)
	}
	out := make([]Deposition, len(records))
	for i, b := range records {
		out[i] = newDeposition(b)
	}
	return out, nil
}

// Deposed returns the record of it if another client has taken the leadership away, also if
// the leader had lost its session before. ok is false if the leadership continues, as far as
// the leader knows, or was given back, or was lost in another way.
func (l *Leadership) Deposed(ctx context.Context) (d Deposition, ok bool, err error) {
	const op = "find deposition"
	l = receiver.OrZero(l)
	if err := holding.BeginHeld(ctx, l.hold != nil, "election.Leadership", "election.Elector", ErrInvalidArgument); err != nil {
		return Deposition{}, false, l.e.failure(ctx, op, err)
	}
	if l.hold.Err() == nil {
		return Deposition{}, false, nil
	}
	found, err := breaking.Find(ctx, l.e.client, l.e.path, l.token)
	switch {
	case err != nil:
		return Deposition{}, false, failure(ctx, op, l.e.path, err)
	case found == nil:
		return Deposition{}, false, nil
	}
	return newDeposition(*found), true, nil
}
