package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Client makes sessions, one at a time and as long as it lives: when one is
// lost it makes the next. All methods may be called from any number of
// goroutines.
type Client struct {
	opts    Options
	servers []string
	chroot  string
	states  *states

	life   context.Context // ends with Close
	cancel context.CancelFunc
	loop   sync.WaitGroup
	graves sync.WaitGroup // sessions that are not buried yet

	// mu guards session, which is nil while there is none, and changed,
	// which is closed and replaced whenever session changes.
	mu      sync.Mutex
	session *Session
	changed chan struct{}
}

// Connect connects to ZooKeeper and returns once there is a session. servers is
// "host:port,host:port,.../chroot"; the port is 2181 by default, and the chroot
// is optional: all paths are below it. ctx bounds the connecting only, not the
// client's life; without a deadline it waits for ever for a server. o may be
// nil.
//
// Errors: ErrInvalidServers and ErrInvalidOption before anything is tried;
// ErrUnreachable with the last attempt's error when ctx ends; ErrTimeoutRefused
// and ErrTimeoutTooShort for a session timeout that the servers do not grant or
// that is too short to be trusted; ErrAuthFailed.
func Connect(ctx context.Context, servers string, o *Options) (*Client, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("session: connect to %s: %w", servers, ended(ctx))
	}
	opts, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("session: connect to %s: %w", servers, err)
	}
	hosts, chroot, err := parseServers(servers)
	if err != nil {
		return nil, fmt.Errorf("session: connect: %w", err)
	}
	c := &Client{opts: opts, servers: hosts, chroot: chroot, states: newStates(time.Now()), changed: make(chan struct{})}
	c.life, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s, err := newSession(ctx, c)
	if err != nil {
		c.cancel()
		return nil, fmt.Errorf("session: connect to %s: %w", servers, err)
	}
	c.publish(s)
	// Waited for by Close; ends when life does.
	c.loop.Go(func() { c.run(s) })
	return c, nil
}

// run makes the next session whenever one is lost.
func (c *Client) run(s *Session) {
	for quick := 0; ; {
		began := time.Now()
		select {
		case <-s.ctx.Done():
		case <-c.life.Done():
			return
		}
		c.publish(nil)
		c.opts.Logger.Warn("zookeeper session lost", "session", fmt.Sprintf("%#x", s.id), "cause", s.Err())
		// The more sessions in a row did not last, the longer the wait.
		if quick++; time.Since(began) > c.opts.Retry.Max {
			quick = 1
		}
		for {
			if !c.sleep(c.opts.Retry.pause(quick)) {
				return
			}
			next, err := newSession(c.life, c)
			if err == nil {
				s = next
				c.publish(s)
				break
			}
			quick++
			c.opts.Logger.Error("zookeeper session refused", "cause", err)
		}
	}
}

// sleep waits for d, and reports false if the client was closed.
func (c *Client) sleep(d time.Duration) bool {
	if d <= 0 {
		return c.life.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return c.life.Err() == nil
	case <-c.life.Done():
		return false
	}
}

// pause is the wait before the n-th repetition: none for n <= 0, then doubling
// from Min up to Max, less a random part of up to a half.
func (r Retry) pause(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	d := r.Max
	if n < 32 && r.Min<<(n-1) < r.Max && r.Min<<(n-1) > 0 {
		d = r.Min << (n - 1)
	}
	return d - time.Duration(rand.Int64N(int64(d)/2+1))
}

// dialPause is the wait before dial number n, from 0, since the session last
// had a connection: each server is tried once before the first.
func (s *Session) dialPause(n int) time.Duration {
	d := s.client.opts.Retry.pause(n + 1 - len(s.client.servers))
	if s.link.SessionID() != 0 {
		// A session must not end because its client was waiting.
		d = min(d, s.link.Timeout()/8)
	}
	return d
}

func (c *Client) publish(s *Session) {
	c.mu.Lock()
	c.session = s
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
}

// report publishes a state of session s.
func (c *Client) report(s *Session, status Status, cause error) {
	state := State{Status: status, Since: time.Now(), Session: s.link.SessionID(), Server: s.servers.server(), Cause: cause}
	if c.states.set(state) {
		c.opts.Hooks.state(state)
	}
}

func (c *Client) current() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Session returns the present session, which may be suspended; while there is
// none it waits, within ctx, for the next. After Close the error wraps
// ErrClosed.
func (c *Client) Session(ctx context.Context) (*Session, error) {
	for {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("session: waiting for a session: %w", ended(ctx))
		}
		if c.life.Err() != nil {
			return nil, fmt.Errorf("session: %w", lost(ErrClosed))
		}
		c.mu.Lock()
		s, changed := c.session, c.changed
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

// Chroot is the path that all the client's paths are below; "" if none.
func (c *Client) Chroot() string { return c.chroot }

// Close waits, until ctx ends, for deletions that still go on in the background
// (a lock that was released while its server was away), then closes the session
// and waits until nothing of the client runs any more. What is still held is
// lost: release it before. A second call only waits.
func (c *Client) Close(ctx context.Context) error {
	s := c.current()
	if s != nil {
		s.settleDiscards(ctx)
	}
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
		c.graves.Wait()
		if c.states.set(State{Status: Closed, Since: time.Now(), Cause: ErrClosed}) {
			state, _ := c.states.get()
			c.opts.Hooks.state(state)
		}
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("session: close: %w", ended(ctx))
	}
}

func refusedTimeout(asked, granted time.Duration) error {
	return fmt.Errorf("%w: asked for %v, granted %v; the limits are the servers' minSessionTimeout and maxSessionTimeout, 2 and 20 ticks by default", ErrTimeoutRefused, asked, granted)
}
