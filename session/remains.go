package session

import (
	"context"
	"errors"
	"fmt"
)

// EnsureRemainsDeleted deletes, in the client's next session, an ephemeral znode that
// this session has left behind, and returns at once. A session that was given up
// may live on at the servers, with its znodes, for up to a session timeout, and
// longer while no leader works. Until then its locks block every client, its own
// client too. The caller promises that all work under the znode has ended, and
// that no other client ever uses the znode's name (see
// [Session.CreateProtected]).
//
// EnsureRemainsDeleted does nothing while the session lives and is trusted, or after
// the server has ended it. A znode of another owner is left alone. [Client.Close]
// waits for the deletion if the client has a next session by then; without a next
// session, the servers delete the znode when they expire the session.
func (s *Session) EnsureRemainsDeleted(path string) {
	s.mustBeMade()
	switch cause := s.Err(); {
	case ValidatePath(path) != nil:
		return
	case cause == nil && s.renewer.givenUp():
		// Its holds have ended, and it follows after Options.StopMargin.
		s.runInBackground(func(life context.Context) {
			<-life.Done()
			s.EnsureRemainsDeleted(path)
		})
		return
	case cause == nil:
		return
	}
	s.deleteRemaining(remainingZnode{path: path, owner: s.ID()})
}

// deleteRemaining deletes, in the client's next session, a znode that this session, which
// is lost, may have left behind.
func (s *Session) deleteRemaining(r remainingZnode) {
	if errors.Is(s.Err(), ErrExpired) {
		return
	}
	c := s.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.remains = append(c.remains, r)
	if len(c.remains) == 1 {
		// Waited for by Close; ends when nothing remains, or life ends.
		c.loop.Go(c.deleteRemains)
	}
}

// remainingZnode is a znode that the session called owner has left, or may have left.
type remainingZnode struct {
	path  string
	owner int64
	// sought: the reply to the protected creation at path, in mode, was lost.
	sought bool
	mode   Mode
}

// deleteRemains deletes one after the other: after an outage there may be thousands,
// and much else to do.
func (c *Client) deleteRemains() {
	for {
		c.mu.Lock()
		next := c.remains[0]
		c.mu.Unlock()
		c.deleteRemain(next)
		c.mu.Lock()
		c.dealtWith++
		if c.remains = c.remains[1:]; len(c.remains) == 0 {
			c.remains = nil
			if c.cleared != nil {
				close(c.cleared)
				c.cleared = nil
			}
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

func (c *Client) deleteRemain(r remainingZnode) {
	for lost := 1; ; lost++ {
		s, err := c.Session(c.life)
		if err != nil {
			return // closed
		}
		err = s.deleteRemain(c.life, r)
		switch {
		case deleted(err):
			c.opts.Logger.Info("deleted what a lost session had left", "path", r.path, "session", fmt.Sprintf("%#x", r.owner))
			return
		case errors.Is(err, errNotOwner), errors.Is(err, ErrNoAuth), errors.Is(err, ErrReplyTooLarge):
			return // the servers have to see to it
		}
		if !c.sleep(c.opts.Backoff.pause(lost, c.random)) {
			return
		}
	}
}

var errNotOwner = errors.New("the znode has another owner")

// deleteRemain deletes r if its owner is the same. The read comes behind a sync: a
// server that lags behind would say that there is nothing to delete.
func (s *Session) deleteRemain(ctx context.Context, r remainingZnode) error {
	if r.sought {
		node, found, err := s.findCreated(ctx, r.path, r.mode, r.owner)
		switch {
		case err != nil:
			return err
		case !found:
			return errNotOwner
		}
		return s.Delete(ctx, node.Path, -1)
	}
	synced, read := s.StartSync(r.path), s.StartExists(r.path, false)
	if _, err := synced.Wait(ctx); err != nil {
		return err
	}
	seen, err := read.Wait(ctx)
	switch {
	case err != nil:
		return err
	case !seen.Exists || seen.Stat.EphemeralOwner != r.owner:
		return errNotOwner
	}
	return s.Delete(ctx, r.path, -1)
}

// RemainsDealtWith counts the znodes that the client's lost sessions have left behind, and that
// the client has deleted, as far as it can: see [Client.AwaitRemains].
func (c *Client) RemainsDealtWith() uint64 {
	c.mustBeMade()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dealtWith
}

// AwaitRemains waits until the client has deleted the znodes that its lost sessions have left
// behind, as far as it can: see [Session.EnsureRemainsDeleted]. AwaitRemains reports whether
// there have been any since [Client.RemainsDealtWith] returned before: a caller that was refused
// something since, because of other clients' znodes, should look again then. The result is
// false, too, when ctx or the present session ends first.
func (c *Client) AwaitRemains(ctx context.Context, before uint64) bool {
	c.mustBeUsable(ctx)
	s, err := c.Session(ctx)
	return err == nil && c.awaitRemains(ctx.Done(), s) && c.RemainsDealtWith() != before
}

// awaitRemains waits, until done, for the deletions of [Session.EnsureRemainsDeleted]; s is
// the session that carries them out. It reports whether it has waited for them to the end.
func (c *Client) awaitRemains(done <-chan struct{}, s *Session) bool {
	c.mu.Lock()
	former := c.former
	c.mu.Unlock()
	if former != nil && !former.awaitIdle(done, s.ctx.Done()) {
		return false // its background work may be about to leave something
	}
	c.mu.Lock()
	if len(c.remains) == 0 {
		c.mu.Unlock()
		return true
	}
	if c.cleared == nil {
		c.cleared = make(chan struct{})
	}
	cleared := c.cleared
	c.mu.Unlock()
	select {
	case <-cleared:
		return true
	case <-done:
	case <-s.ctx.Done():
	}
	return false
}
