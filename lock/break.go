package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/breaking"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Break is the record of a lock, or of permits, taken away from the holder.
type Break struct {
	// Holder is the former holder's description, Session its session, and Token its token.
	Holder  string
	Session int64
	Token   int64
	// By is who took it away, and Reason is why.
	By, Reason string
	// At is the time by the clock of the client that did it.
	At time.Time
}

func newBreak(b lockformat.Break) Break {
	return Break{Holder: b.Holder, Session: b.SessionID(), Token: b.Token, By: b.By, Reason: b.Reason, At: b.At}
}

// Break takes the lock away from its holder, which must be the first of Contenders: for a
// holder that does not work any more and whose session lives on. reason is required, and by
// names who does it; "" means the host name and the process id.
//
// The holder's znode is deleted, and a record with by and reason is written in
// "<path>.breaks", in one transaction and only if the znode is still that of c. If no contender
// but c has the lock, nothing changes: the error wraps ErrNotHeld if c has gone, and
// ErrInvalidArgument if another contender is ahead of c. It also wraps
// session.ErrUnknownOutcome if c has gone after a lost reply and no record tells why. With
// LockDelay, the first contender may still wait for the delay; it loses its place then. With
// LocalHandover, the lock is taken away from whichever user in the holder's process has it.
//
// The next contender gets the lock at once, or after LockDelay. The former holder learns of it
// within a heartbeat (session.Session.Heartbeat), often at once, by the end of its context:
// until then, or for as long as its process hangs, both may believe that they hold. Break is
// safe where the holder's writes are fenced by its token or guard, or the holder is known to
// be stopped. Ask first with Revoke.
func (m *Mutex) Break(ctx context.Context, c Contender, by, reason string) error {
	m = receiver.OrZero(m)
	err := m.checkCall(ctx)
	if err == nil {
		queue := breaking.Queue{Dir: m.path, Markers: lockformat.MutexMarkers(), Records: m.path, Holders: breaking.FirstHolds}
		err = breakHold(ctx, m.client, queue, c, by, reason)
	}
	if err != nil {
		return failure(ctx, "break", m.path, err)
	}
	return nil
}

// breakHold takes away what c holds.
func breakHold(ctx context.Context, client *session.Client, queue breaking.Queue, c Contender, by, reason string) error {
	err := breaking.Break(ctx, client, breaking.Target{Queue: queue, Path: c.Path, Token: c.Token}, by, reason)
	if errors.Is(err, breaking.ErrGone) {
		return fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	return err
}

// Breaks lists the records of this lock's breaks, the newest first: the last 16, or a few
// more. The list is not older than the call.
func (m *Mutex) Breaks(ctx context.Context) ([]Break, error) {
	m = receiver.OrZero(m)
	return listBreaks(ctx, m.client, m.path, m.checkCall(ctx))
}

// listBreaks lists the records of path, unless a check has failed.
func listBreaks(ctx context.Context, client *session.Client, path string, failed error) ([]Break, error) {
	var records []lockformat.Break
	if failed == nil {
		records, failed = breaking.List(ctx, client, path)
	}
	if failed != nil {
		return nil, failure(ctx, "list breaks", path, failed)
	}
	out := make([]Break, len(records))
	for i, b := range records {
		out[i] = newBreak(b)
	}
	return out, nil
}

// Broken returns the record of it if another client has taken the lock away, also if the
// holder had lost its session before. ok is false if the lock is held, as far as the holder
// knows, or was released, or was lost in another way.
func (h *Held) Broken(ctx context.Context) (b Break, ok bool, err error) {
	h = receiver.OrZero(h)
	if err := holding.BeginHeld(ctx, h.lock != nil, "lock.Held", "lock.Mutex", ErrInvalidArgument); err != nil {
		return Break{}, false, failure(ctx, "find break", h.lockPath(), err)
	}
	if h.ctx.Err() == nil || h.end.Confirmed() {
		return Break{}, false, nil
	}
	return findBreak(ctx, h.lock.m.client, h.lockPath(), h.Token())
}

// findBreak finds the record of the hold with a token, of the lock or semaphore path.
func findBreak(ctx context.Context, client *session.Client, path string, token int64) (b Break, ok bool, err error) {
	found, err := breaking.Find(ctx, client, path, token)
	switch {
	case err != nil:
		return Break{}, false, failure(ctx, "find break", path, err)
	case found == nil:
		return Break{}, false, nil
	}
	return newBreak(*found), true, nil
}
