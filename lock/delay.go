package lock

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/session"
)

// awaitDelay waits out [Options.LockDelay] if the last holder has not released
// the lock, and notes that c's owner holds it now.
//
// The note is in the data of the lock's path: "held" from before the lock is
// granted, "free" with the same transaction that deletes the holder's node. So
// "held" by anyone but c means that this holder went without releasing.
func (m *Mutex) awaitDelay(ctx context.Context, c *contender.Contender) error {
	if m.opts.LockDelay == 0 {
		return nil
	}
	s := c.Session()
	data, _, err := s.Get(ctx, m.path)
	if err != nil {
		return err
	}
	if strings.HasPrefix(string(data), delayHeld) && string(data) != delayNote(delayHeld, c.Node().Stat.Czxid) {
		t := time.NewTimer(m.opts.LockDelay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.Context().Done():
			return s.Err()
		}
	}
	// The check keeps a contender whose node is gone from taking notes.
	_, err = s.Txn(ctx,
		session.CheckOp(c.Node().Path, -1),
		session.SetOp(m.path, []byte(delayNote(delayHeld, c.Node().Stat.Czxid)), -1))
	if errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil && s.Err() == nil {
		return m.awaitDelay(ctx, c) // reads what came of it
	}
	return err
}

// releaseNote goes into the transaction that gives the claim back; nil without
// a delay.
func (c *claim) releaseNote() *session.Op {
	if c.m.opts.LockDelay == 0 {
		return nil
	}
	op := session.SetOp(c.m.path, []byte(delayNote(delayFree, c.token)), -1)
	return &op
}

func delayNote(word string, token int64) string { return word + strconv.FormatInt(token, 10) }
