package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/internal/chance"
	"github.com/zkrecipes/zkrecipes/observe"
)

// Client makes sessions, one at a time: after the loss of a session it makes the
// next. All methods may be called from any number of goroutines.
type Client struct {
	opts    Options
	book    *addressBook // of the servers
	reach   *reachability
	random  *chance.Source
	chroot  string
	states  *states
	reports *reporter

	life            context.Context // ends with Close
	cancel          context.CancelFunc
	loop            sync.WaitGroup
	closingSessions sync.WaitGroup // sessions that are not closed yet

	// mu guards the rest: ensemble, the servers; session, which is nil while there is
	// none; latest, which is the session before then; former, the one before latest; making, the one that is being made,
	// if any; attached, the one of these that has a connection, if any, with Options.ReadOnly;
	// reading, the one of a server without a quorum, if any; known, what former
	// sessions have seen; changes, of session and reading; closed, after which nothing is begun any more; remains,
	// the znodes that [Session.EnsureRemainsDeleted] has yet to delete; dealtWith, how many
	// it has dealt with; and cleared, nil or closed when there are none.
	mu        sync.Mutex
	ensemble  ensemble
	session   *Session
	latest    *Session
	former    *Session
	making    *Session
	attached  *Session
	reading   *Session
	known     knowledge
	changes   await.Changes
	closed    bool
	remains   []remainingZnode
	dealtWith uint64
	cleared   chan struct{}
}

// Connect connects to ZooKeeper, and returns once a session exists. servers is
// "host:port,host:port,.../chroot"; the port is 2181 by default. The chroot is
// optional: all paths are below it. ctx bounds the connecting, not the client's
// life; without a deadline, Connect waits for a server indefinitely. o may be
// nil.
//
// Errors: ErrInvalidServers and ErrInvalidOption before the first attempt;
// ErrUnreachable with the last attempt's error when ctx ends; ErrTimeoutRefused
// and ErrTimeoutTooShort for a session timeout that the servers do not grant or
// that is too short to be trusted; ErrAuthFailed.
func Connect(ctx context.Context, servers string, o *Options) (*Client, error) {
	mustHaveContext(ctx)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("session: connect to %s: %w", servers, endError(ctx))
	}
	opts, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("session: connect to %s: %w", servers, err)
	}
	hosts, chroot, err := parseServers(servers)
	if err != nil {
		return nil, fmt.Errorf("session: connect: %w", err)
	}
	c := &Client{opts: opts, ensemble: ensemble{given: hosts, servers: hosts}, reach: newReachability(), random: chance.From(ctx), chroot: chroot, states: newStates(time.Now())}
	c.life, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.book = newAddressBook(c.life, opts.Resolver)
	if c.reports = startReporter(c); c.reports != nil {
		c.states.report = c.reports.postState
	}
	if c.opts.ReadOnly {
		err = c.beginForReads(ctx)
	} else {
		err = c.beginLife(newSession(ctx, c, usual))
	}
	if err != nil {
		c.cancel()
		c.loop.Wait()
		c.book.wait()
		c.states.set(State{Status: Closed, Since: time.Now(), Cause: err})
		c.reports.wait()
		return nil, fmt.Errorf("session: connect to %s: %w", servers, err)
	}
	return c, nil
}

// beginLife begins the client's life with its first session.
func (c *Client) beginLife(s *Session, err error) error {
	if err != nil {
		return err
	}
	c.publish(s)
	// Waited for by Close; ends when life does.
	c.loop.Go(func() { c.run(s) })
	return nil
}

// run makes the next session whenever s, or one after it, is lost.
func (c *Client) run(s *Session) {
	for quick := 0; ; {
		began := time.Now()
		granted := c.awaitEndOrRefusal(s)
		if c.life.Err() != nil {
			granted.closeUnused()
			return
		}
		c.publish(nil)
		// The more sessions in a row did not last, the longer the wait.
		slow := c.opts.Backoff.slowBackoff()
		if quick++; time.Since(began) > slow.Max {
			quick = 1
		}
		if granted != nil {
			s = granted
			c.adoptTrial(s)
			continue
		}
		if s = c.makeNext(&quick); s == nil {
			return
		}
	}
}

// makeNext makes a session after quick others in a row that did not last, or were refused,
// which it counts on; it returns nil if the client was closed.
func (c *Client) makeNext(quick *int) *Session {
	slow := c.opts.Backoff.slowBackoff()
	for c.sleep(slow.pause(*quick, c.random)) {
		next, err := newSession(c.life, c, usual)
		switch {
		case err == nil:
			c.publish(next)
			return next
		case c.life.Err() != nil:
			return nil
		}
		*quick++
		c.opts.Logger.Error("zookeeper session refused", "cause", err)
	}
	return nil
}

func (c *Client) publish(s *Session) {
	c.mu.Lock()
	if c.session = s; s != nil {
		if c.latest != nil && c.opts.ReadOnly {
			c.known = c.known.with(c.latest)
		}
		c.former, c.latest = c.latest, s
	}
	c.changes.Announce()
	c.mu.Unlock()
}

// report publishes a state of session s.
func (c *Client) report(s *Session, status Status, cause error) {
	if s.reads {
		return
	}
	state := State{Status: status, Since: time.Now(), Session: s.link.SessionID(), Server: s.servers.server(), Cause: cause}
	c.states.setOf(s, state)
}

func (c *Client) current() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Session returns the present session, which may be suspended; without a session,
// it waits, within ctx, for the next. After Close the error wraps ErrClosed.
func (c *Client) Session(ctx context.Context) (*Session, error) {
	c.mustBeUsable(ctx)
	for {
		if err := c.aliveFor(ctx); err != nil {
			return nil, err
		}
		c.mu.Lock()
		s, changed := c.session, c.changes.Next()
		c.mu.Unlock()
		if s != nil && s.Err() == nil {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-c.life.Done():
		}
	}
}

// aliveFor reports why no session should be waited for: ctx or the client is over.
func (c *Client) aliveFor(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("session: waiting for a session: %w", c.explainNoConnection(endError(ctx)))
	case c.life.Err() != nil:
		return fmt.Errorf("session: %w", lost(ErrClosed))
	}
	return nil
}

// Chroot returns the path above all the client's paths; "" if none.
func (c *Client) Chroot() string {
	c.mustBeMade()
	return c.chroot
}

// Close waits for deletions in the background (for example of a lock that was
// released while its server was away): until ctx ends, and while no server
// answers at most as long as [Session.GiveBackContext] says. Then Close closes
// the session, and waits until nothing of the client runs any more. Holds are
// lost: release them before. A second call only waits.
func (c *Client) Close(ctx context.Context) error {
	c.mustBeUsable(ctx)
	s := c.current()
	if s != nil {
		within, cancel := s.GiveBackContext(ctx)
		s.awaitBackground(within)
		c.awaitRemains(within.Done(), s)
		cancel()
	}
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	if s != nil {
		s.end(ErrClosed, true)
	}
	done := make(chan struct{})
	// Waited for below; ends when the loop and the last session have.
	go func() {
		c.loop.Wait()
		if s := c.current(); s != nil {
			s.end(ErrClosed, true)
		}
		c.closingSessions.Wait()
		c.book.wait()
		c.states.set(State{Status: Closed, Since: time.Now(), Cause: ErrClosed})
		c.reports.wait()
		close(done)
	}()
	if await.Closed(ctx, done) != nil {
		return fmt.Errorf("session: close: %w", endError(ctx))
	}
	return nil
}

func refusedTimeout(asked, granted time.Duration) error {
	return fmt.Errorf("%w: asked for %v, granted %v; the limits are the servers' minSessionTimeout and maxSessionTimeout, 2 and 20 ticks by default", ErrTimeoutRefused, asked, granted)
}

// Observer returns [Options.Observer]; nil if there is none. It is for packages that
// report to it.
func (c *Client) Observer() observe.Observer {
	if c == nil {
		return nil
	}
	return c.opts.Observer
}
