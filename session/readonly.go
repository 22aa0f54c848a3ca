package session

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A server without a quorum carries out the reads of clients that ask for that, if it has
// readonlymode.enabled (org.apache.zookeeper.server.quorum.ReadOnlyZooKeeperServer). It makes
// sessions of its own, which no other server knows, and refuses sessions of the ensemble. A
// client therefore has a session for reads beside its session: the session stays suspended,
// with what it holds, and is resumed as after any other outage.

// readOnlyDelay is how long a client is without a connection before it asks for a session for
// reads, and the pause after each such session: a server needs as long to become one that
// carries out reads (org.apache.zookeeper.server.quorum.QuorumPeer.run).
const readOnlyDelay = 2 * time.Second

// ReadSession returns the session for reads that need not see the newest state: the present
// session while it is connected. Without Options.ReadOnly, ReadSession is [Client.Session].
//
// With Options.ReadOnly, ReadSession waits, within ctx, for a connection. While there has been
// none for two seconds, and a server without a quorum carries out reads, ReadSession returns a
// session with that server ([Session.ReadOnly]). Such a session ends with its connection, and
// when the client has a connection with a quorum again: use the next one then, as after the
// loss of any other session ([IsSessionLoss]). It shows a state that need not be the newest,
// and is not older than what the client has seen in any of its sessions before; nor do later
// sessions, with a quorum or without one, show anything older than it did. It may show changes
// that were never confirmed by a quorum, and do not exist afterwards. Its writes, syncs and
// transactions fail with ErrReadOnly, so that nothing can be held in it.
func (c *Client) ReadSession(ctx context.Context) (*Session, error) {
	if c == nil || !c.opts.ReadOnly {
		return c.Session(ctx)
	}
	c.mustBeUsable(ctx)
	for {
		if err := c.aliveFor(ctx); err != nil {
			return nil, err
		}
		_, connected := c.states.get()
		s, changed := c.sessionForReads()
		if s != nil {
			return s, nil
		}
		select {
		case <-changed:
		case <-connected:
		case <-ctx.Done():
		case <-c.life.Done():
		}
	}
}

// sessionForReads is the session that reads go to, nil if there is none, and when that changes.
func (c *Client) sessionForReads() (*Session, <-chan struct{}) {
	c.mu.Lock()
	s, reading, changed := c.session, c.reading, c.changes.Next()
	c.mu.Unlock()
	switch {
	case s != nil && s.Err() == nil && s.isConnected():
		return s, changed
	case reading != nil && reading.Err() == nil:
		return reading, changed
	}
	return nil, changed
}

// ReadContext returns a context for reads in s, a session that [Client.ReadSession] has
// returned: it ends with ctx, and when ReadSession has another session to return while s has
// no connection, with a cause that [IsSessionLoss] reports. Without Options.ReadOnly it is
// ctx. Call cancel to free its resources.
func (c *Client) ReadContext(ctx context.Context, s *Session) (context.Context, context.CancelFunc) {
	c.mustBeUsable(ctx)
	if !c.opts.ReadOnly || s.reads {
		return ctx, func() {}
	}
	reading, end := context.WithCancelCause(ctx)
	// Nothing waits for it; it ends with the context.
	go func() {
		for reading.Err() == nil {
			_, connected := c.states.get()
			other, changed := c.sessionForReads()
			if other != nil && other != s {
				end(lost(errReadElsewhere))
				return
			}
			select {
			case <-changed:
			case <-connected:
			case <-reading.Done():
			}
		}
	}()
	return reading, func() { end(context.Canceled) }
}

// errReadElsewhere ends reads in a session without a connection.
var errReadElsewhere = errors.New("the session has no connection, and a server without a quorum answers reads")

// ReadOnly reports whether the session is one with a server without a quorum, which
// [Client.ReadSession] returns.
func (s *Session) ReadOnly() bool {
	s.mustBeMade()
	return s.reads
}

func (s *Session) isConnected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connected
}

// beginForReads begins the client's life with its first session, or with one for reads.
func (c *Client) beginForReads(ctx context.Context) error {
	first := make(chan func() (*Session, error), 1)
	// Waited for by Close; ends when life does.
	c.loop.Go(func() {
		s, err := newSession(c.life, c, usual)
		first <- func() (*Session, error) { return s, err }
	})
	// Waited for by Close; ends when life does.
	c.loop.Go(c.keepReading)
	for {
		reading, changed := c.sessionForReads()
		if reading != nil {
			// Waited for by Close; ends when life does.
			c.loop.Go(func() { c.runAfter((<-first)()) })
			return nil
		}
		select {
		case <-changed:
		case made := <-first:
			return c.beginLife(made())
		case <-ctx.Done():
			failure := c.connectFailure()
			c.cancel() // both sessions at once
			if s, err := (<-first)(); err == nil {
				s.closeUnused()
			}
			return unreachable(ctx, failure)
		}
	}
}

// runAfter is run after the attempt to make the first session, which has ended with s or err.
func (c *Client) runAfter(s *Session, err error) {
	switch {
	case err == nil:
		c.publish(s)
	case c.life.Err() == nil:
		c.opts.Logger.Error("zookeeper session refused", "cause", err)
		quick := 1
		s = c.makeNext(&quick)
	}
	if s != nil {
		c.run(s)
	}
}

// longestReadOnlyDelay bounds the pause, which doubles, between attempts that found servers
// with a quorum, or were refused: each costs such a server a session.
const longestReadOnlyDelay = time.Minute

// keepReading has a session for reads whenever the client has had no connection for
// readOnlyDelay.
func (c *Client) keepReading() {
	told, pause := false, readOnlyDelay
	for c.awaitConnected(c.life, false) && c.sleep(pause) {
		if state, _ := c.states.get(); state.Status == Connected {
			pause = readOnlyDelay
			continue
		}
		read, err := c.readWithoutQuorum()
		if pause = min(2*pause, longestReadOnlyDelay); read {
			pause = readOnlyDelay
		}
		if err != nil && !errors.Is(err, ErrUnreachable) && !told && c.life.Err() == nil {
			told = true
			c.opts.Logger.Warn("zookeeper server without a quorum cannot be read from", "cause", err)
		}
	}
}

// awaitConnected waits until the client is connected, or is not, and reports false if ctx
// ends before.
func (c *Client) awaitConnected(ctx context.Context, connected bool) bool {
	for ctx.Err() == nil {
		state, changed := c.states.get()
		if (state.Status == Connected) == connected {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return false
}

// errQuorumIsBack ends a session for reads.
var errQuorumIsBack = errors.New("the client is connected to a server with a quorum")

// readWithoutQuorum makes a session for reads, and keeps it until it ends, or the client is
// connected. It reports whether a server without a quorum has made the session.
func (c *Client) readWithoutQuorum() (read bool, err error) {
	ctx, cancel := context.WithCancel(c.life)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	// Waited for above; ends with ctx.
	watching.Go(func() {
		c.awaitConnected(ctx, true)
		cancel()
	})
	s, err := newSession(ctx, c, forReads)
	if err != nil {
		return false, err
	}
	if read = s.link.ReadOnly(); read && c.beginReading(s) { // otherwise the client is about to be connected
		select {
		case <-ctx.Done():
		case <-s.ctx.Done():
		}
		c.setReading(nil)
	}
	s.end(errQuorumIsBack, true)
	<-s.closed
	return read, nil
}

// beginReading makes s the session for reads, unless the client is connected, or has seen
// something since that the server of s need not know.
func (c *Client) beginReading(s *Session) bool {
	c.mu.Lock()
	late := c.attached != nil || s.demanded.Load() < c.lastKnownLocked().zxid
	if !late {
		c.reading = s
	}
	c.mu.Unlock()
	if !late {
		c.setReading(s)
	}
	return !late
}

// setReading publishes s, nil for none, as the session for reads.
func (c *Client) setReading(s *Session) {
	server := ""
	if s != nil {
		server = s.servers.server()
	}
	c.mu.Lock()
	if c.reading != nil && s == nil {
		c.known = c.known.with(c.reading)
	}
	c.reading = s
	c.changes.Announce()
	c.mu.Unlock()
	c.states.setReading(server)
	if s != nil {
		c.opts.Logger.Info("zookeeper is read without a quorum", "server", server)
	}
}

// errBehind is why a session leaves a server that need not know what another one has shown.
var errBehind = errors.New("the server may not know what another server has shown")

// endReading ends the session for reads before s, which has a connection again, shows anything
// newer. It reports false if the server of s need not know everything that the client has seen
// in other sessions.
func (c *Client) endReading(s *Session) bool {
	if !c.opts.ReadOnly {
		return true
	}
	c.mu.Lock()
	if s.ctx.Err() == nil { // otherwise nothing would undo it
		c.attached = s
	}
	reading := c.reading
	c.mu.Unlock()
	if reading != nil {
		reading.end(errQuorumIsBack, true)
	}
	return s.link.LastZxid() >= c.lastKnown().zxid
}

// noteDetached notes that s has no connection any more.
func (c *Client) noteDetached(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attached == s {
		c.attached = nil
	}
}
