package rwlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/breaking"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Break is the record of a lock that was taken away from a holder.
type Break struct {
	// Holder is the former holder's description, Session its session, and Token that of the
	// Contender.
	Holder  string
	Session int64
	Token   int64
	// By is who took the lock away, and Reason is why.
	By, Reason string
	// At is the time by the clock of the client that did it.
	At time.Time
}

func newBreak(b lockformat.Break) Break {
	return Break{Holder: b.Holder, Session: b.SessionID(), Token: b.Token, By: b.By, Reason: b.Reason, At: b.At}
}

// Break takes the lock away from the holder c, a reader or a writer, one of Contenders: from a
// holder that does not work any more and whose session lives on. Other readers keep the lock.
// reason is required, and by names who does it; "" means the host name and the process id.
//
// The holder's znode is deleted, and a record with by and reason is written in
// "<path>.breaks", in one transaction and only if the znode is still that of c. Otherwise
// nothing changes: the error wraps ErrNotHeld if c has gone or was downgraded, and
// ErrInvalidArgument if c waits. It also wraps session.ErrUnknownOutcome if c has gone after a
// lost reply and no record tells why.
//
// Contenders that only c kept out get the lock at once. The former holder learns of it within a
// heartbeat (session.Session.Heartbeat), often at once, by the end of its context: until then,
// or for as long as its process hangs, both may believe that they hold. Break is safe where
// the holder's writes are fenced by its token or guard, or the holder is known to be stopped.
func (m *RWMutex) Break(ctx context.Context, c Contender, by, reason string) error {
	m = receiver.OrZero(m)
	err := m.checkCall(ctx)
	if err == nil {
		err = breaking.Break(ctx, m.client, breaking.Target{
			Queue: breaking.Queue{Dir: m.path, Markers: lockformat.RWMarkers(), Records: m.path, Holders: holders},
			Path:  znode.Join(m.path, c.Name), Token: c.Token,
		}, by, reason)
	}
	if errors.Is(err, breaking.ErrGone) {
		err = fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	if err != nil {
		return failure(ctx, "break", m.path, err)
	}
	return nil
}

// Breaks lists the records of this lock's breaks, the newest first: the last 16, or a few
// more. The list is not older than the call.
func (m *RWMutex) Breaks(ctx context.Context) ([]Break, error) {
	m = receiver.OrZero(m)
	var records []lockformat.Break
	err := m.checkCall(ctx)
	if err == nil {
		records, err = breaking.List(ctx, m.client, m.path)
	}
	if err != nil {
		return nil, failure(ctx, "list breaks", m.path, err)
	}
	out := make([]Break, len(records))
	for i, b := range records {
		out[i] = newBreak(b)
	}
	return out, nil
}

// Broken returns the record of it if another client has taken the lock away, also if the
// holder had lost its session before. ok is false if the lock is held, as far as the holder
// knows, or was released or downgraded, or was lost in another way.
func (h *Held) Broken(ctx context.Context) (b Break, ok bool, err error) {
	h = receiver.OrZero(h)
	const op = "find break"
	if err := h.checkCall(ctx, op); err != nil {
		return Break{}, false, err
	}
	if h.Context().Err() == nil || h.end.Confirmed() || h.place.held.Load() != h {
		return Break{}, false, nil
	}
	// By the name: the token of a reader that was a writer is not that of its znode.
	names := h.znodes()
	for i, path := range names {
		names[i] = znode.Base(path)
	}
	found, err := breaking.FindZnode(ctx, h.m.client, h.m.path, names)
	switch {
	case err != nil:
		return Break{}, false, failure(ctx, op, h.m.path, err)
	case found == nil:
		return Break{}, false, nil
	}
	return newBreak(*found), true, nil
}
