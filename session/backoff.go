package session

import (
	"time"

	"github.com/zkrecipes/zkrecipes/internal/chance"
)

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

// slowBackoff is the back-off of requests that have reached a server each time, and cost it
// something.
func (r Backoff) slowBackoff() Backoff {
	r.Max *= 5
	return r
}

// pause is the wait before the n-th repetition: none for n <= 0, then doubling
// from Min up to Max, less a random part of up to a half, drawn from random.
func (r Backoff) pause(n int, random *chance.Source) time.Duration {
	if n <= 0 {
		return 0
	}
	d := r.Max
	if n < 32 && r.Min<<(n-1) < r.Max && r.Min<<(n-1) > 0 {
		d = r.Min << (n - 1)
	}
	return d - time.Duration(random.Int64N(int64(d)/2+1))
}

// dialPause is the wait before dial number n, from 0, since the session last
// had a connection: none but before each round of all servers after the first.
func (s *Session) dialPause(n int) time.Duration {
	servers := s.servers.Len()
	if n%servers != 0 {
		return 0
	}
	if n > 0 && s.isOnTrial() {
		s.end(errNoServerMakesSession, true)
		return 0
	}
	d := s.client.opts.Backoff.pause(n/servers, s.client.random)
	if s.link.SessionID() != 0 {
		// A session must not end because its client was waiting.
		d = min(d, s.link.Timeout()/8)
	}
	return d
}
