package lock

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// awaitDelay waits out [Options.LockDelay] if the last holder has not released
// the lock, and notes that c's owner holds it now.
//
// The note is in a separate node: "held" from before the grant of the lock,
// "free" with the transaction that deletes the holder's node. So "held" by a
// contender other than c means that this contender went without releasing, or
// gave up in the instant of its grant. In doubt the note says "held": an
// unnecessary wait costs time, a missing wait may cost more.
func (m *Mutex) awaitDelay(ctx context.Context, c *contender.Contender) error {
	if m.opts.LockDelay == 0 {
		return nil
	}
	for tries := 0; ; tries++ {
		again, err := m.takeNote(ctx, c)
		if !again || ctx.Err() != nil {
			return err
		}
		_ = c.Session().BackOff(ctx, tries) // a note may cost the connection each time
	}
}

// takeNote is one attempt of awaitDelay; again: the outcome must be read.
func (m *Mutex) takeNote(ctx context.Context, c *contender.Contender) (again bool, err error) {
	s, own := c.Session(), []byte(lockformat.DelayNote(true, c.Node().Stat.Czxid))
	note, _, err := s.Get(ctx, m.notePath())
	if errors.Is(err, session.ErrNoNode) {
		err = s.EnsurePath(ctx, m.notePath(), session.Persistent, &session.CreateOptions{ACL: m.opts.ACL})
	}
	if err != nil {
		return false, err
	}
	if lockformat.SaysHeld(note) && !bytes.Equal(note, own) {
		t := time.NewTimer(m.opts.LockDelay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-s.Context().Done():
			return false, s.Err()
		}
	}
	// The check keeps a contender whose node is gone from taking notes.
	_, err = s.Txn(ctx, session.CheckOp(c.Node().Path, -1), session.SetOp(m.notePath(), own, -1))
	deleted := errors.Is(err, session.ErrNoNode) && !nodeGone(err) // the note was deleted by another client
	return deleted || errors.Is(err, session.ErrUnknownOutcome) && s.Err() == nil, err
}

func (m *Mutex) notePath() string { return m.path + lockformat.DelaySuffix }

// releaseNote is an operation for the transaction that gives the lock back;
// nil without a delay.
func (c *serverLock) releaseNote() *session.Op {
	if c.m.opts.LockDelay == 0 {
		return nil
	}
	op := session.SetOp(c.m.notePath(), []byte(lockformat.DelayNote(false, c.token)), -1)
	return &op
}

// noteRelease writes the note of a release whose transaction got no answer, and
// whose znode is gone by now, unless the note of another client is present.
func (c *serverLock) noteRelease(ctx context.Context) error {
	op := c.releaseNote()
	if op == nil {
		return nil
	}
	s, path := c.hold.Session(), c.m.notePath()
	for tries := 0; ; tries++ {
		note, stat, err := s.Get(ctx, path)
		if errors.Is(err, session.ErrNoNode) {
			return nil // deleted by another client: no contender waits for the note
		}
		if err != nil || string(note) != lockformat.DelayNote(true, c.token) {
			return err
		}
		_, err = s.Set(ctx, path, []byte(lockformat.DelayNote(false, c.token)), stat.Version)
		if errors.Is(err, session.ErrNoNode) {
			return nil
		}
		if !errors.Is(err, session.ErrUnknownOutcome) && !errors.Is(err, session.ErrBadVersion) {
			return err
		}
		if ctx.Err() != nil || s.Err() != nil {
			return err
		}
		_ = s.BackOff(ctx, tries) // as in awaitDelay
	}
}
