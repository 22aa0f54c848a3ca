package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
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
// loss of any other session ([IsSessionLoss]). It shows a state that is not older than what
// the client has seen, and need not be the newest. Its writes, syncs and transactions fail
// with ErrReadOnly, so that nothing can be held in it.
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
	case s != nil && s.isConnected():
		return s, changed
	case reading != nil && reading.Err() == nil:
		return reading, changed
	}
	return nil, changed
}

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
	making, stop := context.WithCancel(c.life)
	// Waited for by Close; ends when life does.
	c.loop.Go(func() {
		defer stop()
		s, err := newSession(making, c, usual)
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
			return c.begin(made())
		case <-ctx.Done():
			failure := c.connectFailure()
			stop()
			if s, err := (<-first)(); err == nil {
				return c.begin(s, nil)
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

// keepReading has a session for reads whenever the client has no connection.
func (c *Client) keepReading() {
	told := false
	for c.awaitConnected(c.life, false) && c.sleep(readOnlyDelay) {
		if err := c.readWithoutQuorum(); errors.Is(err, wire.ErrNoLocalSessions) && !told {
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
// connected.
func (c *Client) readWithoutQuorum() error {
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
		return err
	}
	if s.link.ReadOnly() { // otherwise the client is about to be connected
		c.setReading(s)
		select {
		case <-ctx.Done():
		case <-s.ctx.Done():
		}
		c.setReading(nil)
	}
	s.end(errQuorumIsBack, true)
	<-s.closed
	return nil
}

// setReading makes s, nil for none, the session for reads.
func (c *Client) setReading(s *Session) {
	server := ""
	if s != nil {
		server = s.servers.server()
	}
	c.mu.Lock()
	c.reading = s
	c.changes.Announce()
	c.mu.Unlock()
	c.states.setReading(server)
	if s != nil {
		c.opts.Logger.Info("zookeeper is read without a quorum", "server", server)
	}
}

// lastKnown is the newest transaction that the client has seen, and when a server with a
// quorum was last heard.
func (c *Client) lastKnown() (zxid int64, heard time.Time) {
	c.mu.Lock()
	last := c.latest
	c.mu.Unlock()
	if last == nil {
		return 0, time.Time{}
	}
	return last.link.LastZxid(), last.LastHeard()
}
